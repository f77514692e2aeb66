/** Deletes old alerts and incidents. */

import type { Query } from "../db/client.ts";
import { type DroppedById, dropById } from "../db/drop-rows.ts";
import type { TimeRange } from "../window.ts";

/** Deletes alerts that were created in a range of time, and for which no channel waits, with their deliveries. */
export async function dropOldAlerts(
  tx: Query,
  { from, to }: TimeRange,
  after: number,
  most: number,
): Promise<DroppedById> {
  const mayGo = tx`t.created_at >= ${from} and t.created_at < ${to}
    and (t.delivered_at < ${to} or t.delivered_at is null and not exists (select from alert_channels))`;
  const dropped = await dropById(tx, "alerts", mayGo, after, most);
  if (dropped.count > 0)
    await tx`delete from alert_deliveries d where alert_id > ${after} and alert_id <= ${dropped.last}
      and not exists (select from alerts a where a.id = d.alert_id)`;
  return dropped;
}

/** Deletes ended incidents of a range of time with their comments, once all their mismatches are deleted. */
export async function dropOldIncidents(
  tx: Query,
  { from, to }: TimeRange,
  after: number,
  most: number,
): Promise<DroppedById> {
  // The newest incident of its kind stays, because its number decides the next one.
  const mayGo = tx`t.open = 0 and t.began_at >= ${from} and t.last_at < ${to}
    and not exists (select from incident_members m where m.incident_id = t.id)
    and exists (select from incidents n where n.product_id = t.product_id and n.kind = t.kind
      and n.backfill_id = t.backfill_id and n.number > t.number)`;
  const dropped = await dropById(tx, "incidents", mayGo, after, most);
  if (dropped.count > 0)
    await tx`delete from comments c where about = 'incident' and about_id > ${after} and about_id <= ${dropped.last}
      and not exists (select from incidents i where i.id = c.about_id)`;
  return dropped;
}
