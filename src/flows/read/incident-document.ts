/** Incidents as JSON, for commands and HTTP. */

import { z } from "zod";
import type { IncidentChoice, IncidentRange } from "../../alerts/incident-list-store.ts";
import {
  AMOUNT,
  type AnswerOf,
  COUNT,
  CURSOR,
  INSTANT,
  LIST_COUNT,
  listOf,
  NEXT,
  objectOf,
  TEXT,
} from "../../answer.ts";
import { formatInstant, type Instant } from "../../clock.ts";
import { cursorAt, readChangesEnd } from "../../db/change-position.ts";
import { CASE, MISMATCH, MISMATCH_KINDS, MISMATCH_STATUSES } from "../../mismatch.ts";
import { COMMENT } from "../../mismatches/comment-store.ts";
import type { FlowContext } from "../context.ts";
import { listMismatches } from "./list-mismatches.ts";
import {
  type IncidentWithMoney,
  listIncidentsSince,
  listIncidentsWithMoney,
  readIncidentStory,
} from "./read-incident.ts";

/** Its first mismatches; the list of mismatches pages through all of them. */
const MOST_MISMATCHES = 100;

export const INCIDENT = objectOf({
  id: TEXT,
  productId: TEXT,
  kind: z.enum(MISMATCH_KINDS),
  /** the backfill that found its mismatches; null: no backfill */
  backfillId: z.nullable(TEXT),
  beganAt: INSTANT,
  /** when its newest mismatch was first seen */
  lastAt: INSTANT,
  /** null: it is open */
  endedAt: z.nullable(INSTANT),
  total: COUNT,
  open: COUNT,
  amounts: listOf(objectOf({ currency: z.nullable(TEXT), amount: AMOUNT })),
  ...CASE,
});
export type IncidentDocument = AnswerOf<typeof INCIDENT>;

export const INCIDENT_LIST = objectOf({
  incidents: listOf(INCIDENT),
  next: NEXT,
  cursor: CURSOR,
  ...LIST_COUNT,
});

export const INCIDENT_STORY = INCIDENT.extend({
  /** by status and currency */
  sums: listOf(
    objectOf({ status: z.enum(MISMATCH_STATUSES), currency: z.nullable(TEXT), count: COUNT, amount: AMOUNT }),
  ),
  /** the first ones, of any status */
  mismatches: listOf(MISMATCH),
  /** `after` of the list of its mismatches; null: these are all */
  next: NEXT,
  /** the number of new mismatches in equal steps of time */
  trend: objectOf({ from: INSTANT, to: INSTANT, counts: listOf(COUNT) }),
  /** who was notified of what, in the order of time */
  notifications: listOf(
    objectOf({
      alertId: TEXT,
      kind: TEXT,
      what: TEXT,
      at: INSTANT,
      /** null: it was not sent to any channel yet */
      channel: z.nullable(TEXT),
      attempts: COUNT,
      deliveredAt: z.nullable(INSTANT),
      lastError: z.nullable(TEXT),
    }),
  ),
  /** the oldest first */
  comments: listOf(COMMENT),
});
export type IncidentStoryDocument = AnswerOf<typeof INCIDENT_STORY>;

/** What of the list is asked for. */
export interface AskedIncidents {
  readonly choice: IncidentChoice;
  readonly page: IncidentRange;
  /** null: the list in the order of the page */
  readonly changedSince: string | null;
}

export function describeIncident(incident: IncidentWithMoney): IncidentDocument {
  const { id, productId, kind, backfillId, beganAt, lastAt, endedAt, total, open, amounts } = incident;
  return {
    id: String(id),
    productId,
    kind,
    backfillId: backfillId === 0 ? null : String(backfillId),
    beganAt: formatInstant(beganAt),
    lastAt: formatInstant(lastAt),
    endedAt: instantOrNull(endedAt),
    total,
    open,
    amounts,
    owner: incident.owner,
    ticket: incident.ticket,
    withProvider: instantOrNull(incident.withProvider),
    remindAt: instantOrNull(incident.remindAt),
  };
}

/** A page of the list, or of those that changed after a cursor. */
export async function listIncidentDocuments(
  context: FlowContext,
  { choice, page, changedSince }: AskedIncidents,
): Promise<AnswerOf<typeof INCIDENT_LIST>> {
  if (changedSince !== null) {
    const since = page.after ?? changedSince;
    const changed = await listIncidentsSince(context, choice, { limit: page.limit, changedSince: since });
    return { ...changed, incidents: changed.incidents.map(describeIncident) };
  }
  const end = await readChangesEnd(context.sql);
  const { incidents, next } = await listIncidentsWithMoney(context, choice, page);
  const cursor = page.after === null ? cursorAt(end, end) : null;
  return { incidents: incidents.map(describeIncident), next, cursor };
}

/** @throws ReconError `not-found` */
export async function readIncidentDocument(context: FlowContext, id: string): Promise<IncidentStoryDocument> {
  const { incident, sums, trend, notifications, comments } = await readIncidentStory(context, id);
  const page = { order: null, limit: MOST_MISMATCHES, after: null };
  const { mismatches, next } = await listMismatches(context, {
    statuses: MISMATCH_STATUSES,
    kind: null,
    productId: null,
    username: null,
    incidentId: incident.id,
    ...page,
  });
  return {
    ...describeIncident(incident),
    sums: sums.map(({ status, currency, count, amount }) => ({ status, currency, count, amount })),
    mismatches,
    next,
    trend: { from: formatInstant(trend.from), to: formatInstant(trend.to), counts: trend.counts },
    notifications: notifications.map(({ count: _, ...one }) => ({
      ...one,
      alertId: String(one.alertId),
      at: formatInstant(one.at),
      deliveredAt: instantOrNull(one.deliveredAt),
    })),
    comments,
  };
}

function instantOrNull(at: Instant | null): string | null {
  return at === null ? null : formatInstant(at);
}
