/** The endpoint of §4.B3: its parameters, chunks and cursor, the records of the world, and the faults that hide them from the client. */

import type { BetRecord } from "../../bet.ts";
import { type Clock, type Instant, parseInstant } from "../../clock.ts";
import { describeError } from "../../errors.ts";
import { LONGEST_RANGE_MS, lengthOf, type TimeRange } from "../../window.ts";
import { checkFaults, createFaultRules, type Fault } from "../faults/fault.ts";
import { createCache } from "../world/bounded-cache.ts";
import { PROVIDER_OFFSET } from "../world/provider-side.ts";
import type { World } from "../world/world.ts";
import { CODES, refuse, type SandboxAnswer, type SandboxRefusal } from "./answer.ts";
import { spoilAnswer } from "./spoil-answer.ts";

interface ExpiredCursors {
  /** Drops every cursor of the query, until a client asks for its first page. */
  expire(query: BetQuery): void;
  /** Whether the request has a dropped cursor. Must be called for every request. */
  isExpired(query: BetQuery): boolean;
}

/** The most remembered queries; the oldest is forgotten first. */
const MOST_QUERIES_KEPT = 10_000;

function createExpiredCursors(): ExpiredCursors {
  const expired = new Set<string>();
  return {
    expire(query) {
      expired.add(keyOf(query));
      const [oldest] = expired;
      if (expired.size > MOST_QUERIES_KEPT && oldest !== undefined) expired.delete(oldest);
    },
    isExpired(query) {
      if (query.page === 1) expired.delete(keyOf(query));
      return expired.has(keyOf(query));
    },
  };
}

function keyOf({ productId, range }: BetQuery): string {
  return JSON.stringify([productId, range.from, range.to]);
}

export interface BetEndpointOptions {
  readonly world: World;
  readonly clock: Clock;
  /** the most records of one chunk */
  readonly pageSize: number;
  /** the first fault that strikes a request counts; without faults, the provider always works */
  readonly faults?: readonly Fault[];
  /** default: a range includes its start, not its end, and times have milliseconds */
  readonly ranges?: RangeHabits;
}

/** The most remembered records of ranges that clients page through: a chunk must not cost its whole range. */
const MOST_RECORDS_KEPT = 100_000;

/**
 * @returns a function that answers the parameters of a query string
 * @throws ReconError `settings-invalid` for wrong faults
 */
export function createBetEndpoint(
  options: BetEndpointOptions,
): (parameters: Readonly<Record<string, unknown>>) => SandboxAnswer {
  const { world, clock, pageSize, faults = [], ranges = USUAL_RANGES } = options;
  const productIds = world.products.map(({ productId }) => productId);
  const rules = createFaultRules(checkFaults(faults, productIds), world.seed);
  const expired = createExpiredCursors();
  const lists = createCache<BetRecord[]>(MOST_RECORDS_KEPT, (records) => records.length + 1);
  const recordsOf = ({ productId, range, asOf }: BetQuery) =>
    lists.get(JSON.stringify([productId, range, asOf]), () =>
      world
        .recordsIn(productId, { from: range.from - 1000, to: range.to + 1000 }, asOf)
        .filter(({ accountingDate }) =>
          isInRange(parseInstant(accountingDate, "accountingDate"), range, ranges),
        ),
    );

  return (parameters) => {
    const now = clock.now();
    const parsed = parseBetQuery(parameters, productIds, now);
    if ("refusal" in parsed) return parsed;
    const { query } = parsed;
    const action = expired.isExpired(query) ? EXPIRED : rules.strike({ ...query, now });
    if (action === null) return { data: chunkOf(recordsOf(query), query, pageSize) };
    if (action.kind === "expired-cursor") expired.expire(query);
    const struck = { query, records: () => recordsOf(query), pageSize, productIds, now };
    return { fault: action.kind, delivery: spoilAnswer(action, struck) };
  };
}

const EXPIRED = { kind: "expired-cursor" } as const;

const DAY_MS = 86_400_000;

/** A request for one chunk of the records of a product in a range, as of one moment. */
export interface BetQuery {
  readonly productId: string;
  readonly range: TimeRange;
  /** the moment of the first chunk: later changes do not move the following chunks */
  readonly asOf: Instant;
  /** the number of records in the chunks before */
  readonly position: number;
  /** the number of this chunk in the query, from 1 */
  readonly page: number;
}

/** The ends of a range that its answer leaves out: the interface does not say, and providers differ. */
export const EXCLUDED_ENDS = ["end", "start", "both", "neither"] as const;

export interface RangeHabits {
  readonly excludes: (typeof EXCLUDED_ENDS)[number];
  /** the times of ranges and records are cut at whole seconds before they are compared */
  readonly wholeSeconds: boolean;
}

