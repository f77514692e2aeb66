/**
 * The time for which a caller waits for a transaction. Nothing is committed for a caller that no longer waits.
 */

import { monotonicMs } from "../clock.ts";
import type { TextRow } from "./pipelined-connection.ts";
import { type Put, type SqlStatement, writeStatement } from "./statement.ts";

/**
 * Starts when it is constructed. Ends when its time has passed, or when the caller disconnects. If that happens during a commit, `over` does
 * not reject, because only the database knows the outcome. Instead `onEnd` cancels a commit that still waits, and the database checks the
 * deadline itself (`writeInTime`, decision 126).
 */
export class Deadline {
  /** rejects with the reason once the deadline is over */
  readonly over: Promise<never>;
  readonly #endsAtMs: number;
  readonly #timer: NodeJS.Timeout;
  readonly #reject: (reason: Error) => void;
  #reason: Error | null = null;
  #isCommitting = false;
  #callerDisconnected = false;
  #listener: (() => void) | null = null;

  constructor(lengthMs: number) {
    const { promise, reject } = Promise.withResolvers<never>();
    this.over = promise;
    // Prevents an unhandled rejection before the first `await` of `over`.
    promise.catch(() => {});
    this.#reject = reject;
    this.#endsAtMs = monotonicMs() + lengthMs;
    const late = () => this.#end(new Error(`it was not done within ${lengthMs / 1000} s`));
    this.#timer = setTimeout(late, lengthMs);
  }

  leftMs(): number {
    return this.#endsAtMs - monotonicMs();
  }

  /** Ends the deadline because the caller has disconnected: no response would reach it. */
  leave(reason: Error): void {
    this.#callerDisconnected = true;
    this.#end(reason);
  }

  get callerDisconnected(): boolean {
    return this.#callerDisconnected;
  }

  /**
   * Calls `listener` when the deadline ends, even during a commit. There is one listener at a time, because one transaction serves a caller.
   * @returns removes the listener
   */
  onEnd(listener: () => void): () => void {
    this.#listener = listener;
    return () => {
      this.#listener = null;
    };
  }

  #end(reason: Error): void {
    clearTimeout(this.#timer);
    this.#reason ??= reason;
    if (!this.#isCommitting) this.#reject(this.#reason);
    this.#listener?.();
  }

  /** @throws the reason if the deadline is over */
  check(): void {
    if (this.#reason === null && this.leftMs() <= 0) this.#end(new Error("it was not done in time"));
    if (this.#reason !== null) throw this.#reason;
  }

  /** @throws the reason if the deadline is over; the caller must then send nothing that could commit */
  beginCommit(): void {
    this.check();
    this.#isCommitting = true;
  }

  /** Call it once the commit has certainly failed. */
  undoCommit(): void {
    this.#isCommitting = false;
  }

  /** Stops the timer, because the caller has its response. */
  stop(): void {
    clearTimeout(this.#timer);
  }
}

/** The part of a deadline that a transaction needs. One guard can combine several deadlines. */
export type CommitGuard = Pick<Deadline, "check" | "beginCommit" | "undoCommit" | "onEnd">;

/** A column of a select: the database's time in seconds since 1970, which `writeInTime` needs. */
export const CLOCK = 'extract(epoch from clock_timestamp()) as "databaseClock"';

/**
 * Builds the writes of a transaction: one statement with all parts, and one that checks the deadline after it. If the database's clock is
 * past the deadline, the check fails, and the transaction with it. So the check also covers a server that stood still, and a part that
 * waited for a lock or at a unique index (decision 134). Measured alternative: to read the time in the writing statement costs more, because its parts
 * must return their rows to be counted before the check. Considered: a trigger that checks, which a restore may have switched off.
 * @param leftMs the milliseconds until the deadline
 * @param row a row with the column of `CLOCK`
 * @param write returns one part or more. Each inserts, updates or deletes. They run in any order, and none sees the writes of another
 */
export function writeInTime(
  leftMs: number,
  row: TextRow,
  write: (put: Put) => readonly string[],
): readonly SqlStatement[] {
  const endsAt = Number(row["databaseClock"]) + leftMs / 1000;
  const writes = writeStatement((put) => {
    const parts = write(put);
    const others = parts.slice(0, -1).map((part, index) => `part_${index + 1} as (${part})`);
    return `${others.length === 0 ? "" : `with ${others.join(",\n")}\n`}${parts.at(-1)}`;
  });
  const check = writeStatement(
    (put) =>
      `select 1 / (extract(epoch from clock_timestamp()) < ${put(endsAt.toFixed(6))}::numeric)::integer as "inTime"`,
  );
  return [writes, check];
}

/** PostgreSQL's code for the division by zero with which `writeInTime` fails. */
export const TOO_LATE = "22012";
