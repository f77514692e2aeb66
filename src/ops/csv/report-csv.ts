/** Statements as CSV: a line for each product and currency; their lines, where the sum of a column is the row's figure (docs/mismatches.md#lines-of-a-statement); two days beside each other. */

import type { DaysCompared, MonthReport } from "../../closed.ts";
import { rowOf } from "../../closing/changed-bets.ts";
import { figuresOfRow } from "../../closing/compare-days.ts";
import { ggrOf } from "../../closing/sum-rows.ts";
import type { ItemPage } from "../../flows/closing/read-items.ts";
import { type DayReport, type ReportSide, ROW_FIGURES } from "../../report.ts";
import type { ReportItem } from "../../report-item.ts";
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

const NAMES = ["day", "productId", "currency", "username", "betId", "transactionId", "roundId"] as const;
const PROVIDER = ["status", "bets", "stake", "payout", "net"] as const;
const LEDGER = [...PROVIDER, "moved"] as const;

/** The names of the columns, behind a byte order mark. */
export const ITEMS_HEAD = `${BYTE_ORDER_MARK}${toCsv([
  [
    ...NAMES,
    ...PROVIDER.map((field) => `provider.${field}`),
    ...LEDGER.map((field) => `ledger.${field}`),
    "difference",
    "explainedBy",
    "mismatchId",
    ...OF_WHICH.map((field) => `ledger.${field}`),
  ],
])}`;

/** Lines without a head. A side that is not there is empty, and so is what nothing explains or is unknown. */
export function itemsAsCsv(items: readonly ReportItem[]): string {
  if (items.length === 0) return "";
  return toCsv(
    items.map((item) => [
      ...NAMES.map((name) => item[name]),
      ...PROVIDER.map((field) => textOf(item.provider?.[field])),
      ...LEDGER.map((field) => textOf(item.ledger?.[field])),
      item.difference,
      item.explainedBy,
      item.mismatchId,
      ...OF_WHICH.map((field) => textOf(item.ledger?.[field])),
    ]),
  );
}

function textOf(value: string | number | null | undefined): string | null {
  return value === null || value === undefined ? null : String(value);
}

/** A file in pieces: the first page, and those that follow it. */
export async function* pagesAsCsv(
  first: ItemPage,
  readNext: (after: string) => Promise<ItemPage>,
): AsyncGenerator<string> {
  yield ITEMS_HEAD;
  for (let page = first; ; page = await readNext(page.next)) {
    yield itemsAsCsv(page.items);
    if (page.next === null) return;
  }
}

const AGAINST_HEAD = [
  "day",
  "against",
  "zone",
  "againstZone",
  "productId",
  "currency",
  "figure",
  "onDay",
  "onAgainst",
  "change",
  "dayComplete",
  "againstComplete",
];

/** A line for each figure of each product and currency. A cell is empty if the day has no such row. */
export function againstAsCsv({ day, against, zone, rows }: DaysCompared): string {
  const text = (value: string | number | boolean | null | undefined) => String(value ?? "");
  const lines = rows.flatMap((row) =>
    figuresOfRow(row).map((figure) => [
      day,
      against.day,
      zone,
      against.zone,
      row.productId,
      row.currency,
      figure.name,
      ...[figure.day, figure.against, figure.change, row.day?.complete, row.against?.complete].map(text),
    ]),
  );
  return BYTE_ORDER_MARK + toCsv([AGAINST_HEAD, ...lines]);
}
