/** Incidents as JSON, for commands and HTTP. */

import type { Notification } from "../../alerts/incident-list-store.ts";
import { formatInstant, type Instant } from "../../clock.ts";
import { MISMATCH_STATUSES, type Mismatch } from "../../mismatch.ts";
import type { Comment } from "../../mismatches/comment-store.ts";
import type { FlowContext } from "../context.ts";
import { listMismatches } from "./list-mismatches.ts";
import { type IncidentStory, type IncidentWithMoney, readIncidentStory } from "./read-incident.ts";

/** Its first mismatches; the list of mismatches pages through all of them. */
const MOST_MISMATCHES = 100;

/** Times are ISO 8601, amounts decimal text. */
export interface IncidentDocument
  extends Pick<IncidentWithMoney, "productId" | "kind" | "total" | "open" | "amounts"> {
  readonly id: string;
  /** the backfill that found its mismatches; null: no backfill */
  readonly backfillId: string | null;
  readonly beganAt: string;
  /** when its newest mismatch was first seen */
  readonly lastAt: string;
  /** null: it is open */
  readonly endedAt: string | null;
}

export interface IncidentStoryDocument extends IncidentDocument {
  /** by status and currency */
  readonly sums: readonly Omit<IncidentStory["sums"][number], "incidentId">[];
  /** the first ones, of any status */
  readonly mismatches: readonly Mismatch[];
  /** `after` of the list of its mismatches; null: these are all */
  readonly next: string | null;
  /** the number of new mismatches in equal steps of time */
  readonly trend: { readonly from: string; readonly to: string; readonly counts: readonly number[] };
  /** who was notified of what, in the order of time */
  readonly notifications: readonly (Omit<Notification, "alertId" | "at" | "count" | "deliveredAt"> & {
    readonly alertId: string;
    readonly at: string;
    readonly deliveredAt: string | null;
  })[];
  /** the oldest first */
  readonly comments: readonly Comment[];
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
  };
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
