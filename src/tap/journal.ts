/**
 * The journal of the tap. It appends an answered callback to a file before the caller gets the end of the answer. From then
 * on the operating system has the callback, so a kill of this process loses nothing. The disk has it about a second later:
 * syncing each callback costs more than the tap may add (decision 146).
 */

import { type FileHandle, open, readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { formatInstant } from "../clock.ts";
import type { AnsweredCallback } from "./conversation.ts";
import type { Loss, Tally } from "./tally.ts";

interface Journal {
  /** Writes callbacks. Resolves when they are written, or cannot be written; never rejects. */
  record(answered: readonly AnsweredCallback[]): Promise<void>;
  /** the size of all files, in bytes */
  readonly bytes: number;
  /** Writes waiting callbacks, and closes the file. */
  close(): Promise<void>;
}

export interface JournalSettings {
  readonly folder: string;
  /** the limit of all files together; callbacks that do not fit are not recorded */
  readonly mostBytes: number;
  /** the longest time that an answer waits for the disk */
  readonly patienceMs?: number;
  /** the size after which a new file begins */
  readonly segmentBytes?: number;
}

const SEGMENT_BYTES = 8 * 1024 * 1024;
const MOST_WAITING_BYTES = 16 * 1024 * 1024;
/** Callers wait for seconds. A working disk writes a callback in less than a millisecond. */
const PATIENCE_MS = 1_000;
const SYNC_EVERY_MS = 1_000;

/** Waiting lines, which are written together. */
interface Batch {
  readonly lines: string[];
  bytes: number;
  readonly done: PromiseWithResolvers<void>;
}

/**
 * @param folder must exist; no other process may write to it
 * @param tally counts recorded and lost callbacks
 * @param onProblem called with the reason if a write or sync fails
 */
export async function openJournal(
  { folder, mostBytes, patienceMs = PATIENCE_MS, segmentBytes = SEGMENT_BYTES }: JournalSettings,
  tally: Tally,
  onProblem: (error: unknown) => void,
): Promise<Journal> {
  let number = (await listSegments(folder)).at(-1)?.number ?? 0;
  let total = await sizeOfSegments(folder);
  let file: (Segment & { readonly handle: FileHandle; size: number; isSynced: boolean }) | null = null;
  let waiting: Batch | null = null;
  let writing: Promise<void> | null = null;
  let isSlow = false;
  let isClosed = false;

  const lose = (loss: Loss, count: number) => {
    tally.lost[loss] += count;
  };

  const openSegment = async () => {
    if (file !== null && file.size >= segmentBytes) {
      const { handle } = file;
      file = null;
      await handle.close();
    }
    if (file === null) {
      number += 1;
      const segment = segmentOf(folder, number);
      file = { ...segment, handle: await open(segment.path, "wx", 0o600), size: 0, isSynced: true };
    }
    return file;
  };

  /**
   * Writes to the end of the file. After a failure a new file begins, so an incomplete line is always the last of its file.
   * @returns the number of bytes written
   */
  const append = async (text: Buffer): Promise<number> => {
    let done = 0;
    try {
      const segment = await openSegment();
      while (done < text.length) {
        const written = await segment.handle.write(text, done, text.length - done, segment.size + done);
        done += written.bytesWritten;
        if (written.bytesWritten === 0) throw new Error("the disk accepted no bytes");
      }
      segment.size += done;
      segment.isSynced = false;
    } catch (error) {
      onProblem(error);
      const left = file;
      if (done > 0 && left !== null) {
        file = null;
        await left.handle.close().catch(() => {});
      }
    }
    total += done;
    return done;
  };

  const write = async ({ lines, done }: Batch) => {
    const timeout = setTimeout(() => {
      isSlow = true;
      done.resolve();
      waiting?.done.resolve();
    }, patienceMs);
    let free = mostBytes - total;
    const fitting = lines.filter((line) => {
      free -= Buffer.byteLength(line);
      return free >= 0;
    });
    if (fitting.length < lines.length) {
      lose("journal-full", lines.length - fitting.length);
      onProblem(new Error(`the journal has reached its limit of ${mostBytes} bytes`));
    }
    const texts = fitting.map((line) => Buffer.from(line));
    let left = fitting.length === 0 ? 0 : await append(Buffer.concat(texts));
    let recorded = 0;
    for (const { length } of texts) {
      left -= length;
      if (left >= 0) recorded += 1;
    }
    tally.recorded += recorded;
    lose("disk-error", fitting.length - recorded);
    clearTimeout(timeout);
    isSlow = false;
    done.resolve();
  };

  const writeAll = async () => {
    for (let batch = waiting; batch !== null; batch = waiting) {
      waiting = null;
      await write(batch);
    }
    writing = null;
  };

  const syncAndMeasure = async () => {
    const synced = file;
    if (synced !== null && !synced.isSynced) {
      synced.isSynced = true;
      await synced.handle.datasync().catch((error: unknown) => {
        if (file === synced) onProblem(error);
      });
    }
    // The storing thread removes files, so the size is read again.
    if (writing === null) {
      const before = total;
      const size = await sizeOfSegments(folder);
      total = size + (total - before);
    }
  };
  let syncing = Promise.resolve();
  let isSyncing = false;
  const timer = setInterval(() => {
    if (isSyncing) return;
    isSyncing = true;
    syncing = syncAndMeasure()
      .catch(onProblem)
      .finally(() => {
        isSyncing = false;
      });
  }, SYNC_EVERY_MS);
  timer.unref();

  return {
    record: (answered) => {
      if (isClosed) {
        lose("disk-error", answered.length);
        return Promise.resolve();
      }
      waiting ??= { lines: [], bytes: 0, done: Promise.withResolvers() };
      const batch = waiting;
      for (const one of answered) {
        const line = lineOf(one);
        if (batch.bytes + line.length > MOST_WAITING_BYTES) {
          lose("disk-slow", 1);
          continue;
        }
        batch.lines.push(line);
        batch.bytes += line.length;
      }
      writing ??= writeAll();
      return isSlow ? Promise.resolve() : batch.done.promise;
    },
    get bytes() {
      return total;
    },
    close: async () => {
      isClosed = true;
      clearInterval(timer);
      await syncing;
      await writing;
      await file?.handle.close();
    },
  };
}

function lineOf({ callback, receivedAt, request, response }: AnsweredCallback): string {
  return `{"callback":"${callback}","receivedAt":"${formatInstant(receivedAt)}","request":${jsonOf(request)},"response":${jsonOf(response)}}\n`;
}

/** A JSON object as received, digit for digit; any other body as a JSON string. */
function jsonOf(body: string): string {
  if (body.startsWith("{") && !body.includes("\n") && isJson(body)) return body;
  return JSON.stringify(body);
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

const NAME = /^(\d{12})\.ndjson$/;

export interface Segment {
  readonly number: number;
  readonly path: string;
}

function segmentOf(folder: string, number: number): Segment {
  return { number, path: join(folder, `${String(number).padStart(12, "0")}.ndjson`) };
}

/** The existing files, oldest first. */
export async function listSegments(folder: string): Promise<Segment[]> {
  const names = (await readdir(folder)).sort();
  return names.flatMap((name) => {
    const number = NAME.exec(name)?.[1];
    return number === undefined ? [] : [segmentOf(folder, Number(number))];
  });
}

/** The size of all files in bytes. A file that is removed during the call counts as 0. */
export async function sizeOfSegments(folder: string): Promise<number> {
  const sizes = (await listSegments(folder)).map(async ({ path }) => {
    try {
      return (await stat(path)).size;
    } catch {
      return 0;
    }
  });
  return (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0);
}
