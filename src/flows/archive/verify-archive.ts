/** Checks sealed files without a database: the folder of one day, or all days and their chain, and what their lines add up to. */

import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { createGunzip } from "node:zlib";
import { z } from "zod";
import { type AnswerOf, COUNT, DATE, listOf, objectOf, TEXT } from "../../answer.ts";
import { HASH } from "../../closed.ts";
import {
  type ArchivedFile,
  addLine,
  compareRows,
  hashOfManifest,
  type LineSums,
  linesOfMark,
  MANIFEST,
  type Manifest,
  parseManifest,
  productOf,
} from "../../closing/archive.ts";
import { readClosedDay } from "../../closing/closed-day-store.ts";
import { describeError, ReconError } from "../../errors.ts";
import type { ReportRow } from "../../report.ts";
import type { ReportItem } from "../../report-item.ts";
import type { FlowContext } from "../context.ts";
import { markLines, readLines } from "./lines.ts";

/** What is wrong with an archive. */
export interface ArchiveFlaw {
  /** the name of the day's folder; null: the flaw is in the archive's own folder */
  readonly day: string | null;
  readonly file: string;
  /** the first line that is wrong, from 1 on; null: it cannot be said, or is about the whole file */
  readonly line: number | null;
  /** a part of a sentence whose subject is the line, or the file */
  readonly what: string;
}

/** A flaw as a part of a sentence. */
export function sayFlaw({ day, file, line, what }: ArchiveFlaw): string {
  const path = day === null ? file : `${day}/${file}`;
  return line === null ? `${path} ${what}` : `line ${line} of ${path} ${what}`;
}

interface ReadManifest {
  readonly manifest: Manifest;
  readonly text: string;
}

/** It holds the statement, which the database stores as one value. */
const LARGEST_MANIFEST = 512 * 1024 * 1024;

/** @param path the folder of the day @throws Error that says why there is none */
export async function readManifest(path: string): Promise<ReadManifest> {
  const file = join(path, MANIFEST);
  if ((await stat(file)).size > LARGEST_MANIFEST) throw new Error("it is too large");
  const text = await readFile(file, "utf8");
  return { manifest: parseManifest(text), text };
}

/**
 * Compares the files of a day with its manifest.
 * @param addsUp whether the lines must add up to the statement too: all figures are parsed, which takes as long as the rest
 * @returns `manifest` is null if it cannot be read
 */
export async function verifyDay(
  folder: string,
  day: string,
  addsUp = false,
): Promise<{ readonly flaws: readonly ArchiveFlaw[]; readonly manifest: ReadManifest | null }> {
  const path = join(folder, day);
  const flaws: ArchiveFlaw[] = [];
  const note = (file: string, what: string, line: number | null = null) =>
    flaws.push({ day, file, line, what });
  let read: ReadManifest;
  try {
    read = await readManifest(path);
  } catch (error) {
    const isMissing = (error as NodeJS.ErrnoException).code === "ENOENT";
    note(MANIFEST, isMissing ? "is missing" : `cannot be read: ${describeError(error)}`);
    return { flaws, manifest: null };
  }
  const { manifest } = read;
  if (manifest.day !== day) note(MANIFEST, `is that of ${manifest.day}`);
  const known = new Set([MANIFEST, ...manifest.files.map(({ name }) => name)]);
  const names = new Set(await readdir(path));
  for (const name of [...names].sort()) if (!known.has(name)) note(name, "is not in the manifest");
  const sums: LineSums | null = addsUp ? new Map() : null;
  for (const file of manifest.files) {
    if (!names.has(file.name)) note(file.name, "is missing");
    else {
      const flaw = await verifyFile(join(path, file.name), file, manifest, sums);
      if (flaw !== null) note(file.name, flaw.what, flaw.line);
    }
  }
  if (sums !== null && flaws.length === 0) flaws.push(...compareWithRows(manifest, sums));
  return { flaws, manifest: read };
}

/** The check of a day's sealed files, as JSON. */
export const ARCHIVED_DAY = objectOf({
  day: DATE,
  number: z.nullable(COUNT),
  hash: z
    .nullable(HASH)
    .meta({ description: "of the statement that the files belong to; null: the manifest cannot be read" }),
  files: COUNT,
  lines: COUNT,
  flaws: listOf(
    objectOf({
      file: TEXT,
      line: z.nullable(COUNT),
      what: TEXT.meta({ description: "a part of a sentence whose subject is the line, or the file" }),
    }),
  ).meta({ description: "none: every file is as it was sealed, and belongs to the stored statement" }),
});

