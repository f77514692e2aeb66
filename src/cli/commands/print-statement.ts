/** Prints the statement of a day or a month. */

import type { Correction, DayStatement, MonthReport } from "../../closed.ts";
import { rowOf } from "../../closing/changed-bets.ts";
import { sumRows } from "../../closing/sum-rows.ts";
import { formatMoney, parseAmount } from "../../money.ts";
import { isUnexplained, type ReportRow, type ReportSide } from "../../report.ts";
import { printLine, printTable } from "../terminal/print.ts";

/**
 * @param bounds where a closed day begins and ends, as after "from"; null: the day is open
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
  printRows(rows);
  if (corrections.length > 0) {
    printLine();
    printLine("Corrections of closed days that arrived on this day:");
    printCorrections(corrections);
  }
}

/** @param unusual sentences about its closed days */
export function printMonth(
  { month, zone, days, rows, corrections, open }: MonthReport,
  unusual: readonly string[],
): void {
  printLine(`The month ${month} in ${zone}: ${days.length} closed, ${open.length} open`);
  for (const sentence of unusual) printLine(sentence);
  printRows(rows);
  if (corrections.length > 0) {
    printLine();
    printLine("Corrections of these days since they were closed:");
    printCorrections(corrections);
    printLine();
    printLine("Today's data, which is the sums and the corrections together:");
    printRows(sumRows([...rows, ...corrections.map(rowOf)]));
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

function printRows(rows: readonly ReportRow[]): void {
  for (const row of rows) {
    printLine();
    printRow(row);
  }
}

function printRow(row: ReportRow): void {
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
    ],
  );
  if (!row.complete) {
    printLine("Not complete: part of this day has not been fetched (recon coverage shows which).");
  } else if (isUnexplained(row)) {
    printLine("NOT EXPLAINED: the day is complete, but nothing explains the rest.");
  }
}
