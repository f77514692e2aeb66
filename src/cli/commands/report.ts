/** `recon report`: the statement of a day or a month, and the check of the closed days. */

import process from "node:process";
import type { Command } from "commander";
import type { DayStatement, MonthReport } from "../../closed.ts";
import { todayOf } from "../../closing/changed-bets.ts";
import { ReconError } from "../../errors.ts";
import {
  type ClosedFacts,
  readClosedFacts,
  refuseAltered,
  sayAltered,
  sayBounds,
  sayUnusual,
} from "../../flows/closing/closed-facts.ts";
import { readMonth, readStatement } from "../../flows/closing/read-statement.ts";
import { sayRest, verifyBooks } from "../../flows/closing/verify-books.ts";
import { readWhyEmpty } from "../../flows/closing/why-empty.ts";
import type { FlowContext } from "../../flows/context.ts";
import { readReport } from "../../flows/reports/read-report.ts";
import { monthAsCsv, reportAsCsv } from "../../ops/csv/report-csv.ts";
import { usage } from "../../ops/input/fields.ts";
import { readReportAsk } from "../../ops/input/report-query.ts";
import { isUnexplained } from "../../report.ts";
import { EXIT_FAILED, withRecon } from "../run/run-command.ts";
import { stopSignal } from "../run/stop-signal.ts";
import { printCsv, printJson, printLine } from "../terminal/print.ts";
import { printMonth, printStatement } from "./print-statement.ts";

interface ReportOptions {
  readonly day?: string;
  readonly month?: string;
  readonly zone?: string;
  readonly verify?: boolean;
  readonly json?: boolean;
  readonly csv?: boolean;
}

export function addReportCommand(program: Command): void {
  program
    .command("report")
    .description(
      "the statement of a day or a month: both sides' sums, what explains their difference, and the rest",
    )
    .option("--day <YYYY-MM-DD>", "of which day")
    .option("--month <YYYY-MM>", "of which month: its closed days, their corrections, and what is open")
    .option("--zone <zone>", "the time zone of the day, such as Asia/Bangkok; without it closing.zone")
    .option("--verify", "checks that no stored statement was altered, and no correction")
    .option("--csv", "as CSV, a line for each product and currency")
    .option("--json", "one JSON document")
    .action(
      withRecon(["database"], async ({ context }, { csv, json, verify, ...typed }: ReportOptions) => {
        if (json && csv) throw usage("give either --json or --csv");
        if (verify) return await verifyStatements(context, { ...typed, csv }, json === true);
        const asked = readReportAsk({ ...typed }, context.config.closing.zone);
        if ("month" in asked) {
          const report = await readMonth(context, asked);
          if (todayOf(report).some(isUnexplained)) process.exitCode = EXIT_FAILED;
          if (json) printJson(report);
          else if (csv) printCsv(monthAsCsv(report));
          else {
            const facts = await readFacts(context, report);
            return printMonth(report, sayUnusual(report, facts));
          }
          return await refuseAltered(context, report);
        }
        const signal = abortedByTerminal();
        const report = await readStatement(context, asked, (day) => readReport(context, day, signal));
        if (report.rows.some(isUnexplained)) process.exitCode = EXIT_FAILED;
        if (json) printJson(report);
        else if (csv) printCsv(reportAsCsv(report));
        else {
          const [facts] = await readFacts(context, report);
          const bounds = facts === undefined ? null : sayBounds(facts);
          return printStatement(report, bounds, await readWhyEmpty(context, asked, report));
        }
        await refuseAltered(context, report);
      }),
    );
}

/** Prints first what was altered. JSON and CSV have no place for it, so standard error says it. */
async function readFacts(context: FlowContext, report: DayStatement | MonthReport): Promise<ClosedFacts[]> {
  const facts = await readClosedFacts(context, report);
  const altered = sayAltered(facts);
  if (altered === null) return facts;
  printLine(`ALTERED: ${altered}`);
  process.exitCode = EXIT_FAILED;
  return facts;
}

async function verifyStatements(
  context: FlowContext,
  typed: Readonly<Record<string, unknown>>,
  json: boolean,
): Promise<void> {
  if (Object.values(typed).some((value) => value !== undefined)) {
    throw usage("--verify checks all closed days; give it alone, or with --json");
  }
  const found = await verifyBooks(context);
  const { days, flaw } = found;
  if (json) printJson({ days, flaw });
  else if (flaw === null)
    printLine(`Closed days: ${days}. No stored statement was altered.${sayRest(found)}`);
  if (flaw === null) return;
  process.exitCode = EXIT_FAILED;
  if (!json) throw new ReconError("conflict", `the closed day ${flaw.day} ${flaw.what}`);
}

/** Ctrl-C also ends the report's query in the database. */
function abortedByTerminal(): AbortSignal {
  const left = new AbortController();
  void stopSignal().then(() => left.abort(new ReconError("report-left", "the report was stopped")));
  return left.signal;
}
