/**
 * The journal of the tap. It appends an answered callback to a file before the caller gets the answer. The operating
 * system has the callback then, so that the end of this process loses nothing. The disk has it about a second later.
 */

import { type FileHandle, open } from "node:fs/promises";
import { formatInstant } from "../clock.ts";
import type { AnsweredCallback } from "./conversation.ts";
import { listSegments, type Segment, segmentOf, sizeOfSegments } from "./segments.ts";
import type { Loss, Tally } from "./tally.ts";

export interface Journal {
  /** Writes these. Resolves when they are written, or when it is known that they cannot be; never rejects. */
  record(answered: readonly AnsweredCallback[]): Promise<void>;
  /** bytes of all files that are there */
  readonly bytes: number;
  /** Writes what waits, and closes the file. */
  close(): Promise<void>;
}

export interface JournalSettings {
  readonly folder: string;
  /** the limit of all files together; what does not fit is not recorded */
  readonly mostBytes: number;
  /** the longest that an answer waits for the disk */
  readonly patienceMs?: number;
  /** a file of this size is followed by a new one */
  readonly segmentBytes?: number;
}

const SEGMENT_BYTES = 8 * 1024 * 1024;
const MOST_WAITING_BYTES = 16 * 1024 * 1024;
/** Callers wait for seconds. A disk that works writes a callback in less than a millisecond. */
const PATIENCE_MS = 1_000;
const TEND_EVERY_MS = 1_000;

/** Lines that wait, and are written together. */
interface Batch {
  readonly lines: string[];
  bytes: number;
  readonly done: PromiseWithResolvers<void>;
}

/**
 * @param folder exists, and no other process writes to it
 * @param tally counts what is recorded and what is not
 * @param onProblem called with the reason why something could not be written
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
   * Writes to the end of the file. After a failure a new file begins, so that nothing follows the beginning of a line
   * that could not be written whole.
   * @returns how many bytes were written
   */
  const append = async (text: Buffer): Promise<number> => {
    let done = 0;
    try {
      const segment = await openSegment();
      while (done < text.length) {
        const written = await segment.handle.write(text, done, text.length - done, segment.size + done);
        done += written.bytesWritten;
        if (written.bytesWritten === 0) throw new Error("the disk takes nothing");
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
    const impatience = setTimeout(() => {
      isSlow = true;
      done.resolve();
      waiting?.done.resolve();
    }, patienceMs);
    let room = mostBytes - total;
    const fitting = lines.filter((line) => {
      room -= Buffer.byteLength(line);
      return room >= 0;
    });
    if (fitting.length < lines.length) {
      lose("journal-full", lines.length - fitting.length);
      onProblem(new Error(`it has reached its limit of ${mostBytes} bytes`));
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
    clearTimeout(impatience);
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

  const tend = async () => {
    const synced = file;
    if (synced !== null && !synced.isSynced) {
      synced.isSynced = true;
      await synced.handle.datasync().catch((error: unknown) => {
        if (file === synced) onProblem(error);
      });
    }
    // The thread that stores the journal removes files.
    if (writing === null) {
      const before = total;
      const size = await sizeOfSegments(folder);
      total = size + (total - before);
    }
  };
  let tending = Promise.resolve();
  let isTending = false;
  const timer = setInterval(() => {
    if (isTending) return;
    isTending = true;
    tending = tend()
      .catch(onProblem)
      .finally(() => {
        isTending = false;
      });
  }, TEND_EVERY_MS);
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
      await tending;
      await writing;
      await file?.handle.close();
    },
  };
}

function lineOf({ callback, receivedAt, request, response }: AnsweredCallback): string {
  return `{"callback":"${callback}","receivedAt":"${formatInstant(receivedAt)}","request":${jsonOf(request)},"response":${jsonOf(response)}}\n`;
}

/** A JSON object as it came, digit by digit. Any other body as JSON text. */
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
