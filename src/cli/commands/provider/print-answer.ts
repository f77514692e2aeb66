/** Prints an answer of the agent API, as text or JSON: every digit and every field as the provider sent it. */

import { isLosslessNumber, parse, stringify } from "lossless-json";
import { printDocument, printLine, printTable, showText } from "../../terminal/print.ts";

type Fields = Readonly<Record<string, unknown>>;

/** Prints the answer, unless the text is not JSON. @returns whether the answer was printed */
export function printAnswer(text: string, { json }: { readonly json?: boolean }): boolean {
  let answer: unknown;
  try {
    answer = parse(text);
  } catch {
    return false;
  }
  if (json || !isFields(answer)) printLossless(answer);
  else printForPeople(answer);
  return true;
}

function printLossless(value: unknown): void {
  printDocument(stringify(value, null, 2) ?? "null");
}

function printForPeople({ data, ...envelope }: Fields): void {
  printFields(envelope);
  if (data === null || data === undefined) return;
  printLine();
  const lists = isFields(data) ? Object.entries(data).filter(([, value]) => isTable(value)) : [];
  if (isTable(data)) printRows(data);
  else if (!isFields(data)) printLossless(data);
  else printFields(Object.fromEntries(Object.entries(data).filter(([, value]) => !isTable(value))));
  for (const [name, rows] of lists) {
    printLine(`${showText(name)}:`);
    printRows(rows as Fields[]);
  }
}

function printFields(fields: Fields): void {
  const rows = Object.entries(fields).map(([name, value]) => [name, show(value)]);
  const [first, ...rest] = rows;
  if (first !== undefined) printTable(first, rest);
}

function printRows(rows: readonly Fields[]): void {
  const names = [...new Set(rows.flatMap((row) => Object.keys(row)))];
  if (names.length === 0) printLine("none");
  else
    printTable(
      names,
      rows.map((row) => names.map((name) => show(row[name]))),
    );
}

function show(value: unknown): string {
  if (value === undefined || value === null) return "-";
  return typeof value === "string" ? value : (stringify(value) ?? "-");
}

function isTable(value: unknown): value is Fields[] {
  return Array.isArray(value) && value.every(isFields);
}

function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value) && !isLosslessNumber(value);
}
