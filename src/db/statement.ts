/** Builds the text of statements whose parts and number of rows vary. */

/** A statement for a pipelined connection. */
export interface SqlStatement {
  readonly text: string;
  /** in PostgreSQL's text format; the server infers their types */
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

/** The columns of rows that a statement gets as parameters. */
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
 * How a statement gets rows. `listed`: value by value, which PostgreSQL executes fastest if there are few, but each number of rows needs its own prepared
 * statement. `arrays`: an array for each column, so one prepared statement serves any number of rows.
 */
export type RowForm = "listed" | "arrays";

/** The better form for these rows, such as the requests of a batch. */
export function formOf(rows: readonly unknown[]): RowForm {
  return rows.length === 1 ? "listed" : "arrays";
}

/** Rows as an item of `from`. An array within a row becomes text, which needs a cast. @param name the alias of the item */
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

/** The right side of a comparison with any of several texts: "in ($1, $2)". */
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
 * Writes one column of many rows as an array literal: JSON with braces instead of brackets, which native code writes. PostgreSQL reads JSON's
 * escaped quotes and backslashes; texts with other escapes are left to the driver. Reading arrays costs the server half as much as reading
 * a JSON document. Considered: COPY, which knows no conflicts; a JSON reader of our own, three times as fast, for 8 % more.
 */
export function toColumnArray(values: readonly (string | null)[]): ColumnArray {
  const json = JSON.stringify(values);
  return ESCAPED_LETTER.test(json) ? values : `{${json.slice(1, -1)}}`;
}

/** The longest request id that is read whole. Any program may have written longer ones. */
const LONGEST_BYTES = 600;

/** SQL of a request id. A longer id is cut, and its digest keeps it distinct. @param column such as "e.request_id" */
export function requestIdSql(column: string): string {
  return `case when octet_length(${column}) <= ${LONGEST_BYTES} then ${column}
    else left(${column}, 100) || '... md5 ' || md5(${column}) end`;
}
