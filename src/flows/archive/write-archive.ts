/** Writes the sealed files of a day before it is closed (decision 312). */

import { createHash } from "node:crypto";
import { createWriteStream } from "node:fs";
import { mkdir, open, opendir, readdir, rename, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { Transform } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createGzip } from "node:zlib";
import {
  type ArchivedFile,
  fileOf,
  linesOfMark,
  MANIFEST,
  manifestText,
  sha256,
} from "../../closing/archive.ts";
import type { Statement } from "../../closing/statement.ts";
import { ReconError } from "../../errors.ts";
import { inBlocks, markLines, openSorter } from "./lines.ts";
import { OF_THE_DISK, readManifest, verifyDay } from "./verify-archive.ts";

/** The files of a day that is being closed. Any method throws ReconError `archive-unusable` if the folder is at fault. */
export interface DayArchive {
  /** @returns takes the lines of a product in any order */
  openFile(productId: string): ProductFile;
  /** whether the file of a product was closed */
  hasFile(productId: string): boolean;
  /**
   * Gives the files their names, and reads them back.
   * @param statement what the day is closed with; its `archive` is ignored
   * @returns the statement with the manifest's hash
   */
  seal<Sealed extends Statement>(statement: Sealed): Promise<Sealed>;
}

interface ProductFile {
  add(line: unknown): Promise<void>;
  close(): Promise<void>;
}

const UNFINISHED = ".unfinished";
const DAY_FOLDER = /^\d{4}-\d{2}-\d{2}(?:\.unfinished)?$/;

/**
 * Begins the files of a day under a temporary name. What a killed process left of the same day is deleted. Only one process
 * closes days at a time.
 * @param folder `closing.archive`; is created if the folder above it exists
 */
export async function openDayArchive(folder: string, day: string): Promise<DayArchive> {
  const unfinished = join(folder, `${day}${UNFINISHED}`);
  const files: ArchivedFile[] = [];
  const marks: Record<string, string> = {};
  await orUnusable(folder, async () => {
    await mkdir(folder).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== "EEXIST") throw error;
    });
    await refuseForeign(folder);
    await rm(unfinished, { recursive: true, force: true });
    await mkdir(unfinished);
  });
  return {
    openFile: (productId) => {
      const name = fileOf(productId);
      const sorter = openSorter(unfinished);
      return {
        add: (line) => orUnusable(folder, () => sorter.add(JSON.stringify(line))),
        close: () =>
          orUnusable(folder, async () => {
            const { count, lines } = await sorter.sorted();
            const written = await writeFileOf(join(unfinished, name), count, lines);
            files.push({ name, sha256: written.sha256, lines: count });
            marks[name] = written.marks;
          }),
      };
    },
    hasFile: (productId) => files.some(({ name }) => name === fileOf(productId)),
    seal: (statement) =>
      orUnusable(folder, async () => {
        const sorted = files.toSorted((a, b) => (a.name < b.name ? -1 : 1));
        const text = manifestText(statement, sorted, marks);
        await writeFile(join(unfinished, MANIFEST), text, { flag: "wx", flush: true });
        await syncFolder(unfinished);
        const whole = join(folder, day);
        await removeLeftover(whole, statement);
        await rename(unfinished, whole);
        await syncFolder(folder);
        const { flaws, manifest } = await verifyDay(folder, day);
        const [flaw] = flaws;
        if (flaw !== undefined || manifest?.text !== text)
          throw unusable(folder, `${flaw?.file ?? MANIFEST} of ${day} does not read back as it was written`);
        return { ...statement, archive: sha256(text) };
      }),
  };
}

/** Takes the name of a day that does not exist, so that a closing beside it does not find a file of something else. */
const PROBE = `0000-00-00${UNFINISHED}`;
const PROBE_BYTES = 64 * 1024;

/**
 * Tries whether the folder takes files, and leaves nothing behind.
 * @param folder `closing.archive`; if it does not exist, the folder above it is tried
 * @returns why no day could be sealed there, as a sentence; null: one could
 */
