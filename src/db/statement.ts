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

function toText(value: Value): string | null {
  if (typeof value === "string" || value === null) return value;
  return typeof value === "boolean" ? String(value) : `{${value.map(toElement).join(",")}}`;
}

function toElement(value: string | null): string {
  return value === null ? "NULL" : `"${value.replaceAll(/["\\]/g, "\\$&")}"`;
}
