/** Statements as CSV: a line for each product and currency. */

import type { MonthReport } from "../../closed.ts";
import { rowOf } from "../../closing/changed-bets.ts";
import { ggrOf } from "../../closing/sum-rows.ts";
import { type DayReport, type ReportSide, ROW_FIGURES } from "../../report.ts";
import { BYTE_ORDER_MARK, toCsv } from "./csv.ts";

const SIDE_FIELDS = ["bets", "stake", "payout", "net"] as const satisfies readonly (keyof ReportSide)[];

const OF_WHICH = ["rewards", "tips"] as const;

const HEAD = [
  "day",
  "zone",
  "productId",
  "currency",
  ...SIDE_FIELDS.map((field) => `provider.${field}`),
  ...SIDE_FIELDS.map((field) => `ledger.${field}`),
  "ledger.moved",
  ...ROW_FIGURES,
  "complete",
  "provider.ggr",
  "ledger.ggr",
  ...OF_WHICH.map((field) => `provider.${field}`),
  ...OF_WHICH.map((field) => `ledger.${field}`),
];

/** The head, then a line for each row of the report; amounts are decimal text. What is unknown is empty. */
export function reportAsCsv(report: DayReport): string {
  return BYTE_ORDER_MARK + toCsv([HEAD, ...linesOf(report)]);
}

/**
 * A month's closed days, row by row, and then their corrections, each as what it adds to its day. So the sum of a column
 * is today's data.
 */
export function monthAsCsv({ days, corrections, zone }: MonthReport): string {
  const zones = new Map(days.map((one) => [one.day, one.zone]));
  const lines = toCsv([
    [...HEAD, "correctedAt", "username", "betId", "transactionId", "reason"],
    ...days.flatMap(linesOf).map((line) => [...line, "", "", "", "", ""]),
    ...corrections.flatMap((one) =>
      linesOf({ day: one.day, zone: zones.get(one.day) ?? zone, rows: [rowOf(one)] }).map((line) => [
        ...line,
        one.at,
        one.username,
        one.betId ?? "",
        one.transactionId ?? "",
        one.reason,
      ]),
    ),
  ]);
  return BYTE_ORDER_MARK + lines;
}

function linesOf({ day, zone, rows }: DayReport): string[][] {
  return rows.map((row) => [
    day,
    zone,
    row.productId,
    row.currency,
    ...SIDE_FIELDS.map((field) => String(row.provider[field])),
    ...SIDE_FIELDS.map((field) => String(row.ledger[field])),
    // Statements of older versions have neither.
    row.ledger.moved ?? "",
    ...ROW_FIGURES.map((field) => row[field] ?? ""),
    String(row.complete),
    ggrOf(row.provider),
    ggrOf(row.ledger),
    ...OF_WHICH.map((field) => row.provider[field] ?? ""),
    ...OF_WHICH.map((field) => row.ledger[field] ?? ""),
  ]);
}
