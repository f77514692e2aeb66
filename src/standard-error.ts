/**
 * The lines of the log on standard error. Work never waits for them: a line that cannot be written is dropped and
 * counted. pino's own destination cannot do this: on a full disk sonic-boom 4.2 repeats the write in a loop that ends
 * only when there is room again, and a write to a full pipe keeps the process from ending.
 */

import { constants, fstatSync, openSync, write, writeSync } from "node:fs";
import { stderr } from "node:process";
import { formatInstant, type Instant, systemClock } from "./clock.ts";

/** What may wait for a slow reader: about a thousand lines. A pipe holds another 64 KiB. */
const MOST_WAITING_BYTES = 256 * 1024;
/** The wait before a write is repeated. It doubles up to the second number. */
const [FIRST_WAIT_MS, LONGEST_WAIT_MS] = [5, 1_000];
/** How long the end of the process waits for a slow reader. */
const LONGEST_END_MS = 500;
const END_STEP_MS = 5;
const WARN_LEVEL = 40;

interface Target {
  readonly fd: number;
  /** whether a write may take long, so that a thread must make it */
  readonly mayBlock: boolean;
}

/** Lines that were dropped one after the other. */
interface Gap {
  readonly lines: number;
  readonly since: Instant;
  readonly reason: string;
}

interface WaitingLine {
  bytes: Buffer;
  readonly at: Instant;
  /** not null: this line is not from the log, but says what is missing there */
  readonly gap: Gap | null;
}

class LineWriter {
  /** the number of lines that were dropped so far */
  dropped = 0;
  readonly #target: Target;
  readonly #waiting: WaitingLine[] = [];
  #waitingBytes = 0;
  /** the bytes that a thread is writing; they are still among those that wait */
  #bytesUnderWay = 0;
  #isScheduled = false;
  #retry: NodeJS.Timeout | null = null;
  #waitMs = FIRST_WAIT_MS;
  /** not null: lines are dropped until all lines from before the gap are written */
  #gap: Gap | null = null;
  /** the last line that was written is not whole */
  #isWithinLine = false;

  constructor(target: Target) {
    this.#target = target;
  }

  write(line: string): void {
    const bytes = Buffer.from(line);
    const isFull = this.#waitingBytes > 0 && this.#waitingBytes + bytes.length > MOST_WAITING_BYTES;
    const at = systemClock.now();
    if (this.#gap !== null || isFull) {
      this.#drop(at, this.#gap?.reason ?? "too slow");
      return;
    }
    this.#add({ bytes, at, gap: null });
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(() => {
      this.#isScheduled = false;
      this.#writeMore();
    });
  }

