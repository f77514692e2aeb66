/**
 * Statements whose text is put together when they are sent: as many rows, and only the parts, that this time needs.
 */

/** A statement for a pipelined connection. */
export interface SqlStatement {
  readonly text: string;
  /** as PostgreSQL writes them in text; it finds their types by itself */
  readonly values: readonly (string | null)[];
}

type Value = string | boolean | null | readonly (string | null)[];

/** Gives a value its place in a statement. @returns the place as the text names it: "$1" */
export type Put = (value: Value) => string;

/** @param write returns the text; values from outside must go through `put` */
export function writeStatement(write: (put: Put) => string): SqlStatement {
  const values: (string | null)[] = [];
  const text = write((value) => `$${values.push(toText(value))}`);
  return { text, values };
}

/** Several values as SQL lists them: "$1, $2". */
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
