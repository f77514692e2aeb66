/** `recon report`: the statement of a day or a month, and the check of the closed days. */

import process from "node:process";
import type { Command } from "commander";
import type { Correction, DayStatement, MonthReport, ReportTotal } from "../../closed.ts";
import { todayOf } from "../../closing/changed-bets.ts";
import { sayShare } from "../../closing/confirmed-days.ts";
import { ggrOf } from "../../closing/sum-rows.ts";
import { ReconError } from "../../errors.ts";
import { sayAcceptedGap } from "../../flows/closing/accept-gaps.ts";
import {
  type ClosedFacts,
  readClosedFacts,
  refuseAltered,
  sayAltered,
  sayBounds,
  sayUnusual,
} from "../../flows/closing/closed-facts.ts";
import {
  countAsPending,
  readWaiting,
  sayWaiting,
  type WaitingCorrections,
} from "../../flows/closing/find-corrections.ts";
import { readMonth, readStatement } from "../../flows/closing/read-statement.ts";
import { sayRest, verifyBooks } from "../../flows/closing/verify-books.ts";
import { readWhyEmpty } from "../../flows/closing/why-open.ts";
import type { FlowContext } from "../../flows/context.ts";
import { readReport } from "../../flows/reports/read-report.ts";
import { formatMoney, parseAmount } from "../../money.ts";
import { monthAsCsv, reportAsCsv } from "../../ops/csv/report-csv.ts";
import { usage } from "../../ops/input/fields.ts";
import { readAgainstAsk, readReportAsk } from "../../ops/input/report-query.ts";
import { isUnexplained, type ReportRow } from "../../report.ts";
import { TRANSFERS_UNKNOWN } from "../../transfer.ts";
import { EXIT_FAILED, withRecon } from "../run/run-command.ts";
import { stopSignal } from "../run/run-until-stopped.ts";
import { printCsv, printJson, printLine, printTable } from "../terminal/print.ts";
import { printAgainst, printItems } from "./report-items.ts";

interface AboutDay {
  /** of a closed day, in words that follow "from"; null: the day is open */
  readonly bounds: string | null;
  /** why the statement has no rows; null: it has rows */
  readonly whyEmpty: string | null;
  readonly waiting: WaitingCorrections;
}

function printStatement(
  { day, zone, rows, totals, closed, corrections, transfers, acceptedGaps = [] }: DayStatement,
  { bounds, whyEmpty, waiting }: AboutDay,
): void {
  printLine(`The day ${day} in ${zone}`);
  if (bounds !== null) printLine(`From ${bounds}`);
  if (closed !== null)
    printLine(`Closed at ${closed.closedAt} with number ${closed.number}, hash ${closed.hash}`);
  for (const gap of acceptedGaps) printLine(sayAcceptedGap(gap));
  if (whyEmpty !== null) printLine(whyEmpty);
  const changes = sayWaiting(waiting);
  if (changes !== null) printLine(changes);
  printRows(rows, ({ productId }) => (waiting.has(productId) ? null : UNEXPLAINED_DAY));
  printTotals(totals);
  printTransfers(transfers);
  if (corrections.length > 0) {
    printLine();
    printLine("Corrections of closed days that arrived on this day:");
    printCorrections(corrections);
  }
}

/** Says nothing if none was sent. */
function printTransfers(transfers: DayStatement["transfers"]): void {
  if (transfers === null) {
    printLine();
    printLine(`Transfers and top-ups sent on this day: ${TRANSFERS_UNKNOWN}`);
  }
  if (transfers === null || transfers.length === 0) return;
  printLine();
  printLine("Transfers and top-ups sent on this day, as they are now:");
  printTable(
    ["PRODUCT", "TYPE", "STATUS", "COUNT", "AMOUNT", "OPEN MISMATCHES"],
    transfers.map(({ productId, type, status, count, amount, currency, openMismatches, mismatchKinds }) => [
      productId,
      type,
      status,
      String(count),
      formatMoney(parseAmount(amount, "amount"), currency),
      [openMismatches, ...mismatchKinds].join(" "),
    ]),
  );
}

