/** Incidents: which mismatches belong together, and when an incident is worth an alert. Pure. */

import type { Instant } from "../clock.ts";
import type { MismatchChange, MismatchKind } from "../mismatch.ts";
import { type Amount, formatAmount, parseAmount, sumAmounts } from "../money.ts";

/** Mismatches of one product and kind, each first seen soon after the one before (`longestPauseMs` of `joins`). */
export interface Incident {
  readonly productId: string;
  readonly kind: MismatchKind;
  /** the backfill that found its mismatches; 0: no backfill */
  readonly backfillId: number;
  /** the number of the incident within its product, kind and backfill */
  readonly number: number;
  readonly beganAt: Instant;
  /** the time at which its newest mismatch was first seen */
  readonly lastAt: Instant;
  /** the number of its mismatches, those that have ended included */
  readonly total: number;
  /** the number of its open or acknowledged mismatches */
  readonly open: number;
  /** `total` at the last alert; 0: there was no alert */
  readonly alertedTotal: number;
  /** the time at which its last mismatch ended; null: the incident is open */
  readonly endedAt: Instant | null;
}

/** Money of one currency; null: of mismatches without a currency. */
export interface Money {
  readonly currency: string | null;
  /** decimal text */
  readonly amount: string;
}

/** Adds up amounts of the same currency, in the order in which the currencies come first. */
export function sumByCurrency(parts: readonly Money[]): Money[] {
  return [...Map.groupBy(parts, ({ currency }) => currency)].map(([currency, own]) => ({
    currency,
    amount: formatAmount(sumAmounts(own.map(({ amount }) => parseAmount(amount, "amountAtRisk")))),
  }));
}

const GROWTH = 10;

/**
 * How long the alert of an end is delayed: if ops undo a misclick within this time, no alert is sent. An undo after the
 * alert sends `incident-opened` with the words "open again".
 */
export const END_SENT_AFTER_MS = 15_000;
/** How long an undo may delete it: shorter, because the clocks of two processes may differ. */
export const END_WITHDRAWN_WITHIN_MS = 10_000;

/** Kinds that are reported at once, however small: the money moved although its failure was final. */
const REPORTED_AT_ONCE: ReadonlySet<MismatchKind> = new Set(["transfer-late-success", "top-up-late-success"]);

/** Whether a change adds a mismatch to those that need a decision. */
export function isEntering({ change }: Pick<MismatchChange, "change">): boolean {
  return change === "open" || change === "reopen" || change === "restore";
}

export function isLeaving({ change }: Pick<MismatchChange, "change">): boolean {
  return change === "resolve" || change === "ignore";
}

/**
 * Whether a mismatch first seen at `at` belongs to the newest incident of its product and kind. Otherwise it begins a
 * new incident.
 * @param longestPauseMs the longest time from one mismatch of an incident to the next
 */
export function joins(newest: Incident | null, at: Instant, longestPauseMs: number): newest is Incident {
  return newest !== null && newest.endedAt === null && at - newest.lastAt <= longestPauseMs;
}

/** The next incident of a product and kind. */
export function beginIncident(
  group: Pick<Incident, "productId" | "kind" | "backfillId">,
  newest: Incident | null,
  at: Instant,
): Incident {
  const { productId, kind, backfillId } = group;
  const number = (newest?.number ?? 0) + 1;
  return {
    productId,
    kind,
    backfillId,
    number,
    beganAt: at,
    lastAt: at,
    total: 0,
    open: 0,
    alertedTotal: 0,
    endedAt: null,
  };
}

/** How one transaction changed the mismatches of an incident. */
export interface IncidentCounts {
  /** first seen, or opened again after their former incident had ended */
  readonly joined: number;
  /** opened again while the incident is open, or restored by an undo, which continues an ended one */
  readonly returned: number;
  /** resolved or ignored */
  readonly left: number;
}

/**
 * The incident after a transaction. Mismatches that join and leave in one transaction do so at one time: the incident
 * does not end in between.
 */
export function advanceIncident(
  incident: Incident,
  { joined, returned, left }: IncidentCounts,
  at: Instant,
): Incident {
  const open = incident.open + joined + returned - left;
  return {
    ...incident,
    lastAt: joined > 0 ? Math.max(incident.lastAt, at) : incident.lastAt,
    total: incident.total + joined,
    open,
    endedAt: open > 0 ? null : (incident.endedAt ?? at),
  };
}

export type IncidentNews = "opened" | "grown" | "over";

/**
 * What to report about an incident now: its beginning, its tenfold growth since the last alert, or its end. An
 * incident without an alert ends without one.
 * @param reachesMinimum whether its money reaches the minimum; matters only before the first alert
 */
export function newsOf(incident: Incident, reachesMinimum: boolean): IncidentNews | null {
  const { open, total, alertedTotal, kind } = incident;
  const atOnce = REPORTED_AT_ONCE.has(kind);
  if (open === 0) return alertedTotal > 0 ? "over" : null;
  if (alertedTotal === 0) return reachesMinimum || atOnce ? "opened" : null;
  if (atOnce) return total > alertedTotal ? "grown" : null;
  return total >= alertedTotal * GROWTH ? "grown" : null;
}

/**
 * Whether the open and acknowledged mismatches of an incident have enough money at risk for an alert: at least one
 * currency has no minimum or reaches its minimum.
 * @param minAmounts decimal text by currency
 */
export function isWorthReporting(
  atRisk: readonly Money[],
  minAmounts: Readonly<Record<string, string>>,
): boolean {
  return atRisk.some(({ currency, amount }) => {
    const least = currency === null ? undefined : minAmounts[currency];
    return least === undefined || toAmount(amount).gte(toAmount(least));
  });
}

function toAmount(text: string): Amount {
  return parseAmount(text, "amount");
}
