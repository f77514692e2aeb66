/** Reads pages of bet records (§4.B3) while they arrive. No other folder knows the wire format. */

import { isLosslessNumber, parse } from "lossless-json";
import type { BetPage, BetRecord, RejectedRecord } from "../bet.ts";
import { describeError, ReconError } from "../errors.ts";
import {
  badEnvelope,
  excerpt,
  isObject,
  notJson,
  type ReceivedAnswer,
  readData,
  textOf,
} from "./envelope.ts";
import type { ListReader } from "./http.ts";
import { AMOUNTS, isStorable, parseUsual, readBetRecord } from "./read-bet-record.ts";
import { type ListItem, splitList } from "./split-list.ts";

/** Larger than any real page of bets, and small enough that a worker can hold a page for each of its fetchers. */
export const LARGEST_PAGE_BYTES = 16 * 1024 * 1024;
const MOST_RECORDS = 10_000;
const MOST_REJECTED = 1_000;
const LIMITS = { itemBytes: 16 * 1024, restBytes: 256 * 1024 };
const PATH = ["data", "txns"];
/** The HTTP status of an answer without a body. */
const NO_CONTENT = 204;

interface BetPageReader extends ListReader {
  /** @throws ReconError `provider-not-json`, `provider-cut-short`, `provider-bad-envelope` or `provider-rejected` */
  finish(answered: ReceivedAnswer): Omit<BetPage, "requestedAt" | "tookMs">;
}

/**
 * Reads the answer of `betTransactionsV2` (§4.B3) while it arrives. Bad items are rejected with their reason, and the
 * rest of the page is kept, up to `MOST_REJECTED` bad items.
 */
export function openBetPage(productId: string, what: string): BetPageReader {
  const records: BetRecord[] = [];
  const rejected: RejectedRecord[] = [];
  let broken: unknown = null;
  const isFull = () => rejected.length > MOST_REJECTED || records.length + rejected.length > MOST_RECORDS;
  const splitter = splitList(PATH, LIMITS, (item) => {
    if (broken !== null || isFull()) return;
    try {
      readItem(item, productId, records, rejected);
    } catch (error) {
      broken = error;
    }
  });
  const check = () => {
    if (splitter.problem === "second-list") throw badEnvelope(what, `the answer has "data.txns" twice`);
    if (splitter.problem === "rest-too-long") {
      throw tooLarge(what, `it has more than ${LIMITS.restBytes} bytes besides its records`);
    }
    if (records.length + rejected.length > MOST_RECORDS) {
      throw tooLarge(what, `it has more than ${MOST_RECORDS} records`);
    }
    if (rejected.length > MOST_REJECTED) {
      const [first] = rejected;
      throw badEnvelope(
        what,
        `more than ${MOST_REJECTED} of its records cannot be read, the first because ${first?.reason}`,
      );
    }
  };
  return {
    take: (chunk) => {
      splitter.take(chunk);
      check();
    },
    rest: () => {
      try {
        return splitter.rest();
      } catch (error) {
        broken ??= error;
        return "";
      }
    },
    finish: (answered) => {
      if (broken !== null) throw notJson(answered, broken);
      if (answered.status === NO_CONTENT) return { records, rejected, nextId: null };
      const data = readData(answered);
      const nextId = readNextId(data, what);
      const hasList = isObject(data) && Array.isArray(data["txns"]);
      if (!hasList && (nextId !== null || !isEmpty(data)))
        throw badEnvelope(what, `"data.txns" is not an array`);
      return { records, rejected, nextId };
    },
  };
}

function tooLarge(what: string, problem: string): ReconError {
  return new ReconError("provider-too-large", `${what}: the answer is not a page of bets: ${problem}`);
}

