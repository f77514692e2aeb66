/** One column of many rows as one parameter of a statement. */

export type ColumnArray = string | readonly (string | null)[];

/** An escape of JSON that PostgreSQL reads differently in an array literal: a backslash and a letter, as in \u0000. */
const ESCAPED_LETTER = /\\[a-z]/;

/**
 * Writes an array literal from JSON, with braces for its brackets. PostgreSQL reads JSON's escaped quotes and
 * backslashes. Texts with other escapes are left to the driver (decision 78).
 */
export function toColumnArray(values: readonly (string | null)[]): ColumnArray {
  const json = JSON.stringify(values);
  return ESCAPED_LETTER.test(json) ? values : `{${json.slice(1, -1)}}`;
}
