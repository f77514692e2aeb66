/**
 * Closes days: stores a day's statement in the chain, with what each bet counted for. Says what the first closed day gives
 * up.
 */

import { mergeBets } from "../../closing/changed-bets.ts";
import { writeClosedBets } from "../../closing/closed-bet-store.ts";
import {
  type ClosedDay,
  lockClosing,
  readClosedDay,
  readLastClosed,
  startNoting,
  writeClosedDay,
} from "../../closing/closed-day-store.ts";
import { readArrived } from "../../closing/correction-store.ts";
import { dayAfter, dayAt, firstDayFrom, type ZonedDay } from "../../closing/day-bounds.ts";
import { hashOf, type Statement } from "../../closing/statement.ts";
import { toContribution } from "../../closing/sum-rows.ts";
import type { ProductConfig } from "../../config-file.ts";
import type { Query } from "../../db/client.ts";
import { inSnapshot } from "../../db/transactions.ts";
import { ReconError } from "../../errors.ts";
import { addUp, type Counted, type ReportRow, type Totals, toRows } from "../../report.ts";
import { itemsOf } from "../../report-item.ts";
import { readFirstFetched } from "../../sync/coverage-store.ts";
import { readFirstBegin } from "../../sync/pull-state-store.ts";
import { type DayArchive, openDayArchive } from "../archive/write-archive.ts";
import { type CompareLimits, REPORT_LIMITS } from "../compare/comparison-context.ts";
import type { FlowContext } from "../context.ts";
import { compareEntryDaysOf } from "../ledger/compare-entry-days.ts";
import { countAll, openReport, readRowsOutside } from "../reports/read-report.ts";
import { itemsOutside } from "../reports/report-items.ts";
import { sayLeftOut } from "./left-out-date.ts";
import { whyFuture, whyOpen } from "./why-open.ts";

/** The most days to look at, because a request waits for the answer. */
const MOST_DAYS = 31;

/**
 * What finance gave up with the first closed day.
 * @returns sentences that name the complete days among the 31 before it; null: none of these days was the first
 */
export async function sayGivenUp(context: FlowContext, results: readonly Closing[]): Promise<string | null> {
  const [first] = results.flatMap((result) =>
    "closed" in result && result.isNew && result.closed.number === 1 ? [result.closed] : [],
  );
  if (first === undefined) return null;
  const { day } = first;
  const rule = `${day} is the first closed day, and days are closed in order: no day before it can be closed any more, so none has a statement, and retention never deletes its rows.`;
  const complete = await findComplete(context, first);
  if (complete.length === 0) return rule;
  return `${rule} Complete, and given up: ${complete.join(", ")}${complete.length === MOST_DAYS ? ", and perhaps earlier days" : ""}.`;
}

/** The complete days among the last ones before a day, in their order. */
async function findComplete(context: FlowContext, { from, zone }: ZonedDay): Promise<string[]> {
  const { sql, config } = context;
  const fetchedFrom = await readFirstFetched(
    sql,
    config.products.map(({ productId }) => productId),
  );
  const complete: string[] = [];
  let end = from;
  for (let count = 0; count < MOST_DAYS && fetchedFrom !== null && fetchedFrom < end; count += 1) {
    const day = dayAt(end - 1, zone);
    if ((await whyOpen(context, sql, day)) === null) complete.unshift(day.day);
    end = day.from;
  }
  return complete;
}

/** The most days that one run of the job closes; the next run continues. */
const MOST_AT_ONCE = 40;
const BETS_AT_ONCE = 1_000;

/** What became of a day. */
export type Closing =
  | { readonly closed: ClosedDay /** false: it was closed before */; readonly isNew: boolean }
  /** one sentence: why the day stays open */
  | { readonly day: string; readonly reason: string };

/** Closes every day that ended longer ago than `closing.after`. Stops at the first day that stays open. */
export async function closeDueDays(context: FlowContext, signal: AbortSignal): Promise<Closing[]> {
  const { zone, after } = context.config.closing;
  const results: Closing[] = [];
  if (after === null) return results;
  for (let count = 0; count < MOST_AT_ONCE && !signal.aborted; count += 1) {
    const next = await findNextDay(context, zone);
    if (next === null || next.to + after > context.clock.now()) break;
    const result = await closeDay(context, next);
    results.push(result);
    if ("reason" in result) break;
  }
  return results;
}

/**
 * Closes dates in their order, and stops at the first one that stays open. Dates before the first closed day, or before
 * the first whole day that was pulled, are left out.
 * @param days of the present `closing.zone`
 */
export async function closeDays(context: FlowContext, days: readonly ZonedDay[]): Promise<Closing[]> {
  const next = await findNextDay(context, context.config.closing.zone);
  const results: Closing[] = [];
  for (const day of days) {
    const isClosed = (await readClosedDay(context.sql, day.day)) !== null;
    if (!isClosed && next !== null && day.day < next.day) continue;
    const result = await closeDay(context, day);
    results.push(result);
    if ("reason" in result) break;
  }
  return results;
}

/** The day to close next: after the last closed one, or the first whole day that was pulled; null: nothing was pulled. */
export async function findNextDay({ sql }: FlowContext, zone: string): Promise<ZonedDay | null> {
  const last = await readLastClosed(sql);
  if (last !== null) return dayAfter(last, zone);
  const begin = await readFirstBegin(sql);
  return begin === null ? null : firstDayFrom(begin, zone);
}

