/**
 * Turns the bytes of an imported file into numbered lines of UTF-8: unpacks gzip, decodes UTF-16 with a byte order mark,
 * and cuts lines. The memory it needs is bounded, even for a very long line.
 */

import { pipeline } from "node:stream";
import { createGunzip } from "node:zlib";
import { describeError, ReconError } from "../errors.ts";

type Chunks = AsyncIterable<Uint8Array>;

/** The first bytes of files that are not text, as Latin-1, and what the operator should do. */
const OTHER_FILES: readonly (readonly [string, string])[] = [
  ["PK\x03\x04", "a ZIP archive or an Excel workbook: unpack it, or export it as CSV in UTF-8"],
  ["\xd0\xcf\x11\xe0", "an Excel workbook: export it as CSV in UTF-8"],
  ["\x28\xb5\x2f\xfd", "compressed by zstd: unpack it first"],
  ["\xfd7zXZ", "compressed by xz: unpack it first"],
  ["BZh", "compressed by bzip2: unpack it first"],
  ["PGDMP", "a dump of pg_dump: restore it, and export the table"],
  ["PAR1", "a Parquet file: export it as CSV or as JSON lines"],
];
const GZIP = "\x1f\x8b";
const UTF16 = new Map([
  ["\xff\xfe", "utf-16le"],
  ["\xfe\xff", "utf-16be"],
]);
const FIRST_BYTES = 8;

/**
 * Unpacks gzip and decodes UTF-16 with a byte order mark; other bytes stay as they are.
 * @param unpacks false: gzip is refused, because nothing limits the unpacked size
 * @throws ReconError `usage` that names the kind of file if it is not text
 */
export async function* toUtf8(chunks: Chunks, unpacks: boolean): Chunks {
  const { first, all } = await peek(chunks);
  const other = OTHER_FILES.find(([bytes]) => first.startsWith(bytes));
  if (other !== undefined) throw refuse(other[1]);
  if (first.startsWith(GZIP)) {
    if (!unpacks) throw refuse('compressed by gzip: unpack it first, or use "recon ledger import"');
    const unpacked = await peek(unpack(all));
    if (unpacked.first.startsWith(GZIP)) throw refuse("compressed by gzip twice: unpack it once");
    yield* toUtf8(unpacked.all, false);
    return;
  }
  const encoding = UTF16.get(first.slice(0, 2));
  if (encoding !== undefined) yield* decode(all, encoding);
  else if (/^[^\0]\0[^\0]\0|^\0[^\0]\0[^\0]/.test(first)) {
    throw refuse("UTF-16 without a byte order mark: save it as UTF-8");
  } else yield* all;
}

/** @returns the first bytes as Latin-1, and all chunks */
async function peek(chunks: Chunks): Promise<{ first: string; all: Chunks }> {
  const source = chunks[Symbol.asyncIterator]();
  const read: Uint8Array[] = [];
  let bytes = 0;
  while (bytes < FIRST_BYTES) {
    const next = await source.next();
    if (next.done === true) break;
    read.push(next.value);
    bytes += next.value.length;
  }
  const all = (async function* (): Chunks {
    yield* read;
    for (let next = await source.next(); next.done !== true; next = await source.next()) yield next.value;
  })();
  return { first: Buffer.concat(read).subarray(0, FIRST_BYTES).toString("latin1"), all };
}

async function* unpack(chunks: Chunks): Chunks {
  const gunzip = createGunzip();
  // An error of the source or of gunzip is thrown by the loop below.
  pipeline(chunks, gunzip, () => {});
  try {
    yield* gunzip;
  } catch (error) {
    throw refuse(
      `compressed by gzip and cannot be unpacked, because it is cut off or damaged (${describeError(error)}): copy it again`,
    );
  }
}

async function* decode(chunks: Chunks, encoding: string): Chunks {
  const decoder = new TextDecoder(encoding, { fatal: true });
  try {
    for await (const chunk of chunks) yield Buffer.from(decoder.decode(chunk, { stream: true }));
    yield Buffer.from(decoder.decode());
  } catch {
    throw refuse("UTF-16 with a character that cannot be read: save it as UTF-8");
  }
}

function refuse(what: string): ReconError {
  return new ReconError("usage", `the file is ${what}`);
}

/** The longest line, in bytes; far longer than any callback. */
const LONGEST_LINE = 1024 * 1024;
const NEWLINE = 0x0a;
/** How much to keep of a line that cannot be read, in characters. */
const MOST_SHOWN = 2_000;
const UTF8 = new TextDecoder("utf-8", { fatal: true });

export interface CutLine {
  /** counted from 1 */
  readonly line: number;
  /** only the beginning if the line cannot be read */
  readonly text: string;
  /** why the line cannot be read; null: it can be read */
  readonly fault: string | null;
}

/** @returns for each chunk the lines that end in it, without empty ones (which count in the line numbers) */
export async function* cutLines(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<readonly CutLine[]> {
  let begun: Buffer[] = [];
  let begunBytes = 0;
  let line = 1;
  for await (const chunk of chunks) {
    const bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
    const end = bytes.lastIndexOf(NEWLINE);
    if (end >= 0) {
      const lines = splitLines(Buffer.concat([...begun, bytes.subarray(0, end)]), line);
      yield lines.filter(isWritten);
      line += lines.length;
      [begun, begunBytes] = [[], 0];
    }
    const rest = bytes.subarray(end + 1);
    if (begunBytes <= LONGEST_LINE) begun.push(rest);
    begunBytes += rest.length;
  }
  yield splitLines(Buffer.concat(begun), line).filter(isWritten);
}

function splitLines(block: Buffer, first: number): CutLine[] {
  const text = decodeUtf8(block);
  if (text !== null) return text.split("\n").map((one, index) => toLine(one, first + index));
  const lines: CutLine[] = [];
  for (let from = 0; from <= block.length; ) {
    const next = block.indexOf(NEWLINE, from);
    const end = next < 0 ? block.length : next;
    lines.push(decodeLine(block.subarray(from, end), first + lines.length));
    from = end + 1;
  }
  return lines;
}

/** @returns null if the bytes are not UTF-8: in another encoding a name would silently become another name */
function decodeUtf8(bytes: Uint8Array): string | null {
  try {
    return UTF8.decode(bytes);
  } catch {
    return null;
  }
}

function decodeLine(bytes: Buffer, line: number): CutLine {
  const text = decodeUtf8(bytes);
  if (text !== null) return toLine(text, line);
  const shown = bytes.subarray(0, MOST_SHOWN).toString("utf8");
  return { line, text: shown, fault: "the line is not UTF-8" };
}

function toLine(text: string, line: number): CutLine {
  if (text.length <= LONGEST_LINE)
    return { line, text: text.endsWith("\r") ? text.slice(0, -1) : text, fault: null };
  return {
    line,
    text: text.slice(0, MOST_SHOWN),
    fault: `the line is longer than ${LONGEST_LINE} characters`,
  };
}

function isWritten({ text }: CutLine): boolean {
  return /\S/.test(text);
}
