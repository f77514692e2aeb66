/** Rows of a CSV file (RFC 4180) with a header, from its lines. Pure. */

import { ReconError } from "../errors.ts";
import type { CutLine } from "./cut-lines.ts";

export interface CsvRow {
  /** where it begins */
  readonly line: number;
  readonly text: string;
  /** by the names of the header, null where nothing stands, not even quotes; null: it cannot be read */
  readonly fields: Readonly<Record<string, string | null>> | null;
  /** why it cannot be read; empty where it can */
  readonly fault: string;
}

/** A text with line breaks in it; a quote that nobody closes must not swallow the rows behind it. */
const MOST_LINES_OF_ROW = 20;

export interface CsvHeader {
  readonly names: readonly string[];
  readonly separator: Separator;
}

type Separator = "," | ";" | "\t";

/**
 * Reads the header. Its separator is the one that it has the most of: column names have none of them.
 * @throws ReconError `usage` if the header is no row of CSV
 */
export function readCsvHeader({ text }: CutLine): CsvHeader {
  const count = (separator: string) => text.split(separator).length;
  const separator = ([",", ";", "\t"] as const).reduce((most, one) =>
    count(one) > count(most) ? one : most,
  );
  const header = splitFields(text, separator);
  if (header === null)
    throw new ReconError("usage", "the first line is no header of CSV: a quote stands alone");
  // Oracle writes the names of columns in capital letters.
  return { names: header.map((name) => (name ?? "").trim().toLowerCase()), separator };
}

export interface CsvReader {
  /** @returns the rows that end with this line */
  take(line: CutLine): CsvRow[];
  /** @returns the rows that no line ends */
  end(): CsvRow[];
}

export function openCsvReader(header: CsvHeader): CsvReader {
  let begun: CutLine[] = [];

  const take = (line: CutLine): CsvRow[] => {
    if (line.fault !== null) return [...giveUp(), { ...line, fields: null, fault: line.fault }];
    begun.push(line);
    if (!isOpen(begun)) {
      const row = readRow(begun, header);
      begun = [];
      return [row];
    }
    return begun.length < MOST_LINES_OF_ROW ? [] : giveUp();
  };
  /** The first line is no row by itself; those behind it may be. */
  const giveUp = (): CsvRow[] => {
    const [first, ...others] = begun;
    begun = [];
    if (first === undefined) return [];
    const fault = `a quote that line ${first.line} opens is not closed`;
    return [{ line: first.line, text: first.text, fields: null, fault }, ...others.flatMap(take)];
  };
  const end = (): CsvRow[] => {
    const rows: CsvRow[] = [];
    while (begun.length > 0) rows.push(...giveUp());
    return rows;
  };
  return { take, end };
}

/** Quotes inside of quotes are doubled: an odd number leaves one open. */
function isOpen(lines: readonly CutLine[]): boolean {
  let quotes = 0;
  for (const { text } of lines) quotes += text.split('"').length - 1;
  return quotes % 2 === 1;
}

function readRow(lines: readonly CutLine[], { names, separator }: CsvHeader): CsvRow {
  const line = lines[0]?.line ?? 0;
  const text = lines.map((one) => one.text).join("\n");
  const values = splitFields(text, separator);
  if (values === null) return { line, text, fields: null, fault: "a quote stands inside of a field" };
  if (values.length !== names.length) {
    const fault = `the row has ${values.length} fields, but the header has ${names.length}`;
    return { line, text, fields: null, fault };
  }
  return {
    line,
    text,
    fields: Object.fromEntries(names.map((name, index) => [name, values[index] ?? null])),
    fault: "",
  };
}

const fieldOf = (separator: Separator) =>
  new RegExp(`(?:"([^"]*(?:""[^"]*)*)"|([^"${separator}]*))(${separator}|$)`, "y");
const FIELDS = { ",": fieldOf(","), ";": fieldOf(";"), "\t": fieldOf("\t") };

/** @returns null if a quote stands inside of a field */
function splitFields(text: string, separator: Separator): (string | null)[] | null {
  if (!text.includes('"')) return text.split(separator).map((value) => value || null);
  const values: (string | null)[] = [];
  const field = FIELDS[separator];
  field.lastIndex = 0;
  for (;;) {
    const found = field.exec(text);
    if (found === null) return null;
    const [, quoted, plain = "", end] = found;
    values.push(quoted === undefined ? plain || null : quoted.replaceAll('""', '"'));
    if (end === "") return values;
  }
}