  /** Writes what waits when the process ends, as far as the reader takes it within half a second. */
  end(): void {
    this.#takeOff(this.#bytesUnderWay);
    const until = systemClock.steady() + LONGEST_END_MS;
    for (let bytes = this.#next(); bytes !== null; bytes = this.#next()) {
      if (systemClock.steady() > until) return;
      try {
        this.#takeOff(writeSync(this.#target.fd, bytes));
      } catch (error) {
        if (!isBusy(error)) return;
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, END_STEP_MS);
      }
    }
  }

  #writeMore(): void {
    while (this.#bytesUnderWay === 0 && this.#retry === null) {
      const bytes = this.#next();
      if (bytes === null) return;
      if (this.#target.mayBlock) {
        this.#bytesUnderWay = bytes.length;
        write(this.#target.fd, bytes, (error, written) => {
          this.#bytesUnderWay = 0;
          this.#settle(error, written);
          this.#writeMore();
        });
        return;
      }
      try {
        this.#settle(null, writeSync(this.#target.fd, bytes));
      } catch (error) {
        this.#settle(error, 0);
      }
    }
  }

  #settle(error: unknown, written: number): void {
    if (written > 0) {
      this.#takeOff(written);
      return;
    }
    if (error !== null && !isBusy(error)) {
      const reason = (error as NodeJS.ErrnoException).code ?? String(error);
      for (const { at, gap } of this.#waiting.splice(0)) {
        if (gap === null) this.#drop(at, reason);
        else this.#widen(gap);
      }
      this.#waitingBytes = 0;
    }
    this.#retry = setTimeout(() => {
      this.#retry = null;
      this.#writeMore();
    }, this.#waitMs).unref();
    this.#waitMs = Math.min(2 * this.#waitMs, LONGEST_WAIT_MS);
  }

  #drop(at: Instant, reason: string): void {
    this.dropped += 1;
    this.#widen({ lines: 1, since: at, reason });
  }

  #widen({ lines, since, reason }: Gap): void {
    const { lines: before, since: begun } = this.#gap ?? { lines: 0, since };
    this.#gap = { lines: before + lines, since: Math.min(begun, since), reason };
  }

  /** @returns what to write: the lines that wait, or after them the line about a gap; null: nothing */
  #next(): Buffer | null {
    if (this.#waiting.length === 0 && this.#gap !== null) {
      const gap = this.#gap;
      this.#gap = null;
      // A line that a full disk has cut off has no end.
      const text = `${this.#isWithinLine ? "\n" : ""}${describeGap(gap)}`;
      this.#add({ bytes: Buffer.from(text), at: gap.since, gap });
    }
    return this.#waiting.length === 0 ? null : Buffer.concat(this.#waiting.map(({ bytes }) => bytes));
  }

  #add(line: WaitingLine): void {
    this.#waiting.push(line);
    this.#waitingBytes += line.bytes.length;
  }

  /** Notes that this many of the waiting bytes are written. */
  #takeOff(written: number): void {
    this.#waitMs = FIRST_WAIT_MS;
    this.#waitingBytes -= written;
    let left = written;
    for (let first = this.#waiting[0]; left > 0 && first !== undefined; first = this.#waiting[0]) {
      const { length } = first.bytes;
      this.#isWithinLine = left < length;
      if (this.#isWithinLine) first.bytes = first.bytes.subarray(left);
      else this.#waiting.shift();
      left -= length;
    }
  }
}

function isBusy(error: unknown): boolean {
  return ["EAGAIN", "EBUSY", "EINTR"].includes((error as NodeJS.ErrnoException).code ?? "");
}

function describeGap({ lines, since, reason }: Gap): string {
  const [time, begun] = [formatInstant(systemClock.now()), formatInstant(since)];
  const msg = `lines of the log were dropped, because standard error could not be written to (${reason})`;
  return `${JSON.stringify({ level: WARN_LEVEL, time, dropped: lines, since: begun, msg })}\n`;
}

/**
 * Opens standard error a second time with O_NONBLOCK, if it is a pipe or a terminal. The flag of descriptor 2 would not
 * do: other processes share it, and each Node resets it when it ends. A file would get a position of its own, and a
 * socket cannot be opened.
 */
function openTarget(): Target {
  const kind = fstatSync(2);
  if (!kind.isFile() && !kind.isSocket()) {
    try {
      const { O_WRONLY, O_NONBLOCK, O_NOCTTY } = constants;
      return { fd: openSync("/proc/self/fd/2", O_WRONLY | O_NONBLOCK | O_NOCTTY), mayBlock: false };
    } catch {
      // There is no /proc, or another user owns the pipe.
    }
  }
  // Node switches a pipe and a socket to O_NONBLOCK when it opens the stream.
  return { fd: stderr.fd, mayBlock: true };
}

let writer: LineWriter | null = null;

function openWriter(): LineWriter {
  const opened = new LineWriter(openTarget());
  process.once("exit", () => opened.end());
  return opened;
}

/** The log of this process. A write never throws and never waits. */
export const standardError = {
  write(line: string): void {
    writer ??= openWriter();
    writer.write(line);
  },
};

/** How many lines of the log this process has dropped. */
export function droppedLines(): number {
  return writer?.dropped ?? 0;
}
