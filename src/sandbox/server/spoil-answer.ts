/** Applies a fault to an answer, of the bet query or of another endpoint: to its content, and to the sending of its bytes. */

import Big from "big.js";
import type { BetRecord } from "../../bet.ts";
import type { Instant } from "../../clock.ts";
import { type Amount, formatAmount, parseAmount } from "../../money.ts";
import type { AgentAction } from "../faults/agent-fault.ts";
import { type FaultAction, PLAIN_ACTIONS, type PlainAction } from "../faults/fault.ts";
import { providerTime } from "../world/provider-side.ts";
import { hashText } from "../world/random.ts";
import { CODES, writeEnvelope, writeRefusal, writeSuccess } from "./answer.ts";
import { type BetChunk, type BetQuery, chunkOf, writeCursor } from "./bet-endpoint.ts";
import type { Delivery } from "./delivery.ts";

/** An answer before it becomes text. */
export interface AgentOutcome {
  readonly code: number;
  readonly message: string;
  readonly data: object | null;
}

/** @param write makes the answer's text */
export function spoilAgentAnswer(
  action: AgentAction,
  outcome: AgentOutcome,
  write: (outcome: AgentOutcome) => string,
  now: Instant,
): Delivery {
  if (isPlain(action)) return spoilDelivery(action, () => write(outcome), now);
  switch (action.kind) {
    case "late":
      return { way: "drop" };
    case "no-code":
      return { way: "whole", body: write(outcome).replace(/"code":-?\d+,/, "") };
    case "denied":
      return { way: "whole", body: write(outcome) };
    case "not-found":
      return { way: "whole", body: write(NOT_FOUND) };
    case "url-list":
      return { way: "whole", body: write({ ...outcome, data: listUrls(outcome.data) }) };
    default:
      return { way: "whole", body: write({ ...outcome, data: spoilData(action, outcome.data) }) };
  }
}

const NOT_FOUND: AgentOutcome = {
  code: CODES.transactionNotFound,
  message: "Transaction not found",
  data: null,
};

/** A list of the address and a second address of the same game. */
function listUrls(data: object | null): object | null {
  if (data === null) return null;
  const { url } = data as { readonly url?: unknown };
  return { ...data, url: [url, `${String(url)}&mirror=1`] };
}

type DataAction = Extract<AgentAction, { kind: "wrong" | "missing" | "mistyped" | "several" | "negative" }>;

type Fields = Readonly<Record<string, unknown>>;

/** Changes the object of the answer, or the first object of a list. */
function spoilData(action: DataAction, data: object | null): object | null {
  if (data === null) return null;
  if (Array.isArray(data)) {
    const [first, ...rest] = data as Fields[];
    if (first === undefined) return data;
    if (action.kind === "several") return severalOf(first, action.items);
    return [spoilFields(action, first), ...rest];
  }
  const fields = data as Fields;
  const games = fields["games"];
  if (Array.isArray(games)) return { ...fields, games: spoilData(action, games) };
  return spoilFields(action, fields);
}

/** One id twice would be no certain answer, so the other items have ids of their own. */
function severalOf(first: Fields, items: number): Fields[] {
  const idOf = (place: number) => (place === 0 ? first["id"] : `${String(first["id"])}-${place + 1}`);
  return Array.from({ length: items }, (_, place) => ({ ...first, id: idOf(place) }));
}

function spoilFields(action: DataAction, fields: Fields): Fields {
  switch (action.kind) {
    case "wrong":
      return { ...fields, [action.field]: otherThan(action.field, fields[action.field]) };
    case "missing":
      return Object.fromEntries(Object.entries(fields).filter(([name]) => name !== action.field));
    case "mistyped":
      return { ...fields, [action.field]: { is: "not what it should be" } };
    case "negative":
      return { ...fields, amount: (fields["amount"] as Amount).abs().neg() };
    case "several":
      return fields;
  }
}

/** @returns a different value of the same form */
function otherThan(name: string, value: unknown): unknown {
  if (typeof value === "boolean") return !value;
  if (value instanceof Big) return value.plus("1");
  if (typeof value === "number") return value + 1;
  const text = String(value ?? "");
  if (name === "currency") return text === "XTS" ? "XXX" : "XTS";
  if (name === "type") return text === "TopUp" ? "Withdraw" : "TopUp";
  return /^-?\d+(\.\d+)?$/.test(text) ? formatAmount(parseAmount(text, name).plus("1")) : `invented-${text}`;
}

