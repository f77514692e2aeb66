/** The day's statement as CSV: a line for each product and currency. */

import type { DayReport, ReportSide } from "../../report.ts";
import { toCsv } from "./csv.ts";

const SIDE_FIELDS = ["bets", "stake", "payout", "net"] as const satisfies readonly (keyof ReportSide)[];
const EXPLAINED = ["difference", "mismatches", "adjustments", "pending", "rounding", "rest"] as const;

/** The head, then a line for each row of the report; amounts are decimal text. */
export function reportAsCsv({ day, zone, rows }: DayReport): string {
  const head = [
    "day",
    "zone",
    "productId",
    "currency",
    ...SIDE_FIELDS.map((field) => `provider.${field}`),
    ...SIDE_FIELDS.map((field) => `ledger.${field}`),
    ...EXPLAINED,
    "complete",
  ];
  const lines = rows.map((row) => [
    day,
    zone,
    row.productId,
    row.currency,
    ...SIDE_FIELDS.map((field) => String(row.provider[field])),
    ...SIDE_FIELDS.map((field) => String(row.ledger[field])),
    ...EXPLAINED.map((field) => row[field]),
    String(row.complete),
  ]);
  return toCsv([head, ...lines]);
}