/** @throws SyntaxError if the item is not JSON: then the whole answer is invalid */
function readItem(
  { text, isCut, isGarbled }: ListItem,
  productId: string,
  records: BetRecord[],
  rejected: RejectedRecord[],
): void {
  if (isCut) {
    const reason = `the record is longer than ${LIMITS.itemBytes} bytes; only its beginning is kept`;
    rejected.push({ raw: withoutNul(text), reason });
    return;
  }
  if (isGarbled) {
    const reason = "the record has a text that is not in the charset of the answer";
    rejected.push({ raw: withoutNul(text), reason });
    return;
  }
  const usual = withoutStacks(() => readUsualItem(text, productId));
  if (usual !== null) {
    records.push(usual);
    return;
  }
  let parsed: ReturnType<typeof parseItem>;
  try {
    parsed = withoutStacks(() => parseItem(text));
  } catch (error) {
    // The parser's stack overflows at some thousand levels.
    if (!(error instanceof RangeError)) throw error;
    rejected.push({ raw: withoutNul(text), reason: "the record nests too deeply to be read" });
    return;
  }
  const { item, doubled } = parsed;
  if (doubled !== null) {
    rejected.push({ raw: text, reason: describeDuplicate(doubled) });
    return;
  }
  try {
    records.push(withoutStacks(() => readBetRecord(item, productId)));
  } catch (error) {
    rejected.push({ raw: textOf(item), reason: describeError(error) });
  }
}

/** PostgreSQL cannot store NUL. */
function withoutNul(text: string): string {
  return text.replaceAll("\0", "\\x00");
}

/** @returns `doubled`: a name that occurs twice with two values; null: there is none */
function parseItem(text: string): { readonly item: unknown; readonly doubled: string | null } {
  let doubled: string | null = null;
  const item = parse(text, null, {
    onDuplicateKey: ({ key, newValue }) => {
      doubled ??= key;
      return newValue;
    },
  });
  return { item, doubled };
}

function describeDuplicate(name: string): string {
  return `the record has the name ${excerpt(JSON.stringify(name))} twice, with two values`;
}

/**
 * Reads a rejected record again, of the product that it names itself.
 * @param raw its stored text
 * @returns null: the text is not JSON, because only its beginning was stored
 * @throws ReconError `bad-record`, `bad-amount` or `bad-time` naming field and value
 */
export function readRecordAgain(raw: string): BetRecord | null {
  let read: ReturnType<typeof parseItem>;
  try {
    read = withoutStacks(() => parseItem(raw));
  } catch {
    return null;
  }
  if (read.doubled !== null) throw new ReconError("bad-record", describeDuplicate(read.doubled));
  return readBetRecord(read.item, null);
}

/** @returns null: the item needs the exact parser, or is bad */
function readUsualItem(text: string, productId: string): BetRecord | null {
  const item = parseUsual(text, AMOUNTS);
  if (item === null) return null;
  try {
    return readBetRecord(item, productId);
  } catch {
    return null;
  }
}

/** Reads without stack traces: recording one takes longer than reading a record, and the errors are reported without it. */
function withoutStacks<Result>(read: () => Result): Result {
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = 0;
  try {
    return read();
  } finally {
    Error.stackTraceLimit = stackTraceLimit;
  }
}

/**
 * Whether data without a list means that the range has no records: Go writes an empty list as null, PHP an empty object as []. A list under
 * another name is not understood, so the answer is refused.
 */
function isEmpty(data: unknown): boolean {
  if (!isObject(data))
    return data === undefined || data === null || (Array.isArray(data) && data.length === 0);
  const { txns = null, ...others } = data;
  return txns === null && !holdsList(others);
}

function holdsList(value: unknown): boolean {
  if (Array.isArray(value)) return true;
  return isObject(value) && Object.values(value).some(holdsList);
}

/** @returns null: this is the last page. @throws ReconError `provider-bad-envelope` */
function readNextId(data: unknown, what: string): string | null {
  const nextId = (isObject(data) ? data["nextId"] : null) ?? null;
  if (nextId !== null && typeof nextId !== "string" && !isLosslessNumber(nextId)) {
    throw badEnvelope(what, `"data.nextId" is neither text nor absent`);
  }
  // An empty nextId means the last page, as an absent one does.
  const cursor = nextId === null || nextId === "" ? null : nextId.toString();
  if (cursor !== null && !isStorable(cursor)) throw badEnvelope(what, `"data.nextId" cannot be stored`);
  return cursor === null ? null : copyOf(cursor);
}

/**
 * Copies a text: a slice of the answer would keep the whole answer in memory while a window remembers its cursors.
 */
function copyOf(text: string): string {
  return Buffer.from(text).toString();
}
