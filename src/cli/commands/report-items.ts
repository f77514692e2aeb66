/** `recon report --items`: the lines that the rows of a statement are made of. `--against`: two days beside each other. */

import { once } from "node:events";
import { stdout } from "node:process";
import type { DaysCompared } from "../../closed.ts";
import { figuresOfRow, sayFigure } from "../../closing/compare-days.ts";
import { eachItems } from "../../flows/closing/read-items.ts";
import { readAgainst, readStatement } from "../../flows/closing/read-statement.ts";
import { REPORT_LIMITS } from "../../flows/compare/comparison-context.ts";
import type { FlowContext } from "../../flows/context.ts";
import { readReport } from "../../flows/reports/read-report.ts";
import { formatMoney, parseAmount } from "../../money.ts";
import { againstAsCsv, ITEMS_HEAD, itemsAsCsv } from "../../ops/csv/report-csv.ts";
import { type AskedDays, readItemsAsk } from "../../ops/input/report-query.ts";
import type { ReportItem } from "../../report-item.ts";
import { printCsv, printJson, printLine, printTable, showText } from "../terminal/print.ts";

/** The fields of the query. */
interface ItemsTyped {
  readonly day?: string;
  readonly month?: string;
  readonly zone?: string;
  readonly productId?: string;
  readonly currency?: string;
  readonly explainedBy?: string;
}

/** Prints in pieces, so that a day of any size needs little memory. */
export async function printItems(
  context: FlowContext,
  typed: ItemsTyped,
  form: "json" | "csv" | "text",
  signal: AbortSignal,
): Promise<void> {
  const { asked, filter } = await readItemsAsk(context, { ...typed });
  const print = { json: jsonPrinter, csv: csvPrinter, text: textPrinter }[form]();
  const take = async (items: readonly ReportItem[]) => {
    print.items(items);
    // A reader such as `head` may end the list early.
    if (stdout.writableNeedDrain) await once(stdout, "drain").catch(() => {});
  };
  await eachItems(context, asked, filter, take, { signal, limits: REPORT_LIMITS, rest: async () => {} });
  print.end();
}

interface Printer {
  items(items: readonly ReportItem[]): void;
  end(): void;
}

/** One document, a line for each item. */
function jsonPrinter(): Printer {
  let count = 0;
  return {
    items(items) {
      for (const item of items) {
        printLine(`${count === 0 ? '{"items": [' : ","}${showText(JSON.stringify(item))}`);
        count += 1;
      }
    },
    end: () => printLine(`${count === 0 ? '{"items": [' : ""}], "next": null}`),
  };
}

function csvPrinter(): Printer {
  printCsv(ITEMS_HEAD);
  return { items: (items) => void printCsv(itemsAsCsv(items)), end: () => {} };
}

function textPrinter(): Printer {
  let count = 0;
  return {
    items(items) {
      count += items.length;
      printTable(
        [
          "DAY",
          "PRODUCT",
          "PLAYER",
          "BET",
          "PROVIDER",
          "NET",
          "LEDGER",
          "MOVED",
          "DIFFERENCE",
          "BY",
          "MISMATCH",
        ],
        items.map((item) => {
          const money = (text: string | undefined) =>
            text === undefined ? "" : formatMoney(parseAmount(text, "amount"), item.currency);
          return [
            item.day,
            item.productId,
            item.username ?? "",
            item.transactionId ?? item.betId ?? item.roundId ?? "",
            item.provider === null ? "none" : (item.provider.status ?? ""),
            money(item.provider?.net),
            item.ledger === null ? "none" : (item.ledger.status ?? ""),
            money(item.ledger?.moved),
            money(item.difference),
            item.explainedBy ?? "nothing",
            item.mismatchId ?? "",
          ];
        }),
      );
    },
    end: () => printLine(count === 0 ? "No lines." : `${count} lines.`),
  };
}

export async function printAgainst(
  context: FlowContext,
  days: AskedDays,
  form: "json" | "csv" | "text",
  signal: AbortSignal,
): Promise<void> {
  const compared = await readAgainst(context, days, (asked) =>
    readStatement(context, asked, (day) => readReport(context, day, signal)),
  );
  if (form === "json") printJson(compared);
  else if (form === "csv") printCsv(againstAsCsv(compared));
  else printCompared(compared);
}

function printCompared({ day, zone, against, rows }: DaysCompared): void {
  const other = against.zone === zone ? "" : ` in ${against.zone}`;
  printLine(`The day ${day} in ${zone} against ${against.day}${other}`);
  if (rows.length === 0) printLine("Neither day has a row (recon report --day says why).");
  for (const row of rows) {
    const show = (value: string | number | null, of: object | null) =>
      typeof value === "string"
        ? formatMoney(parseAmount(value, "amount"), row.currency)
        : String(value ?? (of === null ? "no row" : "unknown"));
    printLine();
    printTable(
      [`${row.productId}, ${row.currency}`, day, against.day, "CHANGE"],
      figuresOfRow(row).map((figure) => [
        sayFigure(figure.name),
        show(figure.day, row.day),
        show(figure.against, row.against),
        show(figure.change, row),
      ]),
    );
    for (const [date, figures] of [
      [day, row.day],
      [against.day, row.against],
    ] as const)
      if (figures?.complete === false)
        printLine(`Not complete: part of ${date} has not been fetched (recon coverage shows which).`);
  }
}
