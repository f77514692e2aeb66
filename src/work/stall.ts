/** Stalls: work that should have continued and did not. Their texts, and the pause after which work counts as stalled. */

import type { Instant } from "../clock.ts";
import type { WorkKind, WorkState } from "./work-store.ts";

export type StallKind =
  | "product-stalled"
  | "resweep-behind"
  | "comparing-stalled"
  | "comparing-set-aside"
  | "ledger-unreadable"
  | "verifying-stalled"
  | "closing-stalled"
  | "entries-vanished"
  | "queue-unserved"
  | "money-outside"
  | "unknown-product"
  | "books-wrong";

/** A stall, with the texts of the alerts at its beginning and end. */
export interface Stall {
  readonly kind: StallKind;
  /** a product, a relation, a queue */
  readonly subject: string;
  readonly productId: string | null;
  readonly what: string;
  readonly toDo: string;
  readonly whatWhenOver: string;
  /** all work of the kind has stopped, not only that of one product or queue */
  readonly isWhole: boolean;
}

/** The time of the judgement. */
export interface Watch {
  readonly now: Instant;
  /**
   * the beginning of the time in which the work was watched without a pause: earlier time does not count as late, or a worker that starts
   * after an outage would report everything before any of it can continue; null:
   * all time counts, and work that was never done is not late
   */
  readonly watchedSince: Instant | null;
}

const MINUTE_MS = 60_000;

/** How many failures in a row count as failing. A single failure may be a lost race or a restarting server. */
const FEWEST_FAILURES = 2;

export function isFailing<State extends Pick<WorkState, "failures">>(state: State | null): state is State {
  return state !== null && state.failures >= FEWEST_FAILURES;
}

/**
 * The pause after which work is late: a minute or one and a half ticks if it fails; longer if it is silent, because it may wait for its
 * turn.
 */
export function patienceOf(everyMs: number, fails: boolean): number {
  return fails ? Math.max(1.5 * everyMs, MINUTE_MS) : Math.max(3 * everyMs, 5 * MINUTE_MS);
}

/** Work that continues may be this far behind before the operator should see it. */
const LATE_MS = 300_000;

/** Whether work that continues is so far behind that the operator should see it. */
export function isFarBehind(behindMs: number | null, everyMs: number): boolean {
  return behindMs !== null && behindMs > Math.max(2 * everyMs, LATE_MS);
}

/** Whether the last success is longer ago than the patience allows. */
export function isLate(last: Instant | null, patienceMs: number, { now, watchedSince }: Watch): boolean {
  const since = Math.max(last ?? Number.NEGATIVE_INFINITY, watchedSince ?? Number.NEGATIVE_INFINITY);
  return since !== Number.NEGATIVE_INFINITY && now - since > patienceMs;
}

export function findState(states: readonly WorkState[], work: WorkKind, subject: string): WorkState | null {
  return states.find((one) => one.work === work && one.subject === subject) ?? null;
}

/** The error code of closing if a due day stays open. */
export const DAY_OPEN = "day-open";

export const NO_WORKER =
  "Check that a worker runs and takes jobs: /readyz and the worker's log name the problem, and /queues shows the jobs. Nothing is lost: the work resumes at the point where it stopped.";
