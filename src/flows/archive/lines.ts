/** Reads lines of bytes, and sorts more of them than memory holds. */

import { createReadStream } from "node:fs";
import { open, rm } from "node:fs/promises";
import { join } from "node:path";
import { crc32 } from "node:zlib";

const LINE_END = 0x0a;
/** A longer line is none of ours. */
const LONGEST_LINE = 1_000_000;

/**
 * The lines of a stream, without their ends. U+2028 is no end of a line, as it is for Node's own reader.
 * @throws Error if a line is too long, or the last line has no end
 */
export async function* readLines(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let held: Buffer[] = [];
  let length = 0;
  for await (const chunk of chunks) {
    let from = 0;
    for (let end = chunk.indexOf(LINE_END); end >= 0; end = chunk.indexOf(LINE_END, from)) {
      const part = chunk.subarray(from, end);
      yield held.length === 0 ? part : Buffer.concat([...held, part]);
      held = [];
      length = 0;
      from = end + 1;
    }
    if (from === chunk.length) continue;
    held.push(chunk.subarray(from));
    length += chunk.length - from;
    if (length > LONGEST_LINE) throw new Error(`it has more than ${LONGEST_LINE} bytes`);
  }
  if (held.length > 0) throw new Error("it has no end");
}

/** Sorting these takes some milliseconds, so other work of the process is not held up. */
const LINES_AT_ONCE = 4_000;
const FILES_AT_ONCE = 64;

export interface LineSorter {
  add(text: string): Promise<void>;
  /** @returns the number of lines, and the lines in the order of their bytes, to be read once */
  sorted(): Promise<{ readonly count: number; readonly lines: AsyncIterable<Buffer> }>;
}

/** Sorts lines by their bytes. @param folder for temporary files, which are deleted when the lines were read */
export function openSorter(folder: string): LineSorter {
  let files: string[] = [];
  let held: Buffer[] = [];
  let count = 0;
  let made = 0;
  const store = async (lines: Iterable<Buffer> | AsyncIterable<Buffer>) => {
    made += 1;
    const file = join(folder, `sorting-${made}`);
    await writeLines(file, lines);
    return file;
  };
  const storeHeld = async () => {
    files.push(await store(held.sort(Buffer.compare)));
    held = [];
    if (files.length === FILES_AT_ONCE) files = [await store(mergeFiles(files))];
  };
  return {
    add: async (text) => {
      held.push(Buffer.from(text));
      count += 1;
      if (held.length === LINES_AT_ONCE) await storeHeld();
    },
    sorted: async () => {
      if (files.length === 0) return { count, lines: eachOf(held.sort(Buffer.compare)) };
      if (held.length > 0) await storeHeld();
      return { count, lines: mergeFiles(files) };
    },
  };
}

async function* eachOf(lines: readonly Buffer[]): AsyncGenerator<Buffer> {
  yield* lines;
}

const BYTES_AT_ONCE = 65_536;

async function writeLines(file: string, lines: Iterable<Buffer> | AsyncIterable<Buffer>): Promise<void> {
  const handle = await open(file, "wx");
  try {
    for await (const block of inBlocks(lines)) await handle.appendFile(block);
  } finally {
    await handle.close();
  }
}

/** Lines with their ends, in blocks, because one write a line takes long. */
export async function* inBlocks(lines: Iterable<Buffer> | AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let parts: Buffer[] = [];
  let bytes = 0;
  const end = Buffer.of(LINE_END);
  for await (const line of lines) {
    parts.push(line, end);
    bytes += line.length + 1;
    if (bytes < BYTES_AT_ONCE) continue;
    yield Buffer.concat(parts);
    [parts, bytes] = [[], 0];
  }
  if (bytes > 0) yield Buffer.concat(parts);
}

/** The lines of sorted files in their order. Deletes the files when all were read. */
async function* mergeFiles(files: readonly string[]): AsyncGenerator<Buffer> {
  const readers = files.map((file) => readLines(createReadStream(file)));
  try {
    const heads = await Promise.all(readers.map(async (reader) => (await reader.next()).value));
    for (;;) {
      let first = -1;
      for (const [index, head] of heads.entries()) {
        const least = heads[first];
        if (head && (!least || Buffer.compare(head, least) < 0)) first = index;
      }
      const line = heads[first];
      if (!line) break;
      yield line;
      heads[first] = (await readers[first]?.next())?.value;
    }
  } finally {
    for (const reader of readers) await reader.return(undefined);
  }
  for (const file of files) await rm(file);
}

/** Passes lines on, and notes a mark for each `share` of them. */
export async function* markLines(
  lines: AsyncIterable<Buffer>,
  share: number,
  marks: string[],
): AsyncGenerator<Buffer> {
  let seen = 0;
  let mark = 0;
  for await (const line of lines) {
    mark = crc32(line, mark);
    seen += 1;
    if (seen % share === 0) {
      marks.push(toMark(mark));
      mark = 0;
    }
    yield line;
  }
  if (seen % share !== 0) marks.push(toMark(mark));
}

function toMark(crc: number): string {
  return crc.toString(16).padStart(8, "0");
}
