/** A finding: what is wrong or unknown, and what to do. And the pauses after which work counts as late. Pure. */

import type { Condition, ConditionKind } from "../alerts/condition.ts";
import type { Instant } from "../clock.ts";
import type { WorkKind, WorkState } from "../work/work-store.ts";

/** Worst first. "unknown" is neither good nor bad: there are no facts yet. */
export const SEVERITIES = ["bad", "warn", "unknown"] as const;
export type Severity = (typeof SEVERITIES)[number];

/** The kinds of the conditions that are alerted, and those that only pages and commands show. */
export type FindingKind =
  | ConditionKind
  | "product-behind"
  | "product-not-begun"
  | "comparing-waits"
  | "comparing-behind"
  | "ledger-not-read"
  | "ledger-empty"
  | "verifying-behind"
  | "verifying-not-begun"
  | "alerting-stalled"
  | "money-unknown"
  | "books-unknown"
  | "heartbeat-stalled"
  | "retention-stalled";

export interface Finding {
  readonly kind: FindingKind;
  /** a product, a relation, a queue, a channel, a process */
  readonly subject: string;
  readonly productId: string | null;
  readonly severity: Severity;
  /** what happened, as a clause that begins in lower case: "P1 is 3 h behind" */
  readonly what: string;
  /** what to do, in sentences; null: nothing */
  readonly remedy: string | null;
  /** the text of the all-clear; null: no alert reports this */
  readonly whatWhenOver: string | null;
  /** all work of the kind has stopped, not only that of one product or queue: no heartbeat is sent */
  readonly isWhole?: boolean;
  /** the heads of the affected products: the alert's condition cannot end before these have moved */
  readonly heads?: Readonly<Record<string, Instant>>;
}

/** Whether alerts report the beginning and the end of what was found. */
export function isReported(finding: Finding): finding is Finding & Condition {
  return finding.whatWhenOver !== null;
}

/** A finding of the whole installation that pages and commands show, and no alert reports. */
export function notice(
  kind: FindingKind,
  severity: Severity,
  what: string,
  remedy: string | null = null,
): Finding {
  return { kind, subject: "", productId: null, severity, what, remedy, whatWhenOver: null };
}

/** The time of the judgement. */
export interface Watch {
  readonly now: Instant;
  /**
   * the beginning of the time in which the work was watched without a pause: earlier time does not count as late, or
   * a worker that starts after an outage would report everything before any of it can continue; null: all time
   * counts, and work that was never done is not late
   */
  readonly watchedSince: Instant | null;
}

export interface StatesSeen extends Watch {
  readonly states: readonly WorkState[];
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
  "Check that a worker runs and takes jobs: /readyz and the worker's log name the problem, and /queues shows the jobs. Nothing is lost: the work resumes where it stopped.";

/** What to do about work that fails. */
export const FAILING =
  "The worker's log has the error; the worker retries automatically. Nothing is lost: the work resumes where it stopped.";
