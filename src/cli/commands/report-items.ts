/** `recon report --items`: the lines that the rows of a statement are made of. */

import { once } from "node:events";
import { stdout } from "node:process";
import { eachItems } from "../../flows/closing/read-items.ts";
import { REPORT_LIMITS } from "../../flows/compare/comparison-context.ts";
import type { FlowContext } from "../../flows/context.ts";
import { formatMoney, parseAmount } from "../../money.ts";
import { ITEMS_HEAD, itemsAsCsv } from "../../ops/csv/items-csv.ts";
import { readItemsAsk } from "../../ops/input/items-query.ts";
import type { ReportItem } from "../../report-item.ts";
import { printCsv, printLine, printTable, showText } from "../terminal/print.ts";

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
