/** Until when somebody waits for a transaction: nothing is committed for who does not wait any more. */

import { monotonicMs } from "../clock.ts";
import type { TextRow } from "./pipelined-connection.ts";
import { type Put, type SqlStatement, writeStatement } from "./statement.ts";

/**
 * Begins when it is made. It is over when its time has passed, or when who waits has left; but not while a commit is under
 * way: from there on only the database knows the outcome, and it looks at the deadline itself (`writeInTime`).
 */
export class Deadline {
  /** rejects with the reason once it is over */
  readonly over: Promise<never>;
  readonly #endsAtMs: number;
  readonly #timer: NodeJS.Timeout;
  readonly #reject: (reason: Error) => void;
  #reason: Error | null = null;
  #isCommitting = false;
  #isAlone = false;

  constructor(lengthMs: number) {
    const { promise, reject } = Promise.withResolvers<never>();
    this.over = promise;
    // Who waits for nothing else at that moment is not surprised by it.
    promise.catch(() => {});
    this.#reject = reject;
    this.#endsAtMs = monotonicMs() + lengthMs;
    const late = () => this.#end(new Error(`it was not done within ${lengthMs / 1000} s`));
    this.#timer = setTimeout(late, lengthMs);
  }

  leftMs(): number {
    return this.#endsAtMs - monotonicMs();
  }

  /** Who waits has left: an answer would reach nobody. */
  leave(reason: Error): void {
    this.#isAlone = true;
    this.#end(reason);
  }

  get isAlone(): boolean {
    return this.#isAlone;
  }

  #end(reason: Error): void {
    clearTimeout(this.#timer);
    this.#reason ??= reason;
    if (!this.#isCommitting) this.#reject(this.#reason);
  }

  /** @throws the reason why it is over */
  check(): void {
    if (this.#reason === null && this.leftMs() <= 0) this.#end(new Error("it was not done in time"));
    if (this.#reason !== null) throw this.#reason;
  }

  /** @throws the reason where it is over: then nothing may be sent that could commit */
  beginCommit(): void {
    this.check();
    this.#isCommitting = true;
  }

  /** The commit has failed for certain. */
  undoCommit(): void {
    this.#isCommitting = false;
  }

  /** There is an answer. */
  stop(): void {
    clearTimeout(this.#timer);
  }
}

/** In the list of a select that is read when the deadline is looked at: the database's time, in seconds since 1970. */
export const CLOCK = 'extract(epoch from clock_timestamp()) as "databaseClock"';

/**
 * All that a transaction writes, in the one statement before `commit`: it fails, and the transaction with it, where its parts
 * were not written before the deadline, by the clock that `row` was read from. A server that stood still in between, or a
 * part that had to wait, finds out when it goes on: the time is read when all parts are counted.
 * @param row has the column of `CLOCK`
 * @param write gives the parts, at least one: each inserts, updates or deletes, and returns nothing. They are written in
 *   any order, and none sees what another one writes
 */
export function writeInTime(
  deadline: Deadline,
  row: TextRow,
  write: (put: Put) => readonly string[],
): SqlStatement {
  const endsAt = Number(row["databaseClock"]) + deadline.leftMs() / 1000;
  return writeStatement((put) => {
    const parts = write(put).map((part, index) => ({ name: `part_${index}`, part }));
    const named = parts.map(({ name, part }) => `${name} as (${part} returning 1)`);
    return `with ${named.join(",\n")}
      select 1 / (extract(epoch from clock_timestamp()) < ${put(endsAt.toFixed(6))}::numeric)::integer as "inTime",
        count(*) as written from (${parts.map(({ name }) => `table ${name}`).join(" union all ")}) as parts`;
  });
}

/** Of PostgreSQL, for what `writeInTime` divides by zero. */
export const TOO_LATE = "22012";