/** The prefix of `id`, `betId` and `roundId` of every invented record, and of no other record. */
const INVENTED = "invented-";

/** Whether an id, bet id or round id belongs to an invented record. */
export function isInvented(id: string): boolean {
  return id.startsWith(INVENTED);
}

type Invention = Extract<FaultAction, { kind: "foreign-record" | "out-of-range" | "malformed-record" }>;

const HOUR_MS = 3_600_000;

/**
 * Makes the record that a fault adds to a page. The same page always gets the same record, so that a repeated fetch
 * shows nothing new.
 * @param foreignProductId a product other than the query's
 */
function inventRecord(action: Invention, query: BetQuery, foreignProductId: string): object {
  const name = action.kind === "malformed-record" ? action.variant : action.kind;
  const place = hashText(JSON.stringify([query.productId, query.range, query.page, name]));
  const id = `${INVENTED}${name}-${place.toString(36)}`;
  const record = {
    id,
    betId: id,
    username: "player-001",
    currency: "THB",
    accountingDate: providerTime(query.range.from),
    updatedDate: providerTime(query.range.from),
    stake: parseAmount("10.50", "stake"),
    payout: parseAmount("21", "payout"),
    productId: query.productId,
    gameCode: "invented",
    gameName: "Invented",
    roundId: id,
    betStatus: "SETTLED",
    payoutStatus: "WIN",
  };
  switch (action.kind) {
    case "foreign-record":
      return { ...record, productId: foreignProductId };
    case "out-of-range": {
      const before = providerTime(query.range.from - HOUR_MS);
      return { ...record, accountingDate: before, updatedDate: before };
    }
    case "malformed-record":
      return spoilRecord(record, action.variant);
  }
}

type MalformedVariant = Extract<FaultAction, { kind: "malformed-record" }>["variant"];

function spoilRecord(
  record: { readonly currency: string; readonly accountingDate: string },
  variant: MalformedVariant,
): object {
  switch (variant) {
    case "field-missing": {
      const { currency: _, ...rest } = record;
      return rest;
    }
    case "amount-as-text":
      return { ...record, stake: "10.50" };
    case "amount-no-number":
      return { ...record, payout: "twenty-one" };
    case "date-without-offset":
      return { ...record, accountingDate: record.accountingDate.slice(0, "2026-11-20T10:00:00.000".length) };
    case "unknown-status":
      return { ...record, betStatus: "PENDING" };
    case "nul-in-name":
      return { ...record, gameName: "In\0vented" };
  }
}

/** A page of a faulty provider. Some of its items may be no bet records. */
interface SpoiltChunk {
  readonly nextId?: string;
  readonly txns: readonly object[];
}

/** The requested chunk, and all records of its query. */
interface AskedChunk {
  readonly query: BetQuery;
  /** every record of the query's range */
  readonly records: readonly BetRecord[];
  readonly pageSize: number;
  /** all products */
  readonly productIds: readonly string[];
}

/** @returns the changed chunk; unchanged for faults that affect neither records nor cursors */
function spoilChunk(action: FaultAction, asked: AskedChunk): SpoiltChunk {
  const { query, records, pageSize } = asked;
  const chunk: BetChunk = chunkOf(records, query, pageSize);
  switch (action.kind) {
    case "cursor-loop": {
      const first = { ...query, page: 2, position: pageSize };
      return { ...chunk, nextId: writeCursor(action.variant === "asked" ? query : first) };
    }
    case "endless-cursor": {
      // Paging never ends: the next page begins at the start of this one.
      const nextId = writeCursor({ ...query, page: query.page + 1 });
      return { nextId, txns: action.variant === "empty" ? [] : chunk.txns };
    }
    case "repeat-records": {
      const before = { ...query, position: Math.max(0, query.position - pageSize) };
      const repeated = chunkOf(records.slice(0, query.position), before, pageSize);
      return { ...chunk, txns: [...repeated.txns, ...chunk.txns] };
    }
    case "shift": {
      // Earlier insertions move all later records. The shift is less than a page, so that paging ends.
      const moved = Math.min(action.records, pageSize - 1, query.position);
      return chunkOf(records, { ...query, position: query.position - moved }, pageSize);
    }
    case "foreign-record":
    case "out-of-range":
    case "malformed-record":
      return { ...chunk, txns: [...chunk.txns, inventRecord(action, query, anotherProduct(asked))] };
    default:
      return chunk;
  }
}

