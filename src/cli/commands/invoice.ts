/** `recon invoice`: the provider's invoice of a month against the closed books. */

import process from "node:process";
import type { Command } from "commander";
import type { CheckedLine, InvoiceCheck, InvoiceFigure } from "../../closing/invoice.ts";
import { checkInvoiceOf } from "../../flows/closing/read-invoice.ts";
import { formatMoney, parseAmount } from "../../money.ts";
import { parseMonth } from "../../ops/input/report-query.ts";
import { openInput } from "../run/open.ts";
import { EXIT_FAILED, withRecon } from "../run/run-command.ts";
import { printJson, printLine, printTable, showText } from "../terminal/print.ts";
import { printCorrections } from "./report.ts";

const HELP = `
The file is CSV with a header (comma, semicolon or tab); rate and fee may be left out:
  product,currency,turnover,ggr,rate,fee
  P1,THB,125000.00,4310.25,12%,517.23
turnover is the provider's stake, ggr its stake − payout, and the fee must be rate × ggr.
Exit code 1: something is left that no correction explains, or a product of the month is not in the invoice.`;

export function addInvoiceCommands(program: Command): void {
  program
    .command("invoice")
    .description("check what the provider charges")
    .command("check")
    .argument("<file>", 'the invoice as CSV; "-" is standard input')
    .description(
      "the provider's invoice beside the closed month: each difference, and the corrections that explain it",
    )
    .requiredOption("--month <month>", "the month of closing.zone that is invoiced, such as 2026-11 or last")
    .option("--json", "one JSON document")
    .addHelpText("after", HELP)
    .action(async (file: string, { month, json }: { readonly month: string; readonly json?: boolean }) => {
      const asked = parseMonth(month);
      const { chunks } = await openInput(file);
      await withRecon(["database"], async ({ context }) => {
        const check = await checkInvoiceOf(context, chunks, asked);
        if (!check.agrees) process.exitCode = EXIT_FAILED;
        if (json) printJson(check);
        else printCheck(check);
      })();
    });
}

function printCheck({ month, zone, agrees, lines, missing, open, ignoredColumns }: InvoiceCheck): void {
  printLine(`The invoice of ${month} in ${zone}`);
  if (ignoredColumns.length > 0)
    printLine(`Columns that were not read: ${showText(ignoredColumns.join(", "))}`);
  printTable(
    ["LINE", "PRODUCT", "FIGURE", "INVOICE", "CLOSED", "DIFFERENCE", "CORRECTIONS", "LEFT"],
    lines.flatMap((line) => [
      figureRow(line, "turnover", line.turnover),
      figureRow(line, "ggr", line.ggr),
      ...feeRow(line),
    ]),
  );
  for (const { line, unknown, incomplete } of lines)
    for (const said of [unknown, incomplete]) if (said !== null) printLine(showText(`line ${line}: ${said}`));
  for (const { line, fee } of lines) {
    if (fee === null) continue;
    if (fee.rate === null)
      printLine(`line ${line}: the fee is not checked, because the invoice has no rate for it.`);
  }
  const corrections = lines.flatMap((line) => line.corrections);
  if (corrections.length > 0) {
    printLine();
    printLine("Corrections of these days since they were closed:");
    printCorrections(corrections);
    const more = lines.reduce((sum, line) => sum + line.moreCorrections, 0);
    if (more > 0) printLine(`and ${more} more (recon report --month ${month} has all)`);
  }
  for (const { productId, currency, turnover, ggr } of missing) {
    printLine(
      `NOT IN THE INVOICE: ${productId} with turnover ${money(turnover, currency)} and ggr ${money(ggr, currency)}`,
    );
  }
  if (open.length > 0) {
    printLine();
    printLine("Open days, which are in no closed figure:");
    for (const { day, reason } of open) printLine(`${day}  ${reason}`);
  }
  printLine();
  printLine(
    agrees
      ? "Nothing is left: the closed month and its corrections explain the whole invoice."
      : "NOT EXPLAINED: the invoice is not what the closed month and its corrections say.",
  );
}

function figureRow(
  { line, productId, currency }: CheckedLine,
  name: string,
  figure: InvoiceFigure,
): string[] {
  const { invoice, closed, difference, corrections, left } = figure;
  return [
    String(line),
    productId,
    name,
    ...[invoice, closed, difference, corrections, left].map((amount) => money(amount, currency)),
  ];
}

function feeRow({ line, productId, currency, fee }: CheckedLine): string[][] {
  if (fee === null) return [];
  const name = fee.rate === null ? "fee" : `fee, ${fee.rate} × ggr`;
  const cells = [fee.invoice, fee.expected, fee.left].map((amount) => money(amount, currency));
  const [invoice = "", expected = "", left = ""] = cells;
  return [[String(line), productId, name, invoice, expected, left, "", left]];
}

/** @param amount decimal text; null: unknown */
function money(amount: string | null, currency: string): string {
  return amount === null ? "unknown" : formatMoney(parseAmount(amount, "amount"), currency);
}
