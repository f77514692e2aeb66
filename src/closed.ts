/** Closed books: the statement of a closed day, the corrections that later changes cause, and the month. */

import type { DayReport, LedgerReportSide, ReportRow, ReportSide } from "./report.ts";

/** What makes a closed day's statement one of a chain. */
export interface ClosedStamp {
  /** 1, 2, 3, … without a gap */
  readonly number: number;
  /** ISO 8601 */
  readonly closedAt: string;
  /** sha-256 of the statement, its number and `previousHash`, in hexadecimal */
  readonly hash: string;
  /** the hash of the day before; null: the first closed day */
  readonly previousHash: string | null;
}

/** What a bet counts for. Amounts are decimal text; their meaning is that of a report's row. */
export interface BetFigures {
  readonly provider: ReportSide;
  readonly ledger: LedgerReportSide;
  readonly mismatches: string;
  readonly adjustments: string;
  readonly pending: string;
  readonly rounding: string;
  readonly outside: string;
}

/** A change of a closed day. It belongs to the day on which it arrived. */
export interface Correction {
  /** the closed day that changed: YYYY-MM-DD */
  readonly day: string;
  readonly productId: string;
  readonly currency: string;
  readonly username: string;
  /** null: the provider does not have the bet */
  readonly betId: string | null;
  /** null: the ledger does not have the bet */
  readonly transactionId: string | null;
  readonly before: BetFigures;
  readonly after: BetFigures;
  /** by how much the day's difference changed: decimal text */
  readonly difference: string;
  /** one sentence: what changed */
  readonly reason: string;
  /** when it was found, ISO 8601 */
  readonly at: string;
}

export interface DayStatement extends DayReport {
  /** null: the day is open */
  readonly closed: ClosedStamp | null;
  /** the corrections of earlier days that arrived on this day */
  readonly corrections: readonly Correction[];
}

/** A day of a month that is not closed. */
export interface OpenDay {
  readonly day: string;
  /** one sentence */
  readonly reason: string;
}

export interface MonthReport {
  /** YYYY-MM */
  readonly month: string;
  readonly zone: string;
  /** the closed days of the month */
  readonly days: readonly DayStatement[];
  /** the sums of the closed days */
  readonly rows: readonly ReportRow[];
  /** every correction of a closed day of the month, whenever it arrived: `rows` and these together are today's data */
  readonly corrections: readonly Correction[];
  readonly open: readonly OpenDay[];
}
