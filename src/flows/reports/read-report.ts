/** The day's statement of every product (the JSON of `recon report` and `/api/report`). */

import type { ProductConfig } from "../../config-file.ts";
import type { Query } from "../../db/client.ts";
import { describeDeleted, readDeletedTime } from "../../db/retention-store.ts";
import { cancelledBy, inSnapshot } from "../../db/transactions.ts";
import { readDayParts } from "../../diff/agreed-rounds-store.ts";
import { findOtherProducts, sumEntries } from "../../diff/outside-store.ts";
import { ReconError } from "../../errors.ts";
import { parseAmount } from "../../money.ts";
import {
  addUp,
  type Contribution,
  type Counted,
  type DayReport,
  NOTHING_COUNTED,
  type ReportRow,
  type Totals,
  toRow,
  toRows,
} from "../../report.ts";
import { findGaps } from "../../sync/coverage.ts";
import { readFetched } from "../../sync/coverage-store.ts";
import { overlaps, type TimeRange } from "../../window.ts";
import {
  type CompareLimits,
  type ComparisonContext,
  openComparison,
  REPORT_LIMITS,
} from "../compare/comparison-context.ts";
import type { FlowContext } from "../context.ts";
import { findLedgerStart } from "../ledger/known-ledger.ts";
import { reportActive, reportBets } from "./report-bets.ts";
import { reportSessions } from "./report-sessions.ts";

/** A day of a time zone, with its beginning and end. */
export interface RequestedDay extends TimeRange {
  readonly day: string;
  readonly zone: string;
}

/**
 * Adds up both sides of a day, and what explains each difference. Each product is read in one snapshot, so that
 * records, entries and mismatches belong together. Products that nothing compares have a row if money moved in them.
 * @param signal cancels the report, in the database too; the report rejects with the signal's reason
 * @param rest awaited between pieces of work, so that other work gets time
 * @throws ReconError `bets-deleted` if bets of the day may be deleted: their sums would be too small (decision 215)
 */
export async function readReport(
  context: FlowContext,
  day: RequestedDay,
  signal: AbortSignal = new AbortController().signal,
  limits: CompareLimits = REPORT_LIMITS,
  rest: () => Promise<void> = async () => {},
): Promise<DayReport> {
  const rows: ReportRow[] = [];
  for (const product of context.config.products) {
    if (product.walletMode === "transfer") continue;
    const report = (tx: Query) =>
      cancelledBy(context.sql, tx, signal, () =>
        reportProduct(context, tx, product, day, { signal, limits, rest }),
      );
    rows.push(...(await inSnapshot(context.sql, report)));
  }
  rows.push(...(await inSnapshot(context.sql, (tx) => readRowsOutside(context, tx, day))));
  return { day: day.day, zone: day.zone, rows };
}

/**
 * The rows of products that nothing compares: those that are not in the settings, and those with transfer wallets. Nothing of
 * them is fetched, so nothing can be missing.
 */
export async function readRowsOutside(
  { config }: FlowContext,
  tx: Query,
  day: TimeRange,
): Promise<ReportRow[]> {
  const compared = config.products.filter(({ walletMode }) => walletMode === "seamless");
  const others = await findOtherProducts(
    tx,
    compared.map(({ productId }) => productId),
  );
  const money = await sumEntries(tx, others, day);
  return money.map(({ productId, currency, outside }) =>
    toRow(productId, { ...NOTHING_COUNTED, currency, outside: parseAmount(outside, "outside") }, true),
  );
}

/** How a report is made. */
export interface Making {
  readonly signal: AbortSignal;
  readonly limits: CompareLimits;
  readonly rest: () => Promise<void>;
}

async function reportProduct(
  context: FlowContext,
  tx: Query,
  product: ProductConfig,
  day: RequestedDay,
  { signal, limits, rest }: Making,
): Promise<ReportRow[]> {
  await checkKept(tx, product.productId, day);
  const range = { from: day.from, to: day.to };
  const now = context.clock.now();
  const settledUntil = now - context.config.pull.settleDelay;
  const covered = await readFetched(tx, product.productId, range);
  const complete = findGaps(range, settledUntil, covered, []).length === 0;
  const comparison = await openReport(context, tx, product, limits);
  // With an empty ledger nothing is compared.
  if (comparison === null) return [];
  const totals: Totals = new Map();
  for await (const counted of countSums(comparison, range)) {
    await rest();
    signal.throwIfAborted();
    addUp(totals, counted);
  }
  return toRows(product.productId, totals, complete);
}

/** In the snapshot of the report: before a row is deleted, its time is announced. */
export async function checkKept(tx: Query, productId: string, day: RequestedDay): Promise<void> {
  const deleted = await readDeletedTime(tx, productId);
  const sides = [
    { what: `bet records of ${productId}`, setting: "records", time: deleted.records },
    { what: "callback entries", setting: "entries", time: deleted.entries },
  ];
  const [latest] = sides.filter(({ time }) => overlaps(day, time)).sort((a, b) => b.time.to - a.time.to);
  if (latest === undefined) return;
  const { what, setting, time } = latest;
  throw new ReconError(
    "bets-deleted",
    `the sums of ${day.day} in ${day.zone} cannot be computed any more: ${what} ${describeDeleted(time)} may be deleted (retain.${setting})`,
  );
}

/** Opens a comparison that only reads. @returns null: the ledger is empty */
export async function openReport(
  context: FlowContext,
  tx: Query,
  product: ProductConfig,
  limits: CompareLimits = REPORT_LIMITS,
): Promise<ComparisonContext | null> {
  const ledgerStart = await findLedgerStart(tx, context.config, product);
  if (ledgerStart === null) return null;
  return openComparison(context, tx, product, ledgerStart, context.clock.now(), limits);
}

/** The sums of a product on a day: the database adds up most rounds that agree. */
async function* countSums(comparison: ComparisonContext, day: TimeRange): AsyncGenerator<Contribution> {
  if (mayAddUp(comparison, day)) yield* addUpBets(comparison, day);
  else yield* countAll(comparison, day);
}

/** Everything of a product that counts on a day. */
export async function* countAll(comparison: ComparisonContext, day: TimeRange): AsyncGenerator<Counted> {
  const { settlement } = comparison.product;
  if (settlement !== "session") yield* reportBets(comparison, day);
  if (settlement !== "bets") yield* reportSessions(comparison, day);
}

/**
 * Whether the database can add up bets of a day: the product's bets have placements, records name them by their betId,
 * and nothing of the day lies before the ledger.
 */
function mayAddUp({ product, settings }: ComparisonContext, day: TimeRange): boolean {
  const { settlement, singleState, matchBy } = product;
  const isNamed = settlement === "bets" && !singleState && matchBy.includes("betId");
  return isNamed && day.from >= settings.ledgerStart;
}

/** What all bets of a day add up to. */
async function* addUpBets(comparison: ComparisonContext, day: TimeRange): AsyncGenerator<Contribution> {
  const { tx, product } = comparison;
  const omitsLosses = product.lostBets === "omitted";
  for await (const { sums, marks } of readDayParts(tx, product.productId, day, omitsLosses)) {
    for (const { currency, bets, stake, payout } of sums) {
      const side = { bets, stake, payout, net: payout.minus(stake) };
      yield { ...NOTHING_COUNTED, currency, provider: side, ledger: side, moved: side.net };
    }
    if (marks.length === 0) continue;
    for await (const { counted } of reportActive(comparison, [day], marks)) yield* counted;
  }
}
