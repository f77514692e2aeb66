/** Reads the lines of an import, part by part: JSON lines, or CSV with a header row. */

import { setImmediate as nextTurn } from "node:timers/promises";
import { readRecordedCallback } from "../../callbacks/entries-of-callback.ts";
import { keepUnread, readBody } from "../../callbacks/raw-body.ts";
import { ReconError } from "../../errors.ts";
import { type CutLine, cutLines, toUtf8 } from "../../ledger/file-lines.ts";
import { NO_NAMES, type ReadLine } from "../../ledger/ledger-row.ts";
import { type CsvRow, openCsvReader, readCsvHeader, SEPARATOR_HINT } from "../../ledger/read-csv.ts";
import { checkCsvHeader, readCsvEntry, readJsonEntry } from "../../ledger/read-entry.ts";

export const IMPORT_FORMATS = ["entries", "callbacks"] as const;
export type ImportFormat = (typeof IMPORT_FORMATS)[number];
export type ImportShape = "json" | "csv";

/** The size of one transaction: a part ends at either limit. */
const MOST_LINES = 2_000;
const MOST_CHARACTERS = 8 * 1024 * 1024;

/**
 * @param shape null: detected from the first lines
 * @param unpacks whether to unpack gzip
 * @throws ReconError `usage` for a wrong CSV header, lines of the other format, or if the kind of file cannot be detected
 */
export async function* readImport(
  chunks: AsyncIterable<Uint8Array>,
  format: ImportFormat,
  shape: ImportShape | null,
  unpacks = false,
): AsyncGenerator<readonly ReadLine[]> {
  let reader: LineReader | null = null;
  let part: ReadLine[] = [];
  let characters = 0;
  const isFull = () => part.length >= MOST_LINES || characters >= MOST_CHARACTERS;
  for await (const lines of cutLines(toUtf8(chunks, unpacks))) {
    if (lines.length === 0) continue;
    const isHint: boolean = reader === null && shape !== "json" && SEPARATOR_HINT.test(lines[0]?.text ?? "");
    const written = isHint ? lines.slice(1) : lines;
    if (written.length === 0) continue;
    if (reader === null) checkFormat(written, format);
    reader ??= openReader(format, shape ?? findShape(written, format));
    for (const cut of written) {
      for (const read of reader.take(cut)) part.push(read);
      characters += cut.text.length;
      if (!isFull()) continue;
      yield part;
      [part, characters] = [[], 0];
    }
    await nextTurn();
  }
  part.push(...(reader?.end() ?? []));
  if (part.length > 0) yield part;
}

const MOST_LOOKED_AT = 100;

const HAS_ENTRY_ID = /"entry_id"\s*:/;
const HAS_REQUEST = /"request"\s*:/;

/** Refuses lines of the other format. Otherwise one wrong option would keep every line of a file as rejected. */
function checkFormat(lines: readonly CutLine[], format: ImportFormat): void {
  const [right, wrong, other] =
    format === "entries" ? [HAS_ENTRY_ID, HAS_REQUEST, "callbacks"] : [HAS_REQUEST, HAS_ENTRY_ID, "entries"];
  const first = lines.slice(0, MOST_LOOKED_AT);
  const isOther = first.some(({ text }) => wrong.test(text)) && !first.some(({ text }) => right.test(text));
  if (isOther) throw new ReconError("usage", `these lines are ${other}, not ${format}. Nothing was imported`);
}

/** The first two lines of files without one object on each line, and what the operator should do. */
const OTHER_LINES: readonly (readonly [RegExp, string])[] = [
  [/\r/, "the lines end with a carriage return only: save the file with line feeds"],
  [
    /^\s*\[/,
    "the file is a single JSON array, but must have one object on each line (mongoexport without --jsonArray; jq -c '.[]' FILE)",
  ],
  [
    /^\s*\{\s*\n\s*"[^"]*"\s*:/,
    "each JSON object spans several lines, but must be on one line (jq -c . FILE)",
  ],
  [
    /^\s*\{.*\}\s*,[^\S\n]*(?:\n|$)/,
    "the lines end with commas, as in a JSON array, but each line must be one object: remove the commas",
  ],
];

/** Detects the shape from the first lines: JSON begins with a brace, and a CSV header names entry_id. */
function findShape(lines: readonly CutLine[], format: ImportFormat): ImportShape {
  const first = lines[0]?.text ?? "";
  const two = lines.slice(0, 2).map(({ text }) => text);
  const other = OTHER_LINES.find(([pattern]) => pattern.test(two.join("\n")));
  if (other !== undefined) throw new ReconError("usage", other[1]);
  if (format === "callbacks") return "json";
  if (/(?:^|[,;\t])[\s"]*entry_id[\s"]*(?:[,;\t]|$)/i.test(first)) return "csv";
  if (lines.slice(0, MOST_LOOKED_AT).some(({ text }) => /^\s*\{/.test(text))) return "json";
  if (/\bentry_id\b/i.test(first)) {
    throw new ReconError(
      "usage",
      "the first line names the column entry_id, but its fields are not separated by commas, semicolons or tabs",
    );
  }
  throw new ReconError(
    "usage",
    "the file is neither JSON lines (one object on each line) nor CSV (the first line names the columns, including entry_id)",
  );
}

interface LineReader {
  take(line: CutLine): ReadLine[];
  /** @returns the rows that only the end of the file completes */
  end(): ReadLine[];
}

function openReader(format: ImportFormat, shape: ImportShape): LineReader {
  if (shape === "csv") return openCsv();
  const read = format === "entries" ? readEntryLine : readCallbackLine;
  return {
    take: (cut) => [cut.fault === null ? read(cut) : rejectLine(cut.line, cut.text, cut.fault)],
    end: () => [],
  };
}

function readCallbackLine({ line, text }: CutLine): ReadLine {
  return { line, ...readRecordedCallback(text) };
}

function readEntryLine({ line, text }: CutLine): ReadLine {
  const read = readJsonEntry(text);
  // The ledger has no column for a session token, so only a rejected line can contain one.
  return { line, raw: read.kind === "rejected" ? readBody(Buffer.from(text)).kept : text, ...read };
}

function openCsv(): LineReader {
  let csv: ReturnType<typeof openCsvReader> | null = null;
  const readRow = ({ line, text, fields, fault }: CsvRow): ReadLine =>
    fields === null
      ? rejectLine(line, text, fault)
      : { line, raw: JSON.stringify(fields), ...readCsvEntry(fields) };
  return {
    take: (cut) => {
      if (csv !== null) return csv.take(cut).map(readRow);
      const header = readCsvHeader(cut);
      checkCsvHeader(header.names);
      csv = openCsvReader(header);
      return [];
    },
    end: () => csv?.end().map(readRow) ?? [],
  };
}

function rejectLine(line: number, text: string, reason: string): ReadLine {
  return { line, raw: keepUnread(text, Buffer.byteLength(text)), kind: "rejected", reason, names: NO_NAMES };
}
