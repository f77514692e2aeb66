/**
 * The time for which a caller waits for a transaction. Nothing is committed for a caller that does not wait any more.
 */

import { monotonicMs } from "../clock.ts";
import type { TextRow } from "./pipelined-connection.ts";
import { type Put, type SqlStatement, writeStatement } from "./statement.ts";

/**
 * Begins when it is constructed. Ends when its time has passed, or when the caller leaves. If that happens during a commit,
 * `over` does not reject: only the database knows the outcome. It cancels the commit if that still waits (`onOver`), and
 * checks the deadline itself (`writeInTime`, decision 126).
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
  #heard: (() => void) | null = null;

  constructor(lengthMs: number) {
    const { promise, reject } = Promise.withResolvers<never>();
    this.over = promise;
    // Prevents an unhandled rejection while no caller awaits `over`.
    promise.catch(() => {});
    this.#reject = reject;
    this.#endsAtMs = monotonicMs() + lengthMs;
    const late = () => this.#end(new Error(`it was not done within ${lengthMs / 1000} s`));
    this.#timer = setTimeout(late, lengthMs);
  }

  leftMs(): number {
    return this.#endsAtMs - monotonicMs();
  }

  /** The caller has disconnected, so no answer would reach it. */
  leave(reason: Error): void {
    this.#callerDisconnected = true;
    this.#end(reason);
  }

  get callerDisconnected(): boolean {
    return this.#callerDisconnected;
  }

  /**
   * Calls `heard` when the deadline ends, even during a commit. One listener at a time: one transaction serves a caller.
   * @returns ends the listening
   */
  onOver(heard: () => void): () => void {
    this.#heard = heard;
    return () => {
      this.#heard = null;
    };
  }

  #end(reason: Error): void {
    clearTimeout(this.#timer);
    this.#reason ??= reason;
    if (!this.#isCommitting) this.#reject(this.#reason);
    this.#heard?.();
  }

  /** @throws the reason where the deadline is over */
  check(): void {
    if (this.#reason === null && this.leftMs() <= 0) this.#end(new Error("it was not done in time"));
    if (this.#reason !== null) throw this.#reason;
  }

  /** @throws the reason where the deadline is over; the caller must then send nothing that could commit */
  beginCommit(): void {
    this.check();
    this.#isCommitting = true;
  }

  /** The commit has certainly failed. */
  undoCommit(): void {
    this.#isCommitting = false;
  }

  /** Ends the timer, because the caller has its answer. */
  stop(): void {
    clearTimeout(this.#timer);
  }
}

/** The part of a deadline that a transaction asks. Several deadlines can stand behind one. */
export type CommitGuard = Pick<Deadline, "check" | "beginCommit" | "undoCommit" | "onOver">;

/** A column of a select: the database's time in seconds since 1970, which `writeInTime` needs. */
export const CLOCK = 'extract(epoch from clock_timestamp()) as "databaseClock"';

/**
 * Builds the writes of a transaction: one statement with all parts, and behind it one that fails, and the transaction with
 * it, where the database's clock is past the deadline after all parts were written (decision 134). The check also covers
 * a server that stood still, and a part that waited for a lock.
 * @param leftMs the time that is left until the deadline
 * @param row a row with the column of `CLOCK`
 * @param write returns the parts, at least one. Each inserts, updates or deletes. They run in any order, and none sees
 * the writes of another one
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
