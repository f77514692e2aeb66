/** The endpoint of §4.B3: the records of the world, and the faults that hide them from the client. */

import type { BetRecord } from "../../bet.ts";
import { type Clock, parseInstant } from "../../clock.ts";
import { checkFaults, createFaultRules, type Fault } from "../faults/fault.ts";
import { createCache } from "../world/bounded-cache.ts";
import type { World } from "../world/world.ts";
import type { SandboxAnswer } from "./answer.ts";
import {
  type BetQuery,
  chunkOf,
  isInRange,
  parseBetQuery,
  type RangeHabits,
  USUAL_RANGES,
} from "./bet-query.ts";
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
