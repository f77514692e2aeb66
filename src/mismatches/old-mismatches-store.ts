/** Deletes old mismatches with their histories. */

import type { Instant } from "../clock.ts";
import type { Query } from "../db/client.ts";
import type { TimeRange } from "../window.ts";

/**
 * Deletes mismatches of bets of a range of time that ended before its end, the oldest first, with their histories, comments and places in
 * incidents. Keeps those that are open or acknowledged, and those with an adjustment, whose reference must not count twice. A
 * mismatch whose difference may still hold goes only where its rows may go too, because a comparison would open it again.
 * @param lastingTo mismatches of earlier time may go although their difference holds; null: none may
 * @returns their number
 */
export async function dropOldMismatches(
  tx: Query,
  { from, to }: TimeRange,
  lastingTo: Instant | null,
  most: number,
): Promise<number> {
  const old = await tx<{ id: number }[]>`
    select id from mismatches m
    where status in ('resolved', 'ignored') and last_seen_at >= ${from} and last_seen_at < ${to}
      and occurred_at >= ${from} and occurred_at < ${to}
      and coalesce(resolved_at, last_seen_at) < ${to}
      and (resolved_by = 'recon' or ceased_at < ${to} or occurred_at < ${lastingTo})
      and not exists (select from adjustments a where a.mismatch_id = m.id)
    order by last_seen_at limit ${most} for update skip locked`;
  const ids = old.map(({ id }) => id);
  if (ids.length === 0) return 0;
  // The events name their mismatch by a foreign key, so they go first.
  await tx`delete from mismatch_events where mismatch_id = any(${ids})`;
  await tx`delete from comments where about = 'mismatch' and about_id = any(${ids})`;
  await tx`delete from incident_members where mismatch_id = any(${ids})`;
  await tx`delete from mismatches where id = any(${ids})`;
  await tx`insert into rows_added (table_name, product_id, added) values ('mismatches', '', ${-ids.length})`;
  return ids.length;
}