/**
 * Checks the sealed files of a closed day against their manifest, and the manifest against the stored statement.
 * @throws ReconError `usage` if closing.archive is not set; `not-found` if the day is not closed
 */
export async function verifyClosedDay(
  { sql, config }: FlowContext,
  day: string,
): Promise<AnswerOf<typeof ARCHIVED_DAY>> {
  const { archive: folder } = config.closing;
  if (folder === null)
    throw new ReconError("usage", "closing.archive is not set, so there are no sealed files");
  const closed = await readClosedDay(sql, day);
  if (closed === null) throw new ReconError("not-found", `${day} is not closed, so it has no sealed files`);
  const { flaws, manifest: found } = await verifyDay(folder, day, true);
  const hash = found === null ? null : hashOfManifest(found.manifest, found.text);
  const isOther = hash !== null && hash !== closed.hash;
  const ofOther = isOther ? [{ file: MANIFEST, line: null, what: OF_OTHER }] : [];
  const files = found?.manifest.files ?? [];
  return {
    day,
    number: found?.manifest.number ?? null,
    hash,
    files: files.length,
    lines: files.reduce((sum, { lines }) => sum + lines, 0),
    flaws: [...ofOther, ...flaws.map(({ file, line, what }) => ({ file, line, what }))].slice(0, MOST_FLAWS),
  };
}

const OF_OTHER = "does not belong to the stored statement: one of them was altered";

/** No hash outside of the folder names the manifest of the last day, so its figures are proved by its lines. */
function compareWithRows({ day, rows }: Manifest, sums: LineSums): ArchiveFlaw[] {
  const flawOf = (what: string) => ({ day, file: MANIFEST, line: null, what });
  try {
    return compareRows(rows as ReportRow[], sums).map(flawOf);
  } catch (error) {
    return [flawOf(`has rows that cannot be read: ${describeError(error)}`)];
  }
}

type FileFlaw = Pick<ArchiveFlaw, "line" | "what">;

/** @param sums gets what the lines add up to; null: that is not asked */
async function verifyFile(
  path: string,
  file: ArchivedFile,
  manifest: Manifest,
  sums: LineSums | null,
): Promise<FileFlaw | null> {
  try {
    const { sha256, flaw } = await readThrough(path, file, manifest, 16_384, sums);
    if (sha256 === file.sha256 && flaw === null) return null;
    // In small steps everything before the first wrong byte is unpacked.
    const close = await readThrough(path, file, manifest, 64, null);
    const intact = "has other bytes than its SHA-256 says, although its lines are as they were written";
    return close.flaw ?? { line: null, what: intact };
  } catch (error) {
    return { line: null, what: `cannot be read: ${describeError(error)}` };
  }
}

/** Reads a whole file. @param step the bytes that are unpacked at once @returns the first flaw of its lines; null: none */
async function readThrough(
  path: string,
  file: ArchivedFile,
  manifest: Manifest,
  step: number,
  sums: LineSums | null,
) {
  const hash = createHash("sha256");
  let flaw: FileFlaw | null = null;
  async function* hashed(chunks: AsyncIterable<Buffer>) {
    for await (const chunk of chunks) {
      hash.update(chunk);
      yield chunk;
    }
  }
  try {
    await pipeline(
      createReadStream(path),
      hashed,
      createGunzip({ chunkSize: step, ...({ readableHighWaterMark: step } as object) }),
      async (unpacked: AsyncIterable<Buffer>) => {
        flaw = await findFlaw(unpacked, file, manifest, sums);
        // After a flaw nothing more is read: the hash is then that of a part.
      },
    );
  } catch (error) {
    flaw ??= { line: null, what: sayUnpackable(error) };
  }
  return { sha256: hash.digest("hex"), flaw: flaw as FileFlaw | null };
}

