/** The day's statement of every product (the JSON of `recon report` and `/api/report`). */

import type { ProductConfig } from "../config-file.ts";
import { cancelledBy } from "../db/cancel-store.ts";
import { inOneMoment, type Query } from "../db/client.ts";
import { addUp, type DayReport, type ReportRow, type Totals, toRows } from "../report.ts";
import { findGaps } from "../sync/coverage.ts";
import { readCoverage } from "../sync/store.ts";
import type { TimeRange } from "../window.ts";
import { type CompareLimits, openComparison, REPORT_LIMITS } from "./comparison-context.ts";
import type { FlowContext } from "./context.ts";
import { findLedgerStart } from "./ledger-start.ts";
import { reportBets } from "./report-bets.ts";
import { reportSessions } from "./report-sessions.ts";

/** A day of a zone, by its name and by when it begins and ends. */
export interface RequestedDay extends TimeRange {
  readonly day: string;
  readonly zone: string;
}

/**
 * Adds up what both sides say of a day, and what explains each difference. Seen as of one moment for each product, so
 * that records, entries and mismatches belong together. Products of transfer wallets have no bets, and no row.
 * @param signal ends it, in the database too: it rejects with the signal's reason
 * @param rest is awaited again and again, so that other work has its share
 */
export async function readReport(
  context: FlowContext,
  { day, zone, ...range }: RequestedDay,
  signal: AbortSignal = new AbortController().signal,
  limits: CompareLimits = REPORT_LIMITS,
  rest: () => Promise<void> = async () => {},
): Promise<DayReport> {
  const rows: ReportRow[] = [];
  for (const product of context.config.products) {
    if (product.walletMode === "transfer") continue;
    const report = (tx: Query) =>
      cancelledBy(context.sql, tx, signal, () =>
        reportProduct(context, tx, product, range, { signal, limits, rest }),
      );
    rows.push(...(await inOneMoment(context.sql, report)));
  }
  return { day, zone, rows };
}

/** How a report is made. */
interface Making {
  readonly signal: AbortSignal;
  readonly limits: CompareLimits;
  readonly rest: () => Promise<void>;
}

async function reportProduct(
  context: FlowContext,
  tx: Query,
  product: ProductConfig,
  range: TimeRange,
  { signal, limits, rest }: Making,
): Promise<ReportRow[]> {
  const now = context.clock.now();
  const settledUntil = now - context.config.pull.settleDelay;
  const covered = await readCoverage(tx, product.productId, range, 0);
  const complete = findGaps(range, settledUntil, covered, []).length === 0;
  const ledgerStart = await findLedgerStart(tx, context.config, product);
  // While the ledger is empty nothing is compared, and there is nothing to hold against the provider.
  if (ledgerStart === null) return [];
  const comparison = openComparison(context, tx, product, ledgerStart, now, limits);
  const totals: Totals = new Map();
  const report = product.settlement === "session" ? reportSessions : reportBets;
  for await (const contribution of report(comparison, range)) {
    await rest();
    signal.throwIfAborted();
    addUp(totals, contribution);
  }
  return toRows(product.productId, totals, complete);
}
