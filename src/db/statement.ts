/** Builds the text of statements whose parts and number of rows vary. */

/** A statement for a pipelined connection. */
export interface SqlStatement {
  readonly text: string;
  /** in PostgreSQL's text format; the server derives their types */
  readonly values: readonly (string | null)[];
}

type Value = string | boolean | null | readonly (string | null)[];

/** Adds a value to a statement. @returns its parameter: "$1" */
export type Put = (value: Value) => string;

/** @param write returns the text; every value from outside must go through `put` */
export function writeStatement(write: (put: Put) => string): SqlStatement {
  const values: (string | null)[] = [];
  const text = write((value) => `$${values.push(toText(value))}`);
  return { text, values };
}

/** Several values as a list of parameters: "$1, $2". */
export function putAll(put: Put, values: readonly Value[]): string {
  return values.map(put).join(", ");
}

/** The columns of given rows. */
export interface Columns {
  /** "id, body" */
  readonly names: string;
  /** the type of PostgreSQL of each column */
  readonly types: readonly string[];
}
export type Row = readonly Value[];

/** @param columns each with its name and the type of PostgreSQL, in order */
export function columnsOf(columns: Readonly<Record<string, string>>): Columns {
  return { names: Object.keys(columns).join(", "), types: Object.values(columns) };
}

/**
 * How a statement is given rows. `listed`: value by value, which PostgreSQL executes fastest, but each number of rows
 * is a statement of its own. `arrays`: an array for each column, so that one statement fits any number of rows.
 */
export type RowForm = "listed" | "arrays";

/** The form for the requests of a batch, or other rows. */
export function formOf(rows: readonly unknown[]): RowForm {
  return rows.length === 1 ? "listed" : "arrays";
}

/** Rows as an item of `from`, under a name of its own. An array in a row becomes its text, which needs a cast. */
export function putRows(
  put: Put,
  form: RowForm,
  name: string,
  { names, types }: Columns,
  rows: readonly Row[],
): string {
  const putOne = (row: Row) => types.map((type, index) => `${put(row[index] ?? null)}::${type}`).join(", ");
  const putColumn = (type: string, index: number) =>
    `${put(rows.map((row) => toText(row[index] ?? null)))}::${type}[]`;
  return form === "listed"
    ? `(values (${rows.map(putOne).join("), (")})) as ${name} (${names})`
    : `unnest(${types.map(putColumn).join(", ")}) as ${name} (${names})`;
}

/** Texts as the right side of a comparison with one of them. */
export function putAnyOf(put: Put, form: RowForm, texts: readonly string[]): string {
  return form === "listed" ? `in (${putAll(put, texts)})` : `= any(${put(texts)}::text[])`;
}

function toText(value: Value): string | null {
  if (typeof value === "string" || value === null) return value;
  if (typeof value === "boolean") return String(value);
  const written = toColumnArray(value);
  return typeof written === "string" ? written : `{${value.map(toElement).join(",")}}`;
}

function toElement(value: string | null): string {
  return value === null ? "NULL" : `"${value.replaceAll(/["\\]/g, "\\$&")}"`;
}

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

const LONGEST_BYTES = 600;

/** SQL of a request id. A long id is cut, and its digest keeps it distinct. @param column "e.request_id" */
export function requestIdSql(column: string): string {
  return `case when octet_length(${column}) <= ${LONGEST_BYTES} then ${column}
    else left(${column}, 100) || '... md5 ' || md5(${column}) end`;
}
