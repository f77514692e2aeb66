/** CSV that is safe to open in a spreadsheet. */

import { stringify } from "csv-stringify/sync";

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