export const USUAL_RANGES: RangeHabits = { excludes: "end", wholeSeconds: false };

/** Whether the answer to a range has the records of a time. */
export function isInRange(at: Instant, range: TimeRange, { excludes, wholeSeconds }: RangeHabits): boolean {
  const cut = (time: Instant) => (wholeSeconds ? Math.floor(time / 1000) * 1000 : time);
  const [sinceStart, untilEnd] = [cut(at) - cut(range.from), cut(range.to) - cut(at)];
  const withStart = excludes === "end" || excludes === "neither";
  const withEnd = excludes === "start" || excludes === "neither";
  return (withStart ? sinceStart >= 0 : sinceStart > 0) && (withEnd ? untilEnd >= 0 : untilEnd > 0);
}

export interface BetChunk {
  /** absent: this is the last chunk */
  readonly nextId?: string;
  readonly txns: readonly Omit<BetRecord, "extra">[];
}

export type ParsedQuery = { readonly query: BetQuery } | { readonly refusal: SandboxRefusal };

/**
 * Reads the parameters of a query string.
 * @param productIds all products
 */
export function parseBetQuery(
  parameters: Readonly<Record<string, unknown>>,
  productIds: readonly string[],
  now: Instant,
): ParsedQuery {
  for (const name of ["productId", "date", "startTime", "endTime", "nextId"]) {
    if (Array.isArray(parameters[name])) return refuse(CODES.badRequest, `${name} is given more than once`);
  }
  const productId = textOf(parameters, "productId");
  if (productId === null) return refuse(CODES.badRequest, "productId is missing");
  if (!productIds.includes(productId))
    return refuse(CODES.unknownProduct, `no product is called ${productId}`);

  const range = parseRange(parameters);
  if ("refusal" in range) return range;
  const nextId = textOf(parameters, "nextId");
  if (nextId === null) return { query: { productId, range, asOf: now, position: 0, page: 1 } };
  const cursor = readCursor(nextId);
  if (cursor === null) return refuse(CODES.badCursor, "nextId is unknown here");
  if (cursor.productId !== productId || !isSameRange(cursor.range, range)) {
    return refuse(CODES.badCursor, "nextId belongs to another query");
  }
  return { query: cursor };
}

/** @param records all records of the query; the same on every call */
export function chunkOf(records: readonly BetRecord[], query: BetQuery, pageSize: number): BetChunk {
  const end = query.position + pageSize;
  const txns = records.slice(query.position, end).map(({ extra: _, ...record }) => record);
  return end < records.length
    ? { nextId: writeCursor({ ...query, position: end, page: query.page + 1 }), txns }
    : { txns };
}

/** The range of either form of §4.B3. The interface does not say what a mix means, so a mix is refused. */
function parseRange(
  parameters: Readonly<Record<string, unknown>>,
): TimeRange | { readonly refusal: SandboxRefusal } {
  const date = textOf(parameters, "date");
  const startTime = textOf(parameters, "startTime");
  const endTime = textOf(parameters, "endTime");
  try {
    if (date !== null && startTime === null && endTime === null) {
      const from = parseInstant(`${date}T00:00:00${PROVIDER_OFFSET}`, "date");
      return { from, to: from + DAY_MS };
    }
    if (date !== null || startTime === null || endTime === null) {
      return refuse(CODES.badRequest, "either date, or both startTime and endTime, must be given");
    }
    const range = { from: parseInstant(startTime, "startTime"), to: parseInstant(endTime, "endTime") };
    if (range.from >= range.to) return refuse(CODES.badRequest, "startTime must be before endTime");
    if (lengthOf(range) <= LONGEST_RANGE_MS) return range;
    return refuse(CODES.rangeTooLong, "the range is longer than 1 hour");
  } catch (error) {
    return refuse(CODES.badRequest, describeError(error));
  }
}

/** The `nextId` that asks for the query. */
export function writeCursor(query: BetQuery): string {
  return Buffer.from(JSON.stringify(query)).toString("base64url");
}

function readCursor(nextId: string): BetQuery | null {
  try {
    const query: BetQuery = JSON.parse(Buffer.from(nextId, "base64url").toString());
    const numbers = [query.range.from, query.range.to, query.asOf, query.position, query.page];
    return numbers.every((value) => Number.isSafeInteger(value) && value >= 0) ? query : null;
  } catch {
    return null;
  }
}

function isSameRange(a: TimeRange, b: TimeRange): boolean {
  return a.from === b.from && a.to === b.to;
}

/** An empty parameter counts as missing. */
function textOf(parameters: Readonly<Record<string, unknown>>, name: string): string | null {
  const value = parameters[name];
  return typeof value === "string" && value !== "" ? value : null;
}
