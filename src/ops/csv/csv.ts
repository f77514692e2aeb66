/** CSV that is safe to open in a spreadsheet. */

import { stringify } from "csv-stringify/sync";
import type { FlowContext } from "../../flows/context.ts";
import { listMismatches, type MismatchFilter } from "../../flows/read/list-mismatches.ts";
import type { Mismatch } from "../../mismatch.ts";

const FIELDS = [
  "id",
  "kind",
  "status",
  "productId",
  "username",
  "currency",
  "betId",
  "transactionId",
  "roundId",
  "transactionRef",
  "amountAtRisk",
  "effect",
  "reason",
  "occurredAt",
  "firstSeenAt",
  "lastSeenAt",
  "resolvedAt",
  "resolvedBy",
  "note",
  "countsOn",
  "owner",
  "ticket",
  "withProvider",
  "remindAt",
] as const satisfies readonly (keyof Mismatch)[];

/** The fields of bets and rounds, and of transfers and top-ups. */
const PROVIDER_FIELDS = [
  "id",
  "betId",
  "status",
  "stake",
  "payout",
  "amount",
  "currency",
  "username",
  "productId",
  "updatedDate",
  "accountingDate",
  "at",
];
const LEDGER_FIELDS = [
  "txnId",
  "status",
  "stake",
  "payout",
  "moved",
  "amount",
  "currency",
  "username",
  "productId",
  "firstEntryAt",
  "lastEntryAt",
  "at",
];

const HEAD = [
  ...FIELDS,
  ...PROVIDER_FIELDS.map((field) => `provider.${field}`),
  ...LEDGER_FIELDS.map((field) => `ledger.${field}`),
];

const PAGE = 1000;

/**
 * The list in pieces of text, the first with the names of the columns.
 * @param isWhole true: every page from the filter's page on; false: only that page
 */
export async function* listAsCsv(
  context: FlowContext,
  filter: MismatchFilter,
  isWhole: boolean,
): AsyncGenerator<string> {
  yield toCsv([HEAD]);
  let page = isWhole ? { ...filter, limit: PAGE } : filter;
  for (;;) {
    const { mismatches, next } = await listMismatches(context, page);
    if (mismatches.length > 0) yield toCsv(mismatches.map(toCells));
    if (next === null || !isWhole) return;
    page = { ...page, after: next };
  }
}

function toCells(mismatch: Mismatch): (string | null)[] {
  return [
    ...FIELDS.map((field) => mismatch[field]),
    ...PROVIDER_FIELDS.map((field) => cellOf(mismatch.provider, field)),
    ...LEDGER_FIELDS.map((field) => cellOf(mismatch.ledger, field)),
  ];
}

function cellOf(side: object | null, field: string): string | null {
  return (side as Readonly<Record<string, string | null>> | null)?.[field] ?? null;
}

/** Begins a file that Excel shall read as UTF-8. */
export const BYTE_ORDER_MARK = "\uFEFF";

/** Characters at which some spreadsheet, by its locale, begins another cell or line: LibreOffice splits at semicolons and tabs too. */
const SEPARATORS = String.raw`,;|\t\n\v\f\r\u0085\u2028\u2029`;
/** What a reader may drop before it looks for a formula: blanks, quotes, invisible characters. */
const DROPPED = String.raw`[^\S${SEPARATORS}]|["\p{Cf}]|(?![${SEPARATORS}])\p{Cc}`;
/** Also in the widths that Numbers reads as the same. */
const TRIGGERS = String.raw`=+\-@\uFF1D\uFF0B\uFF0D\uFF20\uFE66\uFE62\uFE63\uFE6B`;
/** A negative number is no formula, such as in "10.00;-5.00". */
const NUMBER = String.raw`-\d+(?:\.\d+)?(?=$|[${SEPARATORS}])`;

const FORMULA = new RegExp(`((?:^|[${SEPARATORS}])(?:${DROPPED})*)(?!${NUMBER})(?=[${TRIGGERS}])`, "gu");

/**
 * Spreadsheets evaluate text that begins like a formula, so such text gets an apostrophe: `=2+2` is written as `'=2+2`,
 * `1;=2+2` as `1;'=2+2`. Text with a semicolon or a tab is quoted, so that it stays in its column.
 */
export function toCsv(rows: readonly (readonly (string | null)[])[]): string {
  return stringify(rows as (string | null)[][], {
    quoted_match: /[;\t]/,
    cast: { string: (text: string) => text.replace(FORMULA, "$1'") },
  });
}
