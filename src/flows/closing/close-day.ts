/** Closes one day: each product in a transaction of its own, and then the statement that is made of them (decision 318). */

import { statementClosed } from "../../alerts/statement-closed.ts";
import { recordAlert } from "../../alerts/store.ts";
import { type ClosedBet, mergeBets } from "../../closing/changed-bets.ts";
import { writeClosedBets } from "../../closing/closed-bet-store.ts";
import {
  type ClosedDay,
  lockClosing,
  readClosedDay,
  readLastClosed,
  startNoting,
  writeClosedDay,
} from "../../closing/closed-day-store.ts";
import {
  dropPartsOf,
  hasPartsOf,
  keepParts,
  readParts,
  sealParts,
  writePart,
} from "../../closing/closed-part-store.ts";
import { confirmedDaysOf, nothingConfirmed } from "../../closing/confirmed-days.ts";
import { addConfirmed } from "../../closing/confirmed-store.ts";
import { readArrived } from "../../closing/correction-store.ts";
import { dayAfter, type ZonedDay } from "../../closing/day-bounds.ts";
import { hashOf, type Statement } from "../../closing/statement.ts";
import { toContribution, totalsOf } from "../../closing/sum-rows.ts";
import type { ProductConfig } from "../../config-file.ts";
import type { Query } from "../../db/client.ts";
import { inSnapshot } from "../../db/transactions.ts";
import { ReconError } from "../../errors.ts";
import { addUp, type Counted, type ReportRow, type Totals, toRows } from "../../report.ts";
import { itemsOf } from "../../report-item.ts";
import { type DayArchive, openDayArchive } from "../archive/write-archive.ts";
import { type CompareLimits, REPORT_LIMITS } from "../compare/comparison-context.ts";
import { type FlowContext, pulledProducts } from "../context.ts";
import { compareEntryDaysOf } from "../ledger/compare-entry-days.ts";
import { countAll, openReport, readRowsOutside } from "../reports/read-report.ts";
import { linesAsClosed } from "./read-items.ts";
import { sayLeftOut, whyFuture, whyOpen } from "./why-open.ts";

const BETS_AT_ONCE = 1_000;

/** What became of a day. */
export type Closing =
  | { readonly closed: ClosedDay /** false: it was closed before */; readonly isNew: boolean }
  | {
      readonly day: string;
      /** one sentence: why the day stays open */
      readonly reason: string;
      /** absent: the day cannot be closed yet */
      readonly code?: "archive-unusable";
    };

/**
 * Closes one day. A day that was closed before stays as it is. The next call continues with the products that a killed process
 * left; if the day must stay open meanwhile, what was closed of it is forgotten.
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
  if (early === null) {
    await compareEntryDaysOf(context, day);
    await startNoting(context.sql);
  }
  const outcome = early ?? (await closeInParts(context, day, limits).catch(asUnusableArchive(day)));
  if ("reason" in outcome) await forgetParts(context, day);
  return outcome;
}

async function closeInParts(context: FlowContext, day: ZonedDay, limits: CompareLimits): Promise<Closing> {
  const { archive: folder } = context.config.closing;
  let archive: DayArchive | null = null;
  // Called under the lock: it deletes what another process left of the day.
  const openArchive = async () => {
    if (folder !== null) archive ??= await openDayArchive(folder, day.day);
    return archive;
  };
  for (const product of context.config.products) {
    if (product.walletMode !== "seamless") continue;
    const outcome = await inClosing(context, day, async (tx, bounds) => {
      const parts = await readParts(tx, bounds);
      const part = parts.find(({ productId }) => productId === product.productId);
      if (part?.rows != null) return null;
      const how = { isComplete: part?.gap == null, archive: await openArchive() };
      const rows = await closeProduct(context, tx, product, bounds, how, limits);
      await writePart(tx, bounds, { productId: product.productId, rows, gap: part?.gap ?? null });
      return null;
    });
    if (outcome !== null) return outcome;
  }
  const outcome = await inClosing(context, day, async (tx, bounds) =>
    writeStatement(context, tx, bounds, await openArchive()),
  );
  if (outcome === null) throw new ReconError("conflict", OTHER_CLOSES, { retryable: true });
  return outcome;
}

const OTHER_CLOSES = "another process closes days at this moment; try again in a minute";

/** Runs a step of closing, alone. @returns the outcome of the day, if something else decides it or the step does */
async function inClosing(
  context: FlowContext,
  day: ZonedDay,
  step: (tx: Query, bounds: ZonedDay) => Promise<Closing | null>,
): Promise<Closing | null> {
  return await inSnapshot(context.sql, async (tx) => {
    await lockClosing(tx);
    const meanwhile = await findOutcome(context, tx, day);
    if (meanwhile !== null) return meanwhile;
    const last = await readLastClosed(tx);
    const bounds = last === null ? day : dayAfter(last, day.zone);
    await keepParts(tx, bounds, pulledProducts(context.config));
    return await step(tx, bounds);
  });
}