/**
 * Closes one day in one transaction. A day that was closed before stays as it is.
 * @param day of the present `closing.zone`; after the first closed day, it begins at the end of the last one
 * @throws ReconError `conflict` if the day is not the next one, or another process closes days at this moment
 */
export async function closeDay(
  context: FlowContext,
  day: ZonedDay,
  limits: CompareLimits = REPORT_LIMITS,
): Promise<Closing> {
  // In one snapshot: otherwise a day that another process closes meanwhile would look as if it came too early.
  const early = await inSnapshot(context.sql, (tx) => findOutcome(context, tx, day));
  if (early !== null) return early;
  await compareEntryDaysOf(context, day);
  await startNoting(context.sql);
  const work = async (tx: Query): Promise<Closing> => {
    await lockClosing(tx);
    const meanwhile = await findOutcome(context, tx, day);
    if (meanwhile !== null) return meanwhile;
    const last = await readLastClosed(tx);
    const bounds = last === null ? day : dayAfter(last, day.zone);
    const { archive: folder } = context.config.closing;
    const archive = folder === null ? null : await openDayArchive(folder, bounds.day);
    const rows: ReportRow[] = [];
    for (const product of context.config.products) {
      if (product.walletMode === "seamless")
        rows.push(...(await closeProduct(context, tx, product, bounds, limits, archive)));
    }
    rows.push(...(await closeOutside(context, tx, bounds, archive)));
    const statement: Statement = {
      ...bounds,
      rows,
      corrections: await readArrived(tx, bounds),
      number: (last?.number ?? 0) + 1,
      closedAt: context.clock.now(),
      previousHash: last?.hash ?? null,
    };
    // The files are whole before the day is closed. If the transaction then fails, the next closing replaces them.
    const sealed = archive === null ? statement : await archive.seal(statement);
    const closed = { ...sealed, hash: hashOf(sealed) };
    await writeClosedDay(tx, closed);
    return { closed, isNew: true };
  };
  try {
    return await inSnapshot(context.sql, work);
  } catch (error) {
    if (!(error instanceof ReconError) || error.code !== "archive-unusable") throw error;
    return { day: day.day, reason: error.message };
  }
}

/**
 * @returns null: the day can be closed
 * @throws ReconError `conflict` if another day must be closed first
 */
async function findOutcome(context: FlowContext, tx: Query, day: ZonedDay): Promise<Closing | null> {
  const before = await readClosedDay(tx, day.day);
  if (before !== null) return { closed: before, isNew: false };
  const future = whyFuture(day, context.clock.now());
  if (future !== null) return { day: day.day, reason: future };
  const last = await readLastClosed(tx);
  const next = last === null ? day : dayAfter(last, day.zone);
  if (next.day !== day.day) throw await notNext(tx, day, last, next);
  const reason = await whyOpen(context, tx, next);
  return reason === null ? null : { day: day.day, reason };
}

async function notNext(
  tx: Query,
  { day }: ZonedDay,
  last: ClosedDay | null,
  next: ZonedDay,
): Promise<ReconError> {
  const why =
    day < next.day ? await sayLeftOut(tx, day) : `days are closed in order, and ${next.day} is the next one`;
  return new ReconError(
    "conflict",
    `${day} cannot be closed: ${why} (the last closed day is ${last?.day ?? "none"})`,
  );
}

const OUTSIDE = {
  username: "",
  subject: "outside",
  betRef: "",
  betId: null,
  transactionId: null,
  shown: { provider: null, ledger: { status: null }, mismatchId: null, verdict: null },
} as const;

/** What moved in products that nothing compares. One row of `closed_bets` stands for a product and a currency. */
async function closeOutside(
  context: FlowContext,
  tx: Query,
  day: ZonedDay,
  archive: DayArchive | null,
): Promise<ReportRow[]> {
  const rows = await readRowsOutside(context, tx, day);
  for (const productId of new Set(rows.map((row) => row.productId))) {
    const file = archive?.openFile(productId);
    if (file === undefined) break;
    for await (const { item } of itemsOutside(tx, productId, day, null)) await file.add(item);
    await file.close();
  }
  for (const row of rows) {
    const bet = { ...OUTSIDE, day: day.day, ...toContribution(row, row.currency) };
    await writeClosedBets(tx, row.productId, mergeBets([bet]));
  }
  return rows;
}

async function closeProduct(
  context: FlowContext,
  tx: Query,
  product: ProductConfig,
  day: ZonedDay,
  limits: CompareLimits,
  archive: DayArchive | null,
): Promise<ReportRow[]> {
  const { productId } = product;
  const comparison = await openReport(context, tx, product, limits);
  if (comparison === null) return [];
  const totals: Totals = new Map();
  const file = archive?.openFile(productId);
  let held: Counted[] = [];
  const write = async () => {
    const bets = mergeBets(held.map((counted) => ({ ...counted, day: day.day })));
    await writeClosedBets(tx, productId, bets);
    held = [];
    if (file === undefined) return;
    for (const bet of bets) for (const item of itemsOf(day.day, productId, bet)) await file.add(item);
  };
  for await (const counted of countAll(comparison, day)) {
    addUp(totals, counted);
    // What has the same names belongs to one player, and comes one after the other.
    if (held.length >= BETS_AT_ONCE && held.at(-1)?.username !== counted.username) await write();
    held.push(counted);
  }
  await write();
  await file?.close();
  return toRows(productId, totals, true);
}
