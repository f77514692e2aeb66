/** The API's schemas of the statement of a day and of a month. */

import type {
  BetFigures,
  ClosedStamp,
  Correction,
  DayStatement,
  MonthReport,
  OpenDay,
} from "../../closed.ts";
import type { LedgerReportSide, ReportRow, ReportSide } from "../../report.ts";
import {
  AMOUNT,
  COUNT,
  DATE,
  documentOf,
  FLAG,
  INSTANT,
  listOf,
  orNull,
  type Schema,
  TEXT,
} from "./schema.ts";

const HASH: Schema = { type: "string", pattern: "^[0-9a-f]{64}$" };
const SIDE = { bets: COUNT, stake: AMOUNT, payout: AMOUNT, net: AMOUNT };
const REPORT_SIDE = documentOf<ReportSide>(SIDE);
const LEDGER_SIDE = documentOf<LedgerReportSide>({ ...SIDE, moved: AMOUNT });

const ROWS = listOf(
  documentOf<ReportRow>({
    productId: TEXT,
    currency: TEXT,
    provider: REPORT_SIDE,
    ledger: LEDGER_SIDE,
    difference: AMOUNT,
    mismatches: AMOUNT,
    adjustments: AMOUNT,
    pending: AMOUNT,
    rounding: AMOUNT,
    outside: AMOUNT,
    rest: AMOUNT,
    complete: FLAG,
  }),
);

const FIGURES = documentOf<BetFigures>({
  provider: REPORT_SIDE,
  ledger: LEDGER_SIDE,
  mismatches: AMOUNT,
  adjustments: AMOUNT,
  pending: AMOUNT,
  rounding: AMOUNT,
  outside: AMOUNT,
});

const CORRECTIONS = listOf(
  documentOf<Correction>({
    day: { ...DATE, description: "the closed day that changed" },
    productId: TEXT,
    currency: TEXT,
    username: TEXT,
    betId: orNull(TEXT),
    transactionId: orNull(TEXT),
    before: FIGURES,
    after: FIGURES,
    difference: { ...AMOUNT, description: "by how much the day's difference changed" },
    reason: TEXT,
    at: INSTANT,
  }),
);

const STATEMENT = documentOf<DayStatement>({
  day: DATE,
  zone: TEXT,
  rows: ROWS,
  closed: orNull(
    documentOf<ClosedStamp>({ number: COUNT, closedAt: INSTANT, hash: HASH, previousHash: orNull(HASH) }),
  ),
  corrections: CORRECTIONS,
});

const MONTH = documentOf<MonthReport>({
  month: { type: "string", pattern: String.raw`^\d{4}-\d{2}$` },
  zone: TEXT,
  days: listOf(STATEMENT),
  rows: ROWS,
  corrections: CORRECTIONS,
  open: listOf(documentOf<OpenDay>({ day: DATE, reason: TEXT })),
});

/** The statement of a day, or of a month. */
export const REPORT: Schema = { type: "object", oneOf: [STATEMENT, MONTH] };
