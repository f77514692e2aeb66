/** The bytes of a file that is imported, as UTF-8: what its first bytes say for certain is unpacked and decoded. */

import { pipeline } from "node:stream";
import { createGunzip } from "node:zlib";
import { describeError, ReconError } from "../errors.ts";

type Chunks = AsyncIterable<Uint8Array>;

/** First bytes of files that are not lines of text, as Latin-1, and what to do with each. */
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
 * Unpacks gzip and decodes UTF-16 with a byte order mark; everything else stays as it is.
 * @param unpacks false: a gzip file is refused, because nothing limits its size
 * @throws ReconError `usage` that says what the file is, for anything that is not text
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
  // Errors of either side reach the loop below.
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
