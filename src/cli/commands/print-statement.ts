/** Prints the statement of a day or a month. */

import type { Correction, DayStatement, MonthReport } from "../../closed.ts";
import { todayOf } from "../../closing/changed-bets.ts";
import { formatMoney, parseAmount } from "../../money.ts";
import { isUnexplained, type ReportRow, type ReportSide } from "../../report.ts";
import { printLine, printTable } from "../terminal/print.ts";

/**
 * @param bounds of a closed day, in words that follow "from"; null: the day is open
 * @param whyEmpty why the statement has no rows; null: it has rows
 */
export function printStatement(
  { day, zone, rows, closed, corrections }: DayStatement,
  bounds: string | null,
  whyEmpty: string | null,
): void {
  printLine(`The day ${day} in ${zone}`);
  if (bounds !== null) printLine(`From ${bounds}`);
  if (closed !== null)
    printLine(`Closed at ${closed.closedAt} with number ${closed.number}, hash ${closed.hash}`);
  if (whyEmpty !== null) printLine(whyEmpty);
  printRows(rows, UNEXPLAINED_DAY);
  if (corrections.length > 0) {
    printLine();
    printLine("Corrections of closed days that arrived on this day:");
    printCorrections(corrections);
  }
}

/** @param unusual sentences about its closed days */
export function printMonth(report: MonthReport, unusual: readonly string[]): void {
  const { month, zone, days, rows, corrections, open } = report;
  printLine(`The month ${month} in ${zone}: ${days.length} closed, ${open.length} open`);
  for (const sentence of unusual) printLine(sentence);
  // A correction may explain the rest of the sums, or leave a rest itself.
  printRows(rows, corrections.length > 0 ? null : UNEXPLAINED_MONTH);
  if (corrections.length > 0) {
    printLine();
    printLine("Corrections of these days since they were closed:");
    printCorrections(corrections);
    printLine();
    printLine("Today's data, which is the sums and the corrections together:");
    printRows(todayOf(report), UNEXPLAINED_MONTH);
  }
  if (open.length > 0) {
    printLine();
    printLine("Open days, which are not in the sums:");
    for (const { day, reason } of open) printLine(`${day}  ${reason}`);
  }
}

function printCorrections(corrections: readonly Correction[]): void {
  printTable(
    ["DAY", "PRODUCT", "PLAYER", "BET", "DIFFERENCE", "REASON"],
    corrections.map(({ day, productId, username, betId, transactionId, difference, currency, reason }) => [
      day,
      productId,
      username,
      transactionId ?? betId ?? "",
      formatMoney(parseAmount(difference, "difference"), currency),
      reason,
    ]),
  );
}

const UNEXPLAINED_DAY = "NOT EXPLAINED: the day is complete, but nothing explains the rest.";
const UNEXPLAINED_MONTH =
  "NOT EXPLAINED: nothing explains the rest of these closed days (recon report --day and the corrections show where it is).";

/** @param unexplained what is said of a row with unexplained money; null: nothing */
function printRows(rows: readonly ReportRow[], unexplained: string | null): void {
  for (const row of rows) {
    printLine();
    printRow(row, unexplained);
  }
}

function printRow(row: ReportRow, unexplained: string | null): void {
  const money = (text: string) => formatMoney(parseAmount(text, "amount"), row.currency);
  const sideOf = (name: string, side: ReportSide) => [
    name,
    String(side.bets),
    money(side.stake),
    money(side.payout),
    money(side.net),
  ];
  printTable(
    [row.productId, "BETS", "STAKE", "PAYOUT", "NET"],
    [sideOf("provider", row.provider), sideOf("ledger", row.ledger)],
  );
  printTable(
    ["difference of net", money(row.difference)],
    [
      ["mismatches", money(row.mismatches)],
      ["adjustments by hand", money(row.adjustments)],
      ["pending", money(row.pending)],
      ["rounding", money(row.rounding)],
      ["rest", money(row.rest)],
      // Statements of older versions do not say it.
      ["outside the comparison", money((row as Partial<ReportRow>).outside ?? "0")],
    ],
  );
  if (!row.complete) {
    printLine("Not complete: part of this day has not been fetched (recon coverage shows which).");
  } else if (unexplained !== null && isUnexplained(row)) {
    printLine(unexplained);
  }
}
