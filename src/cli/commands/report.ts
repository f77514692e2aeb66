/** `recon report`: the day's statement. */

import process from "node:process";
import type { Command } from "commander";
import { ReconError } from "../../errors.ts";
import { readReport } from "../../flows/reports/read-report.ts";
import { formatMoney, parseAmount } from "../../money.ts";
import { reportAsCsv } from "../../ops/csv/report-csv.ts";
import { usage } from "../../ops/input/fields.ts";
import { readReportDay } from "../../ops/input/report-query.ts";
import { type DayReport, isUnexplained, type ReportRow, type ReportSide } from "../../report.ts";
import { EXIT_FAILED, withRecon } from "../run/run-command.ts";
import { stopSignal } from "../run/stop-signal.ts";
import { printCsv, printJson, printLine, printTable } from "../terminal/print.ts";

interface ReportOptions {
  readonly day?: string;
  readonly zone?: string;
  readonly json?: boolean;
  readonly csv?: boolean;
}

export function addReportCommand(program: Command): void {
  program
    .command("report")
    .description("the day's statement: both sides' sums, what explains their difference, and the rest")
    .option("--day <YYYY-MM-DD>", "of which day")
    .option("--zone <zone>", "the time zone of the day, such as Asia/Bangkok", "UTC")
    .option("--csv", "as CSV, a line for each product and currency")
    .option("--json", "one JSON document")
    .action(
      withRecon(["database"], async ({ context }, { csv, json, ...typed }: ReportOptions) => {
        if (json && csv) throw usage("give either --json or --csv");
        const report = await readReport(context, readReportDay({ ...typed }), abortedByTerminal());
        if (json) printJson(report);
        else if (csv) printCsv(reportAsCsv(report));
        else printReport(report);
        if (report.rows.some(isUnexplained)) process.exitCode = EXIT_FAILED;
      }),
    );
}

/** Ctrl-C also ends the report's query in the database. */
function abortedByTerminal(): AbortSignal {
  const left = new AbortController();
  void stopSignal().then(() => left.abort(new ReconError("report-left", "the report was stopped")));
  return left.signal;
}

function printReport({ day, zone, rows }: DayReport): void {
  printLine(`The day ${day} in ${zone}`);
  if (rows.length === 0) printLine("Neither side has a bet on that day.");
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