/** @param today today's data @param unusual sentences about its closed days */
function printMonth(report: MonthReport, today: readonly ReportRow[], unusual: readonly string[]): void {
  const { month, zone, days, rows, totals, corrections, open, confirmed } = report;
  printLine(`The month ${month} in ${zone}: ${days.length} closed, ${open.length} open`);
  for (const sentence of unusual) printLine(sentence);
  for (const { day, acceptedGaps = [] } of days)
    for (const gap of acceptedGaps) printLine(`${day}: ${sayAcceptedGap(gap)}`);
  // A correction may explain the rest of the sums, or leave a rest itself.
  printRows(rows, () => (corrections.length > 0 ? null : UNEXPLAINED_MONTH));
  printTotals(totals);
  if (corrections.length > 0) {
    printLine();
    printLine("Corrections of these days since they were closed:");
    printCorrections(corrections);
    printLine();
    printLine("Today's data, which is the sums and the corrections together:");
    printRows(today, () => UNEXPLAINED_MONTH);
  }
  printConfirmed(confirmed);
  if (open.length > 0) {
    printLine();
    printLine("Open days, which are not in the sums:");
    for (const { day, reason } of open) printLine(`${day}  ${reason}`);
  }
}

function printConfirmed(confirmed: MonthReport["confirmed"]): void {
  if (confirmed.length === 0) return;
  printLine();
  printLine("Share of the provider's stake that both sides confirmed within:");
  printTable(
    ["PRODUCT", "STAKE", "AN HOUR", "A DAY", "A WEEK"],
    confirmed.map(({ productId, currency, stake, withinHour, withinDay, withinWeek }) => [
      productId,
      formatMoney(parseAmount(stake, "stake"), currency),
      ...[withinHour, withinDay, withinWeek].map(sayShare),
    ]),
  );
}

export function printCorrections(corrections: readonly Correction[]): void {
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

/** @param unexplainedOf what is said of a row with unexplained money; null: nothing */
function printRows(rows: readonly ReportRow[], unexplainedOf: (row: ReportRow) => string | null): void {
  for (const row of rows) {
    printLine();
    printRow(row, unexplainedOf(row));
  }
}

/** What all products have together, and what the operator won. */
function printTotals(totals: readonly ReportTotal[]): void {
  for (const total of totals) {
    printLine();
    printSides(`all products, ${total.currency}${total.complete ? "" : " (not complete)"}`, total, false);
  }
}

/** With their heads. Most statements have neither. */
const OF_WHICH = [
  ["rewards", "OF PAYOUT, REWARDS"],
  ["tips", "TIPS"],
] as const;

function printSides(
  name: string,
  row: Pick<ReportRow, "currency" | "provider" | "ledger">,
  hasNet: boolean,
): void {
  const money = (text: string) => formatMoney(parseAmount(text, "amount"), row.currency);
  const ofWhich = OF_WHICH.filter(([field]) => row.ledger[field] !== "0");
  const lineOf = (side: "provider" | "ledger") => {
    const { bets, stake, payout, net, ...others } = row[side];
    const amounts = [stake, payout, ...(hasNet ? [net] : []), ggrOf(row[side])].map(money);
    const known = ofWhich
      .map(([field]) => others[field])
      .map((text) => (text === null ? "unknown" : money(text)));
    return [side, String(bets), ...amounts, ...known];
  };
  printTable(
    [name, "BETS", "STAKE", "PAYOUT", ...(hasNet ? ["NET"] : []), "GGR", ...ofWhich.map(([, head]) => head)],
    [lineOf("provider"), lineOf("ledger")],
  );
}

function printRow(row: ReportRow, unexplained: string | null): void {
  const money = (text: string) => formatMoney(parseAmount(text, "amount"), row.currency);
  printSides(row.productId, row, true);
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
    printLine("Not complete: part of this time was not fetched (recon coverage shows which).");
  } else if (unexplained !== null && isUnexplained(row)) {
    printLine(unexplained);
  }
}