/** Finds the first line that is not as it was written. */
async function findFlaw(
  unpacked: AsyncIterable<Buffer>,
  { name, lines }: ArchivedFile,
  { day, marks: known }: Manifest,
  sums: LineSums | null,
): Promise<FileFlaw | null> {
  const marks: string[] = [];
  const share = linesOfMark(lines);
  const written = known[name] ?? "";
  const productId = productOf(name);
  if (productId === null) return { line: null, what: "has a name that no product has" };
  let count = 0;
  let before: Buffer = Buffer.alloc(0);
  /** the first share of lines whose mark differs */
  let altered: number | null = null;
  const sayAltered = (from: number): FileFlaw => {
    const to = Math.min(from + share - 1, lines);
    return {
      line: from,
      what: from === to ? "was altered" : `or one of the next, up to line ${to}, was altered`,
    };
  };
  const compareMark = () => {
    const place = marks.length - 1;
    if (altered === null && place >= 0 && marks[place] !== written.slice(place * 8, place * 8 + 8))
      altered = place * share + 1;
  };
  try {
    for await (const line of markLines(readLines(unpacked), share, marks)) {
      count += 1;
      compareMark();
      if (altered !== null && count > altered + 2 * share) return sayAltered(altered);
      if (!isLine(line, day, productId, sums))
        return altered === null || altered === count
          ? { line: count, what: `is no line of ${productId} on ${day}: it was altered` }
          : sayAltered(altered);
      if (Buffer.compare(before, line) > 0)
        return { line: count, what: `is out of order: it belongs before line ${count - 1}` };
      before = line;
    }
  } catch (error) {
    if (altered !== null) return sayAltered(altered);
    return { line: count + 1, what: sayUnpackable(error) };
  }
  compareMark();
  if (count !== lines) {
    const line = altered ?? Math.min(count, lines) + 1;
    return { line, what: `is the first that differs: the file has ${count} lines instead of ${lines}` };
  }
  return altered === null ? null : sayAltered(altered);
}

/** @param sums gets what the line adds; null: that is not asked */
function isLine(line: Buffer, day: string, productId: string, sums: LineSums | null): boolean {
  const text = line.toString();
  try {
    const value = JSON.parse(text) as ReportItem;
    if (value.day !== day || value.productId !== productId || JSON.stringify(value) !== text) return false;
    if (sums !== null) addLine(sums, value);
    return true;
  } catch {
    return false;
  }
}

/** More are not listed. */
const MOST_FLAWS = 1_000;
const DAY = /^\d{4}-\d{2}-\d{2}$/;
/** A folder that the file system makes, if the archive has a disk of its own. */
export const OF_THE_DISK = "lost+found";
/** A day that is being closed, or whose closing was interrupted. */
const UNFINISHED = /^\d{4}-\d{2}-\d{2}\.unfinished$/;

export interface ArchiveCheck {
  readonly days: number;
  readonly files: number;
  readonly lines: number;
  /** the first 1,000 */
  readonly flaws: readonly ArchiveFlaw[];
  /** days before it were closed without sealed files, or their folders were removed; null: no manifest can be read */
  readonly first: { readonly day: string; readonly number: number } | null;
  /** of the statement of the last day: nothing in the archive names it; null: its manifest cannot be read */
  readonly last: { readonly day: string; readonly number: number; readonly hash: string } | null;
}

function sayUnpackable(error: unknown): string {
  const { code = "" } = error as NodeJS.ErrnoException;
  return code.startsWith("Z_")
    ? "cannot be unpacked: it was altered, or is not whole"
    : `cannot be read: ${describeError(error)}`;
}

/** Checks all days of an archive, and that each names the hash of the one before. */
export async function verifyArchive(folder: string): Promise<ArchiveCheck> {
  const flaws: ArchiveFlaw[] = [];
  const sums = { days: 0, files: 0, lines: 0 };
  let first: ArchiveCheck["first"] = null;
  let last: ArchiveCheck["last"] = null;
  for (const name of (await readdir(folder)).sort()) {
    if (UNFINISHED.test(name) || name === OF_THE_DISK) continue;
    if (!DAY.test(name)) {
      flaws.push({ day: null, file: name, line: null, what: "is not the folder of a day" });
      continue;
    }
    const { flaws: found, manifest: read } = await verifyDay(folder, name, true);
    flaws.push(...found);
    sums.days += 1;
    if (read === null) {
      last = null;
      continue;
    }
    const { manifest, text } = read;
    const flaw = sums.days === 1 ? null : findBreak(manifest, last);
    if (flaw !== null) flaws.push({ day: name, file: MANIFEST, line: null, what: flaw });
    sums.files += manifest.files.length;
    sums.lines += manifest.files.reduce((sum, { lines }) => sum + lines, 0);
    first ??= { day: name, number: manifest.number };
    last = { day: name, number: manifest.number, hash: hashOfManifest(manifest, text) };
    if (flaws.length >= MOST_FLAWS) break;
  }
  return { ...sums, flaws: flaws.slice(0, MOST_FLAWS), first, last };
}

function findBreak(manifest: Manifest, before: ArchiveCheck["last"]): string | null {
  if (before === null) return null;
  if (manifest.number !== before.number + 1)
    return `has number ${manifest.number} after number ${before.number} of ${before.day}: the days between are missing`;
  if (manifest.previousHash === before.hash) return null;
  return `does not name the hash of ${before.day}: the chain is broken, so ${MANIFEST} of ${before.day}, or this one, was altered`;
}
