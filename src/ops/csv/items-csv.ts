/** The lines of a statement as CSV. The sum of a column is the row's figure; see docs/mismatches.md#lines-of-a-statement. */

import type { ItemPage } from "../../flows/closing/read-items.ts";
import type { ReportItem } from "../../report-item.ts";
import { BYTE_ORDER_MARK, toCsv } from "./csv.ts";

const NAMES = ["day", "productId", "currency", "username", "betId", "transactionId", "roundId"] as const;
const PROVIDER = ["status", "bets", "stake", "payout", "net"] as const;
const LEDGER = [...PROVIDER, "moved"] as const;
const OF_WHICH = ["rewards", "tips"] as const;

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