interface ReportOptions {
  readonly day?: string;
  readonly month?: string;
  readonly against?: string;
  readonly zone?: string;
  readonly verify?: boolean;
  readonly json?: boolean;
  readonly csv?: boolean;
  readonly items?: boolean;
  readonly product?: string;
  readonly currency?: string;
  readonly explainedBy?: string;
}

export function addReportCommand(program: Command): void {
  program
    .command("report")
    .description(
      "the statement of a day or a month: both sides' sums, what explains their difference, and the rest",
    )
    .option("--day <day>", "of which day, such as 2026-11-20, today or yesterday")
    .option(
      "--month <month>",
      "of which month, such as 2026-11 or last: its closed days, their corrections, and what is open",
    )
    .option("--against <day>", "with --day: another day, each figure beside that of the first")
    .option("--zone <zone>", "the time zone of the day, such as Asia/Bangkok; without it closing.zone")
    .option("--items", "the lines that its rows are made of: each bet, round or session")
    .option("--product <product>", "with --items: only lines of this product")
    .option("--currency <code>", "with --items: only lines in this currency")
    .option(
      "--explained-by <what>",
      "with --items: only lines that agreed, mismatch, pending, rounding, correction, outside or nothing explains",
    )
    .option("--verify", "checks that no stored statement was altered, and no correction")
    .option("--csv", "as CSV, a line for each product and currency, or for each item")
    .option("--json", "one JSON document")
    .action(
      withRecon(["database"], async ({ context }, { csv, json, verify, ...typed }: ReportOptions) => {
        if (json && csv) throw usage("give either --json or --csv");
        const form = json ? "json" : csv ? "csv" : "text";
        const { items, product, currency, explainedBy, ...when } = typed;
        if (items && when.against !== undefined)
          throw usage("--against compares the sums of two days: give it without --items");
        if (items && !verify) {
          const lines = { ...when, ...withoutMissing({ productId: product, currency, explainedBy }) };
          return await printItems(context, lines, form, abortedByTerminal());
        }
        if (!verify && [product, currency, explainedBy].some((one) => one !== undefined))
          throw usage("--product, --currency and --explained-by choose lines: give them with --items");
        if (verify) return await verifyStatements(context, { ...typed, csv }, json === true);
        const { zone } = context.config.closing;
        const days = readAgainstAsk(when, zone);
        if (days !== null) return await printAgainst(context, days, form, abortedByTerminal());
        const asked = readReportAsk(when, zone);
        if ("month" in asked) {
          const report = await readMonth(context, asked);
          const waiting = await readWaiting(context, report);
          const today = countAsPending(todayOf(report), waiting);
          if (today.some(isUnexplained)) process.exitCode = EXIT_FAILED;
          if (json) printJson(report);
          else if (csv) printCsv(monthAsCsv(report));
          else {
            const facts = await readFacts(context, report);
            const changes = sayWaiting(waiting);
            const said = [...sayUnusual(report, facts), ...(changes === null ? [] : [changes])];
            return printMonth(report, today, said);
          }
          return await refuseAltered(context, report);
        }
        const signal = abortedByTerminal();
        const report = await readStatement(context, asked, (day) => readReport(context, day, signal));
        const waiting = await readWaiting(context, report);
        const isWrong = (row: ReportRow) => isUnexplained(row) && !waiting.has(row.productId);
        if (report.rows.some(isWrong)) process.exitCode = EXIT_FAILED;
        if (json) printJson(report);
        else if (csv) printCsv(reportAsCsv(report));
        else {
          const [facts] = await readFacts(context, report);
          const bounds = facts === undefined ? null : sayBounds(facts);
          const whyEmpty = await readWhyEmpty(context, asked, report);
          return printStatement(report, { bounds, whyEmpty, waiting });
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

function withoutMissing(options: Readonly<Record<string, string | undefined>>) {
  return Object.fromEntries(Object.entries(options).filter(([, text]) => text !== undefined));
}

/** Ctrl-C also ends the report's query in the database. */
function abortedByTerminal(): AbortSignal {
  const left = new AbortController();
  void stopSignal().then(() => left.abort(new ReconError("report-left", "the report was stopped")));
  return left.signal;
}
