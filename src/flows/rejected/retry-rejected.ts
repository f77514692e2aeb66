/** Reads rejected records and entries again: after an upgrade, or a changed setting. */

import { type AnswerOf, COUNT, listOf, NEXT, objectOf, TEXT } from "../../answer.ts";
import type { Query } from "../../db/client.ts";
import { findRejectedRows, nextRejectedRows } from "../../db/rejected-rows.ts";
import { ReconError } from "../../errors.ts";
import { writeLedgerSettings } from "../../ledger/follow-store.ts";
import {
  formatRejectedId,
  REJECTED_ID,
  REJECTED_SIDES,
  type RejectedRef,
  type RejectedSide,
  type RetriedRows,
} from "../../rejected.ts";
import type { FlowContext } from "../context.ts";
import { addRetried, retryEntries } from "./retry-entries.ts";
import { retryRecords } from "./retry-records.ts";

/** The id of a row in answers: "record-12". */
export const REJECTED_REF = TEXT.meta({ pattern: REJECTED_ID.source });

/** How many rows of one side became what. */
const COUNTS = objectOf({
  accepted: COUNT,
  /** dropped, because the same or newer content is there */
  known: COUNT,
  stillRejected: COUNT,
});
export type RetryCounts = AnswerOf<typeof COUNTS>;

export const RETRY_RESULT = objectOf({
  records: COUNTS,
  entries: COUNTS,
  /** each row that stays, with the reason of now */
  stayed: listOf(objectOf({ id: REJECTED_REF, reason: TEXT })),
  /** the row after which to continue; null: there are no more */
  next: NEXT,
});
export type RetryResult = AnswerOf<typeof RETRY_RESULT>;

export const TABLES = { record: "rejected_records", entry: "rejected_entries" } as const;
/** The most rows and text that one transaction retries. */
const MOST_AT_ONCE = { rows: 200, bytes: 8 * 1024 * 1024 };

const NOTHING: RetriedRows = { accepted: 0, known: 0, staying: [] };

/**
 * Reads these rows again.
 * @throws ReconError `not-found` that names an id that is not there: then nothing is read
 */
export async function retryThese(context: FlowContext, refs: readonly RejectedRef[]): Promise<RetryResult> {
  const rowsOf = (side: RejectedSide) => [
    ...new Set(refs.filter((ref) => ref.side === side).map(({ row }) => row)),
  ];
  for (const side of REJECTED_SIDES) {
    const there = new Set(await findRejectedRows(context.sql, TABLES[side], rowsOf(side)));
    const missing = rowsOf(side).find((row) => !there.has(row));
    if (missing !== undefined) throw notRejected(formatRejectedId({ side, row: missing }));
  }
  await useSettings(context);
  return resultOf(
    await retryRows(context, "record", rowsOf("record")),
    await retryRows(context, "entry", rowsOf("entry")),
    null,
  );
}

/** @param id as it was asked for */
export function notRejected(id: string): ReconError {
  return new ReconError(
    "not-found",
    `there is no rejected record or entry "${id.slice(0, 60)}": ids look like record-12 or entry-7; an id disappears once its row is accepted`,
  );
}

/**
 * Reads the next rows again, records before entries, each the newest first.
 * @param after the `next` of the call before; null: from the beginning
 */
export async function retryNext(
  context: FlowContext,
  after: RejectedRef | null,
  most: number,
): Promise<RetryResult> {
  const { sql } = context;
  await useSettings(context);
  const retried = { record: NOTHING, entry: NOTHING };
  let left = most;
  let at = after;
  for (;;) {
    const rows = left > 0 ? Math.min(left, MOST_AT_ONCE.rows) : 1;
    const found = await findNext(sql, at, { ...MOST_AT_ONCE, rows });
    const isOver = found === null || left <= 0;
    const next = found === null || at === null ? null : formatRejectedId(at);
    if (isOver) return resultOf(retried.record, retried.entry, next);
    const { side } = found;
    retried[side] = addRetried(retried[side], await retryRows(context, side, found.rows));
    left -= found.rows.length;
    at = { side, row: found.rows.at(-1) ?? 0 };
  }
}

/** @returns null: there are no more */
async function findNext(
  sql: Query,
  after: RejectedRef | null,
  most: typeof MOST_AT_ONCE,
): Promise<{ side: RejectedSide; rows: number[] } | null> {
  for (const side of REJECTED_SIDES) {
    if (side === "record" && after?.side === "entry") continue;
    const before = after?.side === side ? after.row : null;
    const rows = await nextRejectedRows(sql, TABLES[side], before, most);
    if (rows.length > 0) return { side, rows };
  }
  return null;
}

/** Rows that were refused because of a setting are judged by the setting of now. */
async function useSettings({ sql, config }: FlowContext): Promise<void> {
  await writeLedgerSettings(sql, config.ledger.rowsChange);
}

async function retryRows(
  context: FlowContext,
  side: RejectedSide,
  rows: readonly number[],
): Promise<RetriedRows> {
  let retried = NOTHING;
  const newestFirst = rows.toSorted((a, b) => b - a);
  for (let from = 0; from < newestFirst.length; from += MOST_AT_ONCE.rows) {
    const part = newestFirst.slice(from, from + MOST_AT_ONCE.rows);
    const retry = side === "record" ? retryRecords : retryEntries;
    retried = addRetried(retried, await retry(context, part));
  }
  return retried;
}

function resultOf(records: RetriedRows, entries: RetriedRows, next: string | null): RetryResult {
  const named = (side: RejectedSide, { staying }: RetriedRows) =>
    staying.map(({ row, reason }) => ({ id: formatRejectedId({ side, row }), reason }));
  return {
    records: countsOf(records),
    entries: countsOf(entries),
    stayed: [...named("record", records), ...named("entry", entries)],
    next,
  };
}

function countsOf({ accepted, known, staying }: RetriedRows): RetryCounts {
  return { accepted, known, stillRejected: staying.length };
}