export async function findUnusable(folder: string): Promise<string | null> {
  try {
    await orUnusable(folder, async () => {
      const above = await refuseForeign(folder).then(
        () => folder,
        (error: NodeJS.ErrnoException) => {
          if (error.code !== "ENOENT") throw error;
          return dirname(folder);
        },
      );
      const probe = join(above, PROBE);
      try {
        await mkdir(probe);
        await writeFile(join(probe, "probe"), Buffer.alloc(PROBE_BYTES), { flush: true });
      } finally {
        await rm(probe, { recursive: true, force: true });
      }
    });
    return null;
  } catch (error) {
    if (!(error instanceof ReconError) || error.code !== "archive-unusable") throw error;
    return error.message;
  }
}

/** A mistyped folder, such as the home of a user, is not filled with days. */
async function refuseForeign(folder: string): Promise<void> {
  for await (const { name } of await opendir(folder)) {
    if (!DAY_FOLDER.test(name) && name !== OF_THE_DISK)
      throw unusable(
        folder,
        `it holds something else: "${name}". Choose a folder of its own, or move that away`,
      );
  }
}

/**
 * Removes the folder of a day that was not closed after all: the process was killed, or its transaction failed, after the
 * files had their names.
 */
async function removeLeftover(whole: string, { day, number, previousHash }: Statement): Promise<void> {
  const names = await readdir(whole).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return null;
    throw error;
  });
  if (names === null) return;
  const left = await readManifest(whole).catch(() => null);
  const isOurs =
    left?.manifest.number === number &&
    left.manifest.previousHash === previousHash &&
    names.every((name) => name === MANIFEST || left.manifest.files.some((file) => file.name === name));
  if (!isOurs && names.length > 0)
    throw unusable(
      whole,
      `it holds files that are not of this closing of ${day}: ${names.slice(0, 3).join(", ")}. Move them away`,
    );
  await rm(whole, { recursive: true });
}

/** Writes the lines of a file, compressed, to the disk. */
async function writeFileOf(
  path: string,
  count: number,
  lines: AsyncIterable<Buffer>,
): Promise<{ readonly sha256: string; readonly marks: string }> {
  const marks: string[] = [];
  const hash = createHash("sha256");
  await pipeline(
    inBlocks(markLines(lines, linesOfMark(count), marks)),
    createGzip({ level: 9 }),
    new Transform({
      transform: (chunk: Buffer, _encoding, done) => {
        hash.update(chunk);
        done(null, chunk);
      },
    }),
    createWriteStream(path, { flags: "wx", flush: true }),
  );
  return { sha256: hash.digest("hex"), marks: marks.join("") };
}

async function syncFolder(path: string): Promise<void> {
  const handle = await open(path, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

const WHY: Readonly<Record<string, string>> = {
  ENOSPC: "its disk is full. Free space, or give it a larger disk",
  EDQUOT: "its quota is used up. Free space, or raise the quota",
  EROFS: "it is read-only. Mount it so that the worker can write",
  EACCES: "the worker's user may not write there. Change its owner or its rights",
  EPERM: "the worker's user may not write there. Change its owner or its rights",
  ENOENT: "it, or the folder above it, does not exist. Create it, or mount its disk",
  ENOTDIR: "it is a file, not a folder. Choose a folder",
};

async function orUnusable<Result>(folder: string, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    const { code, syscall } = error as NodeJS.ErrnoException;
    // Errors of the file system only: others are faults of the program.
    if (syscall === undefined || code === undefined) throw error;
    throw unusable(folder, WHY[code] ?? `${code} at ${syscall}`, error);
  }
}

function unusable(folder: string, why: string, cause?: unknown): ReconError {
  const retryable = true;
  return new ReconError("archive-unusable", `closing.archive "${folder}" cannot be used: ${why}.`, {
    cause,
    retryable,
  });
}
