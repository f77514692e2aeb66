/** Records that the provider no longer returns, and the time since which their absence is certain. */

import type { StoredRecord } from "../bet.ts";
import type { Instant } from "../clock.ts";
import type { Query } from "../db/client.ts";

type RecordKey = Pick<StoredRecord, "username" | "betId" | "id">;

/** A record that a complete pass did not return, and that no later pass returned either. */
export interface NotedAbsence extends RecordKey {
  /** the time at which that pass read its last page */
  readonly missedAt: Instant;
  /** the absence is certain from this time on; null: the record is in doubt */
  readonly absentSince: Instant | null;
}

/**
 * The noted absences of some records, without records that the provider lists under another of their times (decision
 * 106).
 */
export async function readNotedAbsences(
  tx: Query,
  productId: string,
  records: readonly StoredRecord[],
): Promise<NotedAbsence[]> {
  if (records.length === 0) return [];
  return await tx<NotedAbsence[]>`
    select a.username, a.bet_id as "betId", a.id, coalesce(a.missed_at, a.missed_since) as "missedAt",
      a.absent_since as "absentSince"
    from record_absences a
    join unnest(${records.map((r) => r.username)}::text[], ${records.map((r) => r.betId)}::text[],
      ${records.map((r) => r.id)}::text[]) as k (username, bet_id, id) using (username, bet_id, id)
    where a.product_id = ${productId} and not a.elsewhere`;
}

/** Stores that these records are absent, because the windows that prove it are deleted later (decision 94). */
export async function writeAbsent(
  tx: Query,
  productId: string,
  records: readonly RecordKey[],
  now: Instant,
): Promise<void> {
  if (records.length === 0) return;
  await tx`
    update record_absences a set absent_since = ${now}
    from unnest(${records.map((r) => r.username)}::text[], ${records.map((r) => r.betId)}::text[],
      ${records.map((r) => r.id)}::text[]) as k (username, bet_id, id)
    where a.product_id = ${productId} and a.username = k.username and a.bet_id = k.bet_id and a.id = k.id`;
}
