/** Updates incidents and writes their alerts, in the transaction that changed the mismatches. */

import type { Instant } from "../clock.ts";
import type { Query } from "../db/client.ts";
import type { MismatchChange } from "../mismatch.ts";
import { incidentAlert, keyOfAlert, type ReportedNews } from "./alert.ts";
import {
  advanceIncident,
  beginIncident,
  END_WITHDRAWN_WITHIN_MS,
  isEntering,
  isLeaving,
  isWorthReporting,
  joins,
  newsOf,
} from "./incident.ts";
import {
  type IncidentGroup,
  insertIncident,
  lockGroups,
  lockIncidents,
  readIncidentIds,
  readLargest,
  type StoredIncident,
  sumAtRisk,
  updateIncidents,
  writeMembers,
} from "./incident-store.ts";
import { readLastCount, recordAlert, withdrawAlert } from "./store.ts";

const LARGEST_LISTED = 3;

/** A change, with the backfill that found the mismatch; 0: no backfill. */
export type ChangeOfBackfill = MismatchChange & { readonly backfillId: number };

export interface IncidentSettings {
  /** the longest time from one mismatch of an incident to the next, in milliseconds */
  readonly longestPauseMs: number;
  /** the smallest amount that the program reports; decimal text by currency */
  readonly minAmounts: Readonly<Record<string, string>>;
}

/**
 * Counts the changes in their incidents, and writes the alerts that follow.
 * The caller has locked the mismatches. This function then locks the incidents, in one order.
 */
export async function recordIncidents(
  tx: Query,
  changes: readonly ChangeOfBackfill[],
  settings: IncidentSettings,
  now: Instant,
): Promise<void> {
  const hasMinimum = Object.keys(settings.minAmounts).length > 0;
  // New values can lift an incident over its minimum; without a minimum every incident is reported from the
  // beginning.
  const counted = changes.filter(
    (one) => isEntering(one) || isLeaving(one) || (hasMinimum && one.change === "refresh"),
  );
  if (counted.length === 0) return;
  const incidentIds = await readIncidentIds(
    tx,
    counted.map(({ id }) => id),
  );
  const groups = groupsOf(counted.filter(isEntering));
  await lockGroups(tx, groups);
  const known = await lockIncidents(tx, [...new Set(incidentIds.values())], groups);
  const tallies = await countByIncident(tx, counted, incidentIds, known, settings.longestPauseMs, now);
  await writeMembers(
    tx,
    tallies.flatMap(({ incident, joined }) => joined.map((id) => [id, incident.id] as const)),
  );
  const advanced: StoredIncident[] = [];
  for (const { incident, joined, returned, left } of tallies) {
    const after = {
      ...incident,
      ...advanceIncident(incident, { joined: joined.length, returned, left }, now),
    };
    const isBack = incident.endedAt !== null && after.endedAt === null;
    const current = isBack ? await recordReturn(tx, incident, after, now) : after;
    advanced.push(await recordNews(tx, current, settings.minAmounts, now));
  }
  await updateIncidents(tx, advanced);
}

interface IncidentTally {
  readonly incident: StoredIncident;
  readonly joined: number[];
  returned: number;
  left: number;
}

