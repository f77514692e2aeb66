/**
 * Incidents in PostgreSQL. An incident keeps its counts on its own row and changes them under that row's lock, and all
 * transactions lock incidents in one order. So two comparisons, or a comparison and a user, report or end it once. An
 * ended incident stays ended, and later mismatches open another one. Only an undo of the decision that ended it reopens it.
 */

import { CHANGING_NOW } from "../db/change-position.ts";
import type { Query } from "../db/client.ts";
import type { KnownMismatch } from "./alert.ts";
import type { Incident, Money } from "./incident.ts";

export interface StoredIncident extends Incident {
  readonly id: number;
}

/** What distinguishes incidents, besides time. */
export type IncidentGroup = Pick<Incident, "productId" | "kind" | "backfillId">;

/** The id of the incident of each of these mismatches, by the id of the mismatch. */
export async function readIncidentIds(
  tx: Query,
  mismatchIds: readonly number[],
): Promise<Map<number, number>> {
  const rows = await tx<{ mismatchId: number; incidentId: number }[]>`
    select mismatch_id as "mismatchId", incident_id as "incidentId" from incident_members
    where mismatch_id = any(${mismatchIds as number[]}::bigint[])`;
  return new Map(rows.map(({ mismatchId, incidentId }) => [mismatchId, incidentId]));
}

/**
 * Prevents other transactions from beginning an incident of these groups until this one ends. A transaction under
 * repeatable read may still miss a new incident; `insertIncident` then fails, and the transaction begins again.
 */
export async function lockGroups(tx: Query, groups: readonly IncidentGroup[]): Promise<void> {
  if (groups.length === 0) return;
  const keys = groups.map(({ productId, kind, backfillId }) => `incident ${kind} ${backfillId} ${productId}`);
  await tx`
    select pg_advisory_xact_lock(pg_catalog.hashtextextended(key, 0::bigint))
    from (select key from unnest(${keys}::text[]) as k (key) order by pg_catalog.hashtextextended(key, 0::bigint)) sorted`;
}

/** The incidents with these ids and the newest of each group, locked in the order of their ids. */
export async function lockIncidents(
  tx: Query,
  ids: readonly number[],
  groups: readonly IncidentGroup[],
): Promise<StoredIncident[]> {
  return await tx<StoredIncident[]>`
    select id, product_id as "productId", kind, backfill_id as "backfillId", number, began_at as "beganAt",
      last_at as "lastAt", total, open, alerted_total as "alertedTotal", ended_at as "endedAt"
    from incidents
    where id = any(array(
      select unnest(${ids as number[]}::bigint[])
      union
      select newest.id
      from unnest(${groups.map((one) => one.productId)}::text[], ${groups.map((one) => one.kind)}::text[],
        ${groups.map((one) => one.backfillId)}::bigint[]) as g (product_id, kind, backfill_id)
      cross join lateral (
        select i.id from incidents i
        where i.product_id = g.product_id and i.kind = g.kind and i.backfill_id = g.backfill_id
        order by i.number desc limit 1
      ) newest
    ))
    order by id
    for update`;
}

/**
 * @param formerId the incident whose owner and ticket the new one takes over, but not its reminder; null: none
 * @returns the id of the new incident
 */
export async function insertIncident(
  tx: Query,
  incident: Incident,
  formerId: number | null,
): Promise<number> {
  const { productId, kind, backfillId, number, beganAt, lastAt } = incident;
  // If another transaction opened the incident after this one's snapshot, the conflict is a lost race, not a
  // duplicate.
  const [row] = await tx<{ id: number }[]>`
    insert into incidents (product_id, kind, backfill_id, number, began_at, last_at, total, open, alerted_total,
      owner, ticket, with_provider, changed_in)
    select ${productId}, ${kind}, ${backfillId}, ${number}, ${beganAt}, ${lastAt}, 0, 0, 0,
      former.owner, former.ticket, former.with_provider, ${tx.unsafe(CHANGING_NOW)}
    from (values (1)) as one left join incidents former on former.id = ${formerId}
    on conflict (product_id, kind, backfill_id, number) do nothing
    returning id`;
  if (row === undefined) throw new Error(`incident ${number} of ${kind} in ${productId} began twice`);
  return row.id;
}

export async function updateIncidents(tx: Query, incidents: readonly StoredIncident[]): Promise<void> {
  await tx`
    update incidents i set last_at = u.last_at, total = u.total, open = u.open, alerted_total = u.alerted_total,
      ended_at = u.ended_at, changed_in = ${tx.unsafe(CHANGING_NOW)}
    from unnest(${incidents.map((one) => one.id)}::bigint[], ${incidents.map((one) => one.lastAt)}::timestamptz[],
      ${incidents.map((one) => one.total)}::integer[], ${incidents.map((one) => one.open)}::integer[],
      ${incidents.map((one) => one.alertedTotal)}::integer[], ${incidents.map((one) => one.endedAt)}::timestamptz[])
      as u (id, last_at, total, open, alerted_total, ended_at)
    where i.id = u.id`;
}

/** @param members [mismatch, incident] */
export async function writeMembers(
  tx: Query,
  members: readonly (readonly [number, number])[],
): Promise<void> {
  if (members.length === 0) return;
  await tx`
    insert into incident_members (mismatch_id, incident_id)
    select * from unnest(${members.map(([mismatch]) => mismatch)}::bigint[], ${members.map(([, incident]) => incident)}::bigint[])
    on conflict (mismatch_id) do update set incident_id = excluded.incident_id`;
}

/** The money at risk in an incident, by currency. @param onlyOpen counts only open and acknowledged mismatches */
export async function sumAtRisk(tx: Query, incidentId: number, onlyOpen: boolean): Promise<Money[]> {
  return await tx<Money[]>`
    select currency, sum(amount_at_risk) as amount
    from incident_members join mismatches m on m.id = mismatch_id
    where incident_id = ${incidentId} ${openOnly(tx, onlyOpen)}
    group by currency order by currency nulls last`;
}

/** The largest mismatches of an incident. @param onlyOpen reads only open and acknowledged mismatches */
export async function readLargest(
  tx: Query,
  incidentId: number,
  onlyOpen: boolean,
  most: number,
): Promise<KnownMismatch[]> {
  return await tx<KnownMismatch[]>`
    select m.id::text as id, username, amount_at_risk as "amountAtRisk", currency, reason, kind, provider, ledger
    from incident_members join mismatches m on m.id = mismatch_id
    where incident_id = ${incidentId} ${openOnly(tx, onlyOpen)}
    order by amount_at_risk desc, m.id
    limit ${most}`;
}

function openOnly(tx: Query, onlyOpen: boolean) {
  return onlyOpen ? tx`and status in ('open', 'acknowledged')` : tx``;
}
