/** Incidents: which mismatches belong together, and when one is worth an alert. Pure. */

import type { Instant } from "../clock.ts";
import type { MismatchChange, MismatchKind } from "../mismatch.ts";
import { type Amount, parseAmount } from "../money.ts";

/** Mismatches of one product and kind, each first seen within the gap of the one before. */
export interface Incident {
  readonly productId: string;
  readonly kind: MismatchKind;
  /** the backfill that brought its mismatches; 0: none did */
  readonly backfillId: number;
  /** counts the incidents of this product, kind and backfill */
  readonly number: number;
  readonly beganAt: Instant;
  /** when the last of its mismatches was first seen */
  readonly lastAt: Instant;
  /** how many mismatches it has had */
  readonly total: number;
  /** how many of them are open or acknowledged */
  readonly open: number;
  /** how many it had when the last alert told of it; 0: none did */
  readonly alertedTotal: number;
  /** when the last of them was over; null: it goes on */
  readonly endedAt: Instant | null;
}

/** Money of one currency; null: of mismatches that name none. */
export interface Money {
  readonly currency: string | null;
  /** decimal text */
  readonly amount: string;
}

const GROWTH = 10;
/** Money went out twice, or came in unseen: each one is told of at once, however small. */
const REPORTED_AT_ONCE: ReadonlySet<MismatchKind> = new Set(["transfer-late-success", "top-up-late-success"]);

/** What a change does to the number of mismatches that wait for somebody. */
export function isEntering({ change }: Pick<MismatchChange, "change">): boolean {
  return change === "open" || change === "reopen";
}

export function isLeaving({ change }: Pick<MismatchChange, "change">): boolean {
  return change === "resolve" || change === "ignore";
}

/** Whether what is first seen at `at` belongs to the newest incident of its product and kind; else it begins another. */
export function joins(newest: Incident | null, at: Instant, gapMs: number): newest is Incident {
  return newest !== null && newest.endedAt === null && at - newest.lastAt <= gapMs;
}

/** The incident that begins behind the newest one of its product and kind. */
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

/** How many of an incident's mismatches did what in one transaction. */
export interface IncidentCounts {
  /** first seen, or seen again after their former incident was over */
  readonly joined: number;
  /** open again while it goes on */
  readonly returned: number;
  /** resolved or ignored */
  readonly left: number;
}

/** The incident after a transaction. What joins and what leaves in one transaction is one moment: it does not end between. */
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
 * What is to be told of an incident now: that it is there, that it has grown tenfold since it was last told of, that it
 * is over. One that nobody was told of ends in silence.
 * @param isLoud its money is worth telling; only asked of one that nobody was told of
 */
export function newsOf(incident: Incident, isLoud: boolean): IncidentNews | null {
  const { open, total, alertedTotal, kind } = incident;
  const atOnce = REPORTED_AT_ONCE.has(kind);
  if (open === 0) return alertedTotal > 0 ? "over" : null;
  if (alertedTotal === 0) return isLoud || atOnce ? "opened" : null;
  if (atOnce) return total > alertedTotal ? "grown" : null;
  return total >= alertedTotal * GROWTH ? "grown" : null;
}

/**
 * Whether the money of an incident's open and acknowledged mismatches is worth telling: it is where one currency has no
 * minimum, or reaches it.
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
