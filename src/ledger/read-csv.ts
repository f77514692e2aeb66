/** Reads the rows of a CSV file (RFC 4180) with a header from its lines. Pure. */

import { ReconError } from "../errors.ts";
import type { CutLine } from "./file-lines.ts";

export interface CsvRow {
  /** the first line of the row */
  readonly line: number;
  readonly text: string;
  /** by the names of the header; an empty field without quotes is null; null: the row cannot be read */
  readonly fields: Readonly<Record<string, string | null>> | null;
  /** why the row cannot be read; empty if it can be read */
  readonly fault: string;
}

/** The longest row with line breaks inside of quotes. With no limit, one unclosed quote would swallow all later rows. */
const MOST_LINES_OF_ROW = 20;

interface CsvHeader {
  readonly names: readonly string[];
  readonly separator: Separator;
}

type Separator = "," | ";" | "\t";

/** Excel writes a first line "sep=;". The header shows the separator too, so the line is skipped. */
export const SEPARATOR_HINT = /^"?sep=[,;\t]"?$/i;

/**
 * Reads the header. The separator is the character (comma, semicolon or tab) that it has most of, because column names
 * have none of them.
 * @throws ReconError `usage` if the header is not a CSV row
 */
export function readCsvHeader({ text }: CutLine): CsvHeader {
  const count = (separator: string) => text.split(separator).length;
  const separator = ([",", ";", "\t"] as const).reduce((most, one) =>
    count(one) > count(most) ? one : most,
  );
  const header = splitFields(text, separator);
  if (header === null)
    throw new ReconError("usage", "the first line is not a CSV header: it has an unmatched quote");
  // Oracle writes column names in upper case.
  return { names: header.map((name) => (name ?? "").trim().toLowerCase()), separator };
}

interface CsvReader {
  /** @returns the rows that end with this line */
  take(line: CutLine): CsvRow[];
  /** @returns the rows that the file does not complete */
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
  /** Rejects the first line, and reads the lines after it again: they may be rows. */
  const giveUp = (): CsvRow[] => {
    const [first, ...others] = begun;
    begun = [];
    if (first === undefined) return [];
    const fault = `a quote opened in line ${first.line} is never closed`;
    return [{ line: first.line, text: first.text, fields: null, fault }, ...others.flatMap(take)];
  };
  const end = (): CsvRow[] => {
    const rows: CsvRow[] = [];
    while (begun.length > 0) rows.push(...giveUp());
    return rows;
  };
  return { take, end };
}

/** Whether a quote is open. Quotes inside of quotes are doubled, so an odd number leaves one open. */
function isOpen(lines: readonly CutLine[]): boolean {
  let quotes = 0;
  for (const { text } of lines) quotes += text.split('"').length - 1;
  return quotes % 2 === 1;
}

function readRow(lines: readonly CutLine[], { names, separator }: CsvHeader): CsvRow {
  const line = lines[0]?.line ?? 0;
  const text = lines.map((one) => one.text).join("\n");
  const values = splitFields(text, separator);
  if (values === null) return { line, text, fields: null, fault: "a quote is inside an unquoted field" };
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

/** @returns null if a quote is inside an unquoted field */
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
