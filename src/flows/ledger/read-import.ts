/** Reads what an import brings, part by part: JSON lines, or CSV with a header row. */

import { setImmediate as nextTurn } from "node:timers/promises";
import { readRecordedCallback } from "../../callbacks/entries-of-callback.ts";
import { keepUnread, readBody } from "../../callbacks/raw-body.ts";
import { ReconError } from "../../errors.ts";
import { type CutLine, cutLines } from "../../ledger/cut-lines.ts";
import { toUtf8 } from "../../ledger/file-bytes.ts";
import { NO_NAMES, type ReadLine } from "../../ledger/ledger-row.ts";
import { type CsvRow, openCsvReader, readCsvHeader } from "../../ledger/read-csv.ts";
import { checkCsvHeader, readCsvEntry, readJsonEntry } from "../../ledger/read-entry.ts";

export const IMPORT_FORMATS = ["entries", "callbacks"] as const;
export type ImportFormat = (typeof IMPORT_FORMATS)[number];
export type ImportShape = "json" | "csv";

/** One transaction takes so many lines at the most, or so many characters. */
const MOST_LINES = 2_000;
const MOST_CHARACTERS = 8 * 1024 * 1024;

/**
 * @param shape null: found out by the first lines
 * @param unpacks whether a gzip file is unpacked
 * @throws ReconError `usage` for a wrong header of CSV, lines of the other format, or where nobody can say what the
 * bytes are
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
    // Excel writes and reads such a line. The header says the same.
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
const SEPARATOR_HINT = /^"?sep=[,;\t]"?$/i;

const HAS_ENTRY_ID = /"entry_id"\s*:/;
const HAS_REQUEST = /"request"\s*:/;

/** One wrong word would keep every line of a file as rejected. */
function checkFormat(lines: readonly CutLine[], format: ImportFormat): void {
  const [right, wrong, other] =
    format === "entries" ? [HAS_ENTRY_ID, HAS_REQUEST, "callbacks"] : [HAS_REQUEST, HAS_ENTRY_ID, "entries"];
  const first = lines.slice(0, MOST_LOOKED_AT);
  const isOther = first.some(({ text }) => wrong.test(text)) && !first.some(({ text }) => right.test(text));
  if (isOther) throw new ReconError("usage", `these lines are ${other}, not ${format}. Nothing was taken`);
}

/** The first two lines of files whose lines are no objects, and what to do. */
const OTHER_LINES: readonly (readonly [RegExp, string])[] = [
  [/\r/, "the lines of the file end with a carriage return alone: save it with line feeds"],
  [
    /^\s*\[/,
    "the file is one JSON array, but must have one object on each line (mongoexport without --jsonArray; jq -c '.[]' FILE)",
  ],
  [/^\s*\{\s*\n\s*"[^"]*"\s*:/, "each JSON object has several lines, but must stand on one (jq -c . FILE)"],
  [
    /^\s*\{.*\}\s*,[^\S\n]*(?:\n|$)/,
    "the lines end with commas, as in a JSON array, but each must be one object: remove them",
  ],
];

/** By the first lines: JSON begins with a brace, and the header of a CSV file names entry_id. */
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
    "these are neither JSON lines, of which each is an object, nor CSV, whose first line names the columns, entry_id among them",
  );
}

interface LineReader {
  take(line: CutLine): ReadLine[];
  /** @returns what only the end completes */
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
  // A token stands in no column, and thus only in a line that is rejected.
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