function anotherProduct({ query, productIds }: AskedChunk): string {
  return productIds.find((productId) => productId !== query.productId) ?? `${query.productId}-OTHER`;
}

/** A request with a fault. */
export interface StruckRequest {
  readonly query: BetQuery;
  /** every record of the query's range */
  records(): readonly BetRecord[];
  readonly pageSize: number;
  /** all products */
  readonly productIds: readonly string[];
  readonly now: Instant;
}

export function spoilAnswer(action: FaultAction, struck: StruckRequest): Delivery {
  const chunk = () => spoilChunk(action, { ...struck, records: struck.records() });
  const body = () => writeSuccess(chunk());
  switch (action.kind) {
    case "expired-cursor":
      return { way: "whole", body: writeRefusal({ code: CODES.badCursor, message: "nextId has expired" }) };
    case "wrong-envelope":
      return { way: "whole", body: writeWrongEnvelope(action.variant, chunk()) };
    default:
      return isPlain(action) ? spoilDelivery(action, body, struck.now) : { way: "whole", body: body() };
  }
}

const PLAIN_KINDS: ReadonlySet<string> = new Set(PLAIN_ACTIONS.map((action) => action.shape.kind.value));

/** Whether the fault is possible for any answer. */
function isPlain<Action extends { readonly kind: string }>(action: Action): action is Action & PlainAction {
  return PLAIN_KINDS.has(action.kind);
}

/** @param body the answer without the fault */
function spoilDelivery(action: PlainAction, body: () => string, now: Instant): Delivery {
  switch (action.kind) {
    case "hang":
    case "drop":
    case "drip":
      return { way: action.kind };
    case "cut-short":
      return { way: "cut-short", body: body() };
    case "slow":
      return { way: "late", afterMs: action.delay, body: body() };
    case "huge":
      return { way: "padded", megabytes: action.megabytes, body: body() };
    case "status":
      return refuseWithStatus(action, now);
    case "code":
      return { way: "whole", body: writeRefusal(action) };
    case "html":
      return { way: "whole", type: "text/html; charset=utf-8", body: MAINTENANCE };
    case "half-json": {
      const whole = body();
      return { way: "whole", body: whole.slice(0, whole.length / 2) };
    }
  }
}

const MAINTENANCE = `<!doctype html>
<html><head><title>Maintenance</title></head><body><h1>We will be back soon</h1></body></html>
`;

function refuseWithStatus(action: Extract<PlainAction, { kind: "status" }>, now: Instant): Delivery {
  const { status, retryAfter, retryAfterAs } = action;
  const body = writeRefusal({ code: CODES.internal, message: `a fault of the sandbox: HTTP ${status}` });
  if (retryAfter === undefined) return { way: "whole", status, body };
  const seconds = String(retryAfter);
  // Both by the sandbox's clock, which is not that of the machine.
  const date = new Date(now).toUTCString();
  const headers = { date, "retry-after": retryAfterAs === "seconds" ? seconds : httpDate(now, retryAfter) };
  return { way: "whole", status, headers, body };
}

/** An HTTP date has whole seconds, so this rounds up. */
function httpDate(now: Instant, seconds: number): string {
  return new Date((Math.ceil(now / 1000) + seconds) * 1000).toUTCString();
}

type WrongEnvelope = Extract<FaultAction, { kind: "wrong-envelope" }>["variant"];

function writeWrongEnvelope(variant: WrongEnvelope, chunk: SpoiltChunk): string {
  switch (variant) {
    case "no-code":
      return writeEnvelope({ message: "success", data: chunk });
    case "txns-not-array":
      return writeSuccess({ ...chunk, txns: { count: chunk.txns.length } });
    case "next-id-object":
      return writeSuccess({ ...chunk, nextId: { after: chunk.nextId ?? null } });
  }
}