/** @returns null: a product is not closed any more, because another process found that the day must stay open */
async function writeStatement(
  context: FlowContext,
  tx: Query,
  bounds: ZonedDay,
  archive: DayArchive | null,
): Promise<Closing | null> {
  const parts = await readParts(tx, bounds);
  const rows: ReportRow[] = [];
  for (const productId of pulledProducts(context.config)) {
    const own = parts.find((part) => part.productId === productId)?.rows ?? null;
    if (own === null) return null;
    rows.push(...own);
  }
  rows.push(...(await closeOutside(context, tx, bounds)));
  for (const { productId, currency } of rows)
    await addConfirmed(tx, productId, [nothingConfirmed(bounds.day, currency)]);
  const last = await readLastClosed(tx);
  const acceptedGaps = parts.flatMap(({ productId, gap }) => (gap === null ? [] : { productId, ...gap }));
  const statement: Statement = {
    ...bounds,
    rows,
    corrections: await readArrived(tx, bounds),
    ...(acceptedGaps.length === 0 ? {} : { acceptedGaps }),
    number: (last?.number ?? 0) + 1,
    closedAt: context.clock.now(),
    previousHash: last?.hash ?? null,
  };
  const sealed = archive === null ? statement : await sealFiles(context, tx, statement, archive);
  const closed = { ...sealed, hash: hashOf(sealed) };
  await writeClosedDay(tx, closed);
  await sealParts(tx);
  const { day, zone, number, hash, previousHash } = closed;
  const totals = totalsOf(rows);
  await recordAlert(tx, statementClosed({ day, zone, number, hash, previousHash, totals }, closed.closedAt));
  return { closed, isNew: true };
}

/**
 * The files are whole before the day is closed: if the transaction then fails, the next closing replaces them. Files that are not
 * written yet are made of the stored bets: those of products that a killed process closed, and of products that nothing compares.
 */
async function sealFiles(
  context: FlowContext,
  tx: Query,
  statement: Statement,
  archive: DayArchive,
): Promise<Statement> {
  const outside = statement.rows.map(({ productId }) => productId);
  for (const productId of new Set([...pulledProducts(context.config), ...outside])) {
    if (archive.hasFile(productId)) continue;
    const file = archive.openFile(productId);
    for await (const { item } of linesAsClosed(tx, productId, statement, null)) await file.add(item);
    await file.close();
  }
  return await archive.seal(statement);
}

function asUnusableArchive({ day }: ZonedDay) {
  return (error: unknown): Closing => {
    if (!(error instanceof ReconError) || error.code !== "archive-unusable") throw error;
    return { day, reason: error.message, code: error.code };
  };
}

/** Without this, corrections of the products that are closed already would wait until the day is closed. */
async function forgetParts({ sql }: FlowContext, { day }: ZonedDay): Promise<void> {
  if (!(await hasPartsOf(sql, day))) return;
  await inSnapshot(sql, async (tx) => {
    await lockClosing(tx);
    // A part goes with its statement, so a day that another process closed meanwhile has none.
    await dropPartsOf(tx, day);
  });
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
  const next = await requireNext(tx, day);
  const reason = await whyOpen(context, tx, next, await readParts(tx, next));
  return reason === null ? null : { day: day.day, reason };
}

/**
 * @returns the day with its bounds: it begins at the end of the last closed day
 * @throws ReconError `conflict` if another day must be closed first
 */
export async function requireNext(tx: Query, day: ZonedDay): Promise<ZonedDay> {
  const last = await readLastClosed(tx);
  const next = last === null ? day : dayAfter(last, day.zone);
  if (next.day === day.day) return next;
  const why =
    day.day < next.day
      ? await sayLeftOut(tx, day.day)
      : `days are closed in order, and ${next.day} is the next one`;
  throw new ReconError(
    "conflict",
    `${day.day} cannot be closed: ${why} (the last closed day is ${last?.day ?? "none"})`,
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
async function closeOutside(context: FlowContext, tx: Query, day: ZonedDay): Promise<ReportRow[]> {
  const rows = await readRowsOutside(context, tx, day);
  for (const row of rows) {
    const bet = { ...OUTSIDE, day: day.day, ...toContribution(row, row.currency) };
    await writeBets(tx, row.productId, mergeBets([bet]));
  }
  return rows;
}

async function writeBets(tx: Query, productId: string, bets: readonly ClosedBet[]): Promise<void> {
  await writeClosedBets(tx, productId, bets);
  await addConfirmed(tx, productId, confirmedDaysOf(bets));
}

async function closeProduct(
  context: FlowContext,
  tx: Query,
  product: ProductConfig,
  day: ZonedDay,
  { isComplete, archive }: { readonly isComplete: boolean; readonly archive: DayArchive | null },
  limits: CompareLimits,
): Promise<ReportRow[]> {
  const { productId } = product;
  const comparison = await openReport(context, tx, product, limits);
  if (comparison === null) return [];
  const totals: Totals = new Map();
  const file = archive?.openFile(productId);
  let held: Counted[] = [];
  const write = async () => {
    const bets = mergeBets(held.map((counted) => ({ ...counted, day: day.day })));
    await writeBets(tx, productId, bets);
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
  return toRows(productId, totals, isComplete);
}
