/** Two days beside each other as CSV: a line for each figure of each product and currency. */

import type { DaysCompared } from "../../closed.ts";
import { figuresOfRow } from "../../closing/compare-days.ts";
import { BYTE_ORDER_MARK, toCsv } from "./csv.ts";

const HEAD = [
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

/** A cell is empty if the day has no such row. */
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
  return BYTE_ORDER_MARK + toCsv([HEAD, ...lines]);
}
