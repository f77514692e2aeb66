/** Stores the journal in the ledger, in order, and retries after every failure. Removes files that are completely stored (decision 147). */

import { type FileHandle, open, unlink } from "node:fs/promises";
import type { Clock, Instant } from "../clock.ts";
import { describeError } from "../errors.ts";
import { listSegments, type Segment } from "./journal.ts";

/** The result of storing lines of the journal: `added`, `known` and `changed` count entries, the others count lines. */
export interface StoredCounts {
  readonly added: number;
  readonly known: number;
  readonly changed: number;
  /** callbacks that the operator refused, and checkBalance */
  readonly skipped: number;
  readonly rejected: number;
}

/**
 * Stores lines in one transaction. Lines that were stored before count as known.
 * Rejects if the database cannot store them; then none is stored.
 */
type StoreLines = (lines: readonly string[]) => Promise<StoredCounts>;

export interface StoreProgress {
  readonly stored: StoredCounts;
  /** the number of stored lines of the journal */
  readonly lines: number;
  /** the number of lines that were cut off by a full disk, a kill or a power loss */
  readonly torn: number;
  /** when the last of these callbacks was received; null: unknown */
  readonly storedTo: Instant | null;
  /** the journal had nothing left to store when it was last read */
  readonly isCaughtUp: boolean;
  /** why nothing can be stored now; null: storing works */
  readonly problem: string | null;
}

interface StoreContext {
  readonly folder: string;
  readonly store: StoreLines;
  readonly clock: Clock;
  readonly onProgress: (progress: StoreProgress) => void;
}

const MOST_LINES = 500;
const READ_BYTES = 1024 * 1024;
const LOOK_EVERY_MS = 100;
const [FIRST_WAIT_MS, LONGEST_WAIT_MS] = [250, 5_000];
const LF = 0x0a;
const NO_COUNTS: StoredCounts = { added: 0, known: 0, changed: 0, skipped: 0, rejected: 0 };

/**
 * Stores until `stopped` aborts; lines in flight are stored first.
 * @param isLast whether the tap has stopped writing to the journal: then this ends once all lines are stored, and leaves
 * an empty folder
 */
export async function storeJournal(
  { folder, store, clock, onProgress }: StoreContext,
  stopped: AbortSignal,
  isLast: () => boolean = () => false,
): Promise<void> {
  const reader = new JournalReader(folder);
  let waitMs = FIRST_WAIT_MS;
  let problem: string | null = null;
  let isCaughtUp = false;
  const report = (stored: StoredCounts, lines: number, storedTo: Instant | null) =>
    onProgress({ stored, lines, torn: reader.takeTorn(), storedTo, isCaughtUp, problem });
  try {
    while (!stopped.aborted) {
      const mayEnd = isLast();
      try {
        const lines = await reader.read();
        if (lines.length > 0) {
          const stored = await store(lines);
          reader.advance(lines.length);
          problem = null;
          isCaughtUp = false;
          report(stored, lines.length, timeOf(lines.at(-1)));
        } else {
          if (!isCaughtUp) {
            isCaughtUp = true;
            problem = null;
            report(NO_COUNTS, 0, null);
          }
          if (mayEnd) {
            await reader.removeLast();
            return;
          }
          await clock.sleep(LOOK_EVERY_MS, stopped);
        }
        waitMs = FIRST_WAIT_MS;
      } catch (error) {
        problem = describeError(error);
        isCaughtUp = false;
        report(NO_COUNTS, 0, null);
        await clock.sleep(waitMs, stopped);
        waitMs = Math.min(2 * waitMs, LONGEST_WAIT_MS);
      }
    }
  } finally {
    await reader.close();
  }
}

/** Reads the files from the oldest line. Returns the same lines until `advance` is called. */
class JournalReader {
  readonly #folder: string;
  #file: (Segment & { readonly handle: FileHandle }) | null = null;
  /** the position of the first line that is not stored */
  #offset = 0;
  #bytes: Buffer = Buffer.alloc(0);
  #torn = 0;

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** Removes files that are completely stored. @returns the next lines; empty: there are no new lines */
  async read(): Promise<string[]> {
    for (;;) {
      const lines = this.#cut();
      if (lines.length > 0) return lines;
      if (this.#file === null && !(await this.#openOldest())) return [];
      // List before reading: if a next file exists, this file is complete, and the read below gets all of it.
      const isSealed = (await listSegments(this.#folder)).some(
        ({ number }) => number > (this.#file?.number ?? 0),
      );
      if (await this.#readMore()) continue;
      if (!isSealed) return [];
      await this.removeLast();
    }
  }

  /** Notes that the first lines of the last `read` are stored. @param lines their number */
  advance(lines: number): void {
    let end = 0;
    for (let line = 0; line < lines; line += 1) end = this.#bytes.indexOf(LF, end) + 1;
    this.#offset += end;
    this.#bytes = this.#bytes.subarray(end);
  }

  takeTorn(): number {
    const torn = this.#torn;
    this.#torn = 0;
    return torn;
  }

  /** Removes a file that is completely stored. An incomplete line at its end counts as torn. */
  async removeLast(): Promise<void> {
    if (this.#file === null) return;
    if (this.#bytes.length > 0) this.#torn += 1;
    await unlink(this.#file.path);
    await this.close();
  }

  async close(): Promise<void> {
    const file = this.#file;
    this.#file = null;
    this.#offset = 0;
    this.#bytes = Buffer.alloc(0);
    await file?.handle.close();
  }

  #cut(): string[] {
    const lines: string[] = [];
    let from = 0;
    for (let end = this.#bytes.indexOf(LF); end >= 0 && lines.length < MOST_LINES; ) {
      lines.push(this.#bytes.toString("utf8", from, end));
      from = end + 1;
      end = this.#bytes.indexOf(LF, from);
    }
    return lines;
  }

  async #openOldest(): Promise<boolean> {
    const [oldest] = await listSegments(this.#folder);
    if (oldest === undefined) return false;
    this.#file = { ...oldest, handle: await open(oldest.path, "r") };
    return true;
  }

  async #readMore(): Promise<boolean> {
    if (this.#file === null) return false;
    const buffer = Buffer.allocUnsafe(READ_BYTES);
    const at = this.#offset + this.#bytes.length;
    const { bytesRead } = await this.#file.handle.read(buffer, 0, buffer.length, at);
    if (bytesRead > 0) this.#bytes = Buffer.concat([this.#bytes, buffer.subarray(0, bytesRead)]);
    return bytesRead > 0;
  }
}

function timeOf(line = ""): Instant | null {
  const text = /^\{"callback":"\w+","receivedAt":"([^"]+)"/.exec(line)?.[1];
  return text === undefined ? null : Date.parse(text);
}