/** Counts the changes by incident, and inserts new incidents. */
async function countByIncident(
  tx: Query,
  changes: readonly ChangeOfBackfill[],
  incidentIds: ReadonlyMap<number, number>,
  known: readonly StoredIncident[],
  longestPauseMs: number,
  now: Instant,
): Promise<IncidentTally[]> {
  const tallies = new Map<number, IncidentTally>();
  const newest = new Map<string, StoredIncident>();
  const tallyOf = (incident: StoredIncident): IncidentTally => {
    const counts = tallies.get(incident.id) ?? { incident, joined: [], returned: 0, left: 0 };
    tallies.set(incident.id, counts);
    return counts;
  };
  for (const incident of known) {
    const key = keyOf(incident);
    if ((newest.get(key)?.number ?? 0) < incident.number) newest.set(key, incident);
  }
  const byId = new Map(known.map((incident) => [incident.id, incident]));
  const former = formerIncidents(changes, (id) => byId.get(incidentIds.get(id) ?? 0));
  for (const change of changes) {
    const own = byId.get(incidentIds.get(change.id) ?? 0);
    if (!isEntering(change)) {
      if (own !== undefined) tallyOf(own).left += isLeaving(change) ? 1 : 0;
    } else if (own !== undefined && returns(change, own)) {
      tallyOf(own).returned += 1;
    } else {
      let incident = newest.get(keyOf(change)) ?? null;
      if (!joins(incident, now, longestPauseMs)) {
        const begun = beginIncident(change, incident, now);
        incident = { ...begun, id: await insertIncident(tx, begun, former.get(keyOf(change)) ?? null) };
        newest.set(keyOf(change), incident);
      }
      tallyOf(incident).joined.push(change.id);
    }
  }
  return [...tallies.values()].sort((a, b) => a.incident.id - b.incident.id);
}

/**
 * By group, the ended incident whose mismatches open again; of several the latest. If they begin a new incident, its owner and ticket
 * are those of the ended one: the same person still waits for the same answer.
 */
function formerIncidents(
  changes: readonly ChangeOfBackfill[],
  incidentOf: (id: number) => StoredIncident | undefined,
): ReadonlyMap<string, number> {
  const former = new Map<string, number>();
  for (const change of changes) {
    const own = change.change === "reopen" ? incidentOf(change.id) : undefined;
    if (own === undefined || own.endedAt === null) continue;
    former.set(keyOf(change), Math.max(own.id, former.get(keyOf(change)) ?? 0));
  }
  return former;
}

/** Whether a mismatch is open again in its own incident. An undo restores it even if that incident has ended. */
function returns({ change }: MismatchChange, { endedAt }: StoredIncident): boolean {
  return change === "restore" || (change === "reopen" && endedAt === null);
}

/**
 * If the resolution is undone before its alert goes out, the alert is deleted. If the alert may have been sent, another
 * one says that the incident is open again.
 * @returns the incident with the number of mismatches that its last alert reported
 */
async function recordReturn(
  tx: Query,
  { endedAt }: StoredIncident,
  after: StoredIncident,
  now: Instant,
): Promise<StoredIncident> {
  if (after.alertedTotal === 0 || endedAt === null) return after;
  if (await withdrawAlert(tx, keyOfAlert(after, "over", endedAt), now - END_WITHDRAWN_WITHIN_MS)) {
    return { ...after, alertedTotal: (await readLastCount(tx, after)) ?? after.alertedTotal };
  }
  return await report(tx, after, "returned", now);
}

/** Writes the alert that is due now. @returns the incident with the reported number of mismatches */
async function recordNews(
  tx: Query,
  incident: StoredIncident,
  minAmounts: IncidentSettings["minAmounts"],
  now: Instant,
): Promise<StoredIncident> {
  const isOver = incident.open === 0;
  const amountsNow = () => sumAtRisk(tx, incident.id, !isOver);
  const needsMinimum = incident.alertedTotal === 0 && !isOver && Object.keys(minAmounts).length > 0;
  const news = newsOf(incident, !needsMinimum || isWorthReporting(await amountsNow(), minAmounts));
  return news === null ? incident : await report(tx, incident, news, now);
}

async function report(
  tx: Query,
  incident: StoredIncident,
  news: ReportedNews,
  now: Instant,
): Promise<StoredIncident> {
  const onlyOpen = incident.open > 0;
  const money = {
    amounts: await sumAtRisk(tx, incident.id, onlyOpen),
    largest: await readLargest(tx, incident.id, onlyOpen, LARGEST_LISTED),
  };
  await recordAlert(tx, incidentAlert(incident, news, money, now));
  return { ...incident, alertedTotal: incident.total };
}

function groupsOf(changes: readonly ChangeOfBackfill[]): IncidentGroup[] {
  return [...new Map(changes.map((change) => [keyOf(change), change])).values()];
}

function keyOf({ productId, kind, backfillId }: IncidentGroup): string {
  return `${kind} ${backfillId} ${productId}`;
}
