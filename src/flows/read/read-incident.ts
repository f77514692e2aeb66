/** Reads incidents with their money, their trend, and who was notified of them. */

import type { KnownMismatch } from "../../alerts/alert.ts";
import { type Notification, readNotifications } from "../../alerts/alert-list-store.ts";
import type { Money } from "../../alerts/incident.ts";
import {
  countArrivals,
  type Growth,
  type IncidentChoice,
  type IncidentRange,
  type IncidentSum,
  type ListedIncident,
  listChangedIncidents,
  listIncidents,
  readGrowth,
  readLargestIncidents,
  readListedIncident,
  sumIncidents,
  sumOtherIncidents,
} from "../../alerts/incident-list-store.ts";
import { readLargest } from "../../alerts/incident-store.ts";
import type { Instant } from "../../clock.ts";
import { cursorAt, placeAfter, placeOfCursor, readChangesEnd } from "../../db/change-position.ts";
import { ReconError } from "../../errors.ts";
import { type Comment, readComments } from "../../mismatches/comment-store.ts";
import { formatAmount, parseAmount, sumAmounts } from "../../money.ts";
import type { FlowContext } from "../context.ts";

const LARGEST_LISTED = 5;
const MOST_NOTIFICATIONS = 100;
const TREND_STEPS = 48;
/** An incident grows while a mismatch has joined it within this time. */
export const LATELY_MS = 5 * 60_000;
/** A shorter trend would show single seconds. */
const SHORTEST_TREND_MS = TREND_STEPS * 60_000;

export interface IncidentWithMoney extends ListedIncident {
  /** how many of the open ones are acknowledged */
  readonly acknowledged: number;
  /** at risk in its open and acknowledged mismatches; once it is over, in all of them */
  readonly amounts: readonly Money[];
}

export interface IncidentStory {
  readonly incident: IncidentWithMoney;
  /** by status and currency */
  readonly sums: readonly IncidentSum[];
  /** open and acknowledged ones; once it is over, of all */
  readonly largest: readonly KnownMismatch[];
  /** new mismatches in equal steps, from its beginning or earlier, to its end or the present */
  readonly trend: { readonly from: Instant; readonly to: Instant; readonly counts: readonly number[] };
  /** "lately": within `LATELY_MS` */
  readonly growth: Growth;
  readonly notifications: readonly Notification[];
  /** the oldest first */
  readonly comments: readonly Comment[];
}

export async function listIncidentsWithMoney(
  { sql }: FlowContext,
  choice: IncidentChoice,
  page: IncidentRange,
): Promise<{ incidents: IncidentWithMoney[]; next: string | null }> {
  const { incidents, next } = await listIncidents(sql, choice, page);
  const sums = await sumIncidents(
    sql,
    incidents.map(({ id }) => id),
  );
  return { incidents: incidents.map((one) => withMoney(one, sums)), next };
}

/** As `listIncidentsWithMoney`, of those that changed after a cursor, in the order of their changes. */
export async function listIncidentsSince(
  { sql }: FlowContext,
  choice: IncidentChoice,
  { limit, changedSince }: { readonly limit: number; readonly changedSince: string },
): Promise<{ incidents: IncidentWithMoney[]; next: string | null; cursor: string }> {
  const end = await readChangesEnd(sql);
  const from = placeOfCursor(changedSince, end);
  const { incidents, last } = await listChangedIncidents(sql, choice, limit, from, end);
  const sums = await sumIncidents(
    sql,
    incidents.map(({ id }) => id),
  );
  const cursor = cursorAt(end, placeAfter(from, end, last));
  return {
    incidents: incidents.map((one) => withMoney(one, sums)),
    next: last === null ? null : cursor,
    cursor,
  };
}

/** Some of the open incidents, the number of all, and the money at risk in the other ones. */
export interface OpenIncidents {
  readonly incidents: readonly IncidentWithMoney[];
  readonly count: number;
  readonly others: readonly Money[];
}

/** Those with the most undecided mismatches. */
export async function readOpenIncidents({ sql }: FlowContext, most: number): Promise<OpenIncidents> {
  const { incidents, count } = await readLargestIncidents(sql, most);
  const ids = incidents.map(({ id }) => id);
  const [sums, others] = await Promise.all([
    sumIncidents(sql, ids),
    count > ids.length ? sumOtherIncidents(sql, ids) : [],
  ]);
  return { incidents: incidents.map((one) => withMoney(one, sums)), count, others };
}

/** @throws ReconError `not-found` */
export async function readIncidentStory({ sql, clock }: FlowContext, id: string): Promise<IncidentStory> {
  const incident = /^[1-9]\d{0,14}$/.test(id) ? await readListedIncident(sql, Number(id)) : null;
  if (incident === null) throw new ReconError("not-found", `there is no incident "${id.slice(0, 60)}"`);
  const { beganAt, endedAt } = incident;
  const to = Math.max(endedAt ?? clock.now(), beganAt);
  const range = { from: Math.min(beganAt, to - SHORTEST_TREND_MS), to };
  const [sums, largest, counts, growth, notifications, comments] = await Promise.all([
    sumIncidents(sql, [incident.id]),
    readLargest(sql, incident.id, endedAt === null, LARGEST_LISTED),
    countArrivals(sql, incident.id, range, TREND_STEPS),
    readGrowth(sql, incident, clock.now() - LATELY_MS),
    readNotifications(sql, incident.id, MOST_NOTIFICATIONS),
    readComments(sql, "incident", incident.id),
  ]);
  return {
    incident: withMoney(incident, sums),
    sums,
    largest,
    trend: { ...range, counts },
    growth,
    notifications,
    comments,
  };
}

function withMoney(incident: ListedIncident, sums: readonly IncidentSum[]): IncidentWithMoney {
  const own = sums.filter(
    ({ incidentId, status }) =>
      incidentId === incident.id &&
      (incident.endedAt !== null || status === "open" || status === "acknowledged"),
  );
  const amounts = [...Map.groupBy(own, ({ currency }) => currency)].map(([currency, parts]) => ({
    currency,
    amount: formatAmount(sumAmounts(parts.map(({ amount }) => parseAmount(amount, "amountAtRisk")))),
  }));
  const acknowledged = own
    .filter(({ status }) => status === "acknowledged")
    .reduce((sum, { count }) => sum + count, 0);
  return { ...incident, acknowledged, amounts };
}
