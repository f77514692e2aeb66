/** Conditions: something is wrong as a whole for a while. One alert reports the beginning, another one the end. */

import { formatInstant, type Instant } from "../clock.ts";
import type { Alert } from "./alert.ts";

export type ConditionKind =
  | "product-stalled"
  | "resweep-behind"
  | "credentials-refused"
  | "alerts-undelivered"
  | "clock-wrong"
  | "redis-shared"
  | "comparing-stalled"
  | "comparing-set-aside"
  | "ledger-unreadable"
  | "verifying-stalled"
  | "closing-stalled"
  | "entries-vanished"
  | "queue-unserved"
  | "money-outside"
  | "unknown-product"
  | "books-wrong"
  | "disk-full"
  | "backfill-failed";

/** The identity of a condition. */
export interface ConditionName {
  readonly kind: ConditionKind;
  /** the subject: a product, a channel, a queue, a relation, a process, or "provider" */
  readonly subject: string;
}

export interface Condition extends ConditionName {
  readonly productId: string | null;
  readonly what: string;
  /** what to do, in sentences */
  readonly remedy: string;
  readonly whatWhenOver: string;
  /** the heads of the affected products; the condition cannot end before these heads have moved */
  readonly heads?: Readonly<Record<string, Instant>>;
}

/** A condition that was reported and has not ended. */
export interface StandingCondition extends ConditionName {
  readonly productId: string | null;
  readonly since: Instant;
  readonly whatWhenOver: string;
  readonly heads: Readonly<Record<string, Instant>>;
}

/** The conditions that only the process that began them can see. */
const SEEN_BY_ONE: ReadonlySet<ConditionKind> = new Set(["clock-wrong", "redis-shared"]);
/** The entry of `heads` in which that process renews its condition. */
export const SEEN_AT = "seen at";
/** A process that has not renewed its condition for this long counts as ended. */
const LONGEST_SILENCE_MS = 120_000;

/** Whether only the process that began the condition can see its end. */
export function isSeenByOne({ kind }: ConditionName): boolean {
  return SEEN_BY_ONE.has(kind);
}

/** Whether the only process that sees this condition has ended. */
export function isWitnessGone({ since, heads }: StandingCondition, now: Instant): boolean {
  return now - (heads[SEEN_AT] ?? since) > LONGEST_SILENCE_MS;
}

export function beginningAlert({ kind, subject, productId, what, remedy }: Condition, at: Instant): Alert {
  const body = { what, toDo: remedy, productId, since: formatInstant(at) };
  return { idempotencyKey: `${kind}/${subject}/${formatInstant(at)}`, kind, productId, body, at };
}

export function endAlert(
  { kind, subject, productId, since, whatWhenOver }: StandingCondition,
  at: Instant,
): Alert {
  const body = { what: whatWhenOver, productId, since: formatInstant(since), until: formatInstant(at) };
  const idempotencyKey = `${kind}/${subject}/${formatInstant(since)}/over`;
  return { idempotencyKey, kind: `${kind}-over`, productId, body, at };
}

export function isSame(a: ConditionName, b: ConditionName): boolean {
  return a.kind === b.kind && a.subject === b.subject;
}
