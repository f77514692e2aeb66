/** CSV that is safe to open in a spreadsheet. */

import { stringify } from "csv-stringify/sync";

const NEGATIVE_NUMBER = /^-\d+(?:\.\d+)?$/;

/**
 * Spreadsheets evaluate text that begins like a formula, so such text gets an apostrophe. A negative number is no
 * formula.
 */
export function toCsv(rows: readonly (readonly (string | null)[])[]): string {
  return stringify(rows as (string | null)[][], {
    escape_formulas: true,
    cast: {
      string: (text: string) => (NEGATIVE_NUMBER.test(text) ? { value: text, escape_formulas: false } : text),
    },
  });
}
