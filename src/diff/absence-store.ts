/** Which records the provider did not return lately, and since when it is certain that they are absent. */

import type { StoredRecord } from "../bet.ts";
import type { Instant } from "../clock.ts";
import type { Query } from "../db/client.ts";

type RecordKey = Pick<StoredRecord, "username" | "betId" | "id">;

/** A record that a complete pass did not return, and nothing has since. */
export interface NotedAbsence extends RecordKey {
  /** when that pass had read its last page */
  readonly missedAt: Instant;
  /** since then it is certain; null: it is in doubt */
  readonly absentSince: Instant | null;
}

/** What is noted of some records, without those that the provider lists by another of their times. */
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

/** Whether any record of a product was missed at all: mostly none is, and nothing else need be asked. */
export async function hasNotedAbsences(tx: Query, productId: string): Promise<boolean> {
  const [row] = await tx<{ any: boolean }[]>`
    select exists (select from record_absences where product_id = ${productId}) as any`;
  return row?.any === true;
}

/** Keeps that these records are absent: windows, by which it was decided, are not kept for ever. */
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
