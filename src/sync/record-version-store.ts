/** Every version of some bet records, with the times at which the program saw and replaced them. */

import type { Instant } from "../clock.ts";
import type { Query } from "../db/client.ts";
import { type DroppedRows, dropOldest } from "../db/drop-oldest.ts";
import type { TimeRange } from "../window.ts";

/** One version of a bet record. Amounts are decimal text. */
export interface RecordVersion {
  readonly username: string;
  readonly betId: string;
  readonly id: string;
  readonly roundId: string;
  readonly currency: string;
  readonly stake: string;
  readonly payout: string;
  readonly betStatus: string;
  readonly updatedDate: Instant;
  /** when this version was first seen */
  readonly versionSeenAt: Instant;
  /** when a newer version replaced this one; null: this is the present version */
  readonly replacedAt: Instant | null;
}

/** Selects records by player and one of the other fields: any match suffices. */
export interface VersionChoice {
  readonly usernames: readonly string[];
  /** betIds or record ids */
  readonly ids: readonly string[];
  readonly rounds: readonly string[];
  /** accountingDates to select, both ends included; null: none */
  readonly between: { readonly from: Instant; readonly to: Instant } | null;
}

/** The versions of a product's records, oldest first. @param most the most rows to read */
export async function readRecordVersions(
  sql: Query,
  productId: string,
  { usernames, ids, rounds, between }: VersionChoice,
  most: number,
): Promise<RecordVersion[]> {
  const own = sql`product_id = ${productId} and username = any(${usernames as string[]})`;
  const versions = (replacedAt: ReturnType<Query>, from: ReturnType<Query>) => sql`
    select username, bet_id as "betId", id, round_id as "roundId", currency, stake, payout, bet_status as "betStatus",
      greatest(least(updated_date, '9999-12-31T23:59:59.999Z'), '0001-01-01T00:00:00Z') as "updatedDate",
      version_seen_at as "versionSeenAt", ${replacedAt} as "replacedAt"
    from ${from} join found using (username, bet_id, id) where product_id = ${productId}`;
  return await sql<RecordVersion[]>`
    with found as (
      select username, bet_id, id from bet_records where ${own} and bet_id = any(${ids as string[]})
      union
      select username, bet_id, id from bet_records where ${own} and id = any(${ids as string[]})
      union
      select username, bet_id, id from bet_records where ${own} and round_id = any(${rounds as string[]})
      union
      select username, bet_id, id from bet_records
      where ${own} and accounting_date between ${between?.from ?? null} and ${between?.to ?? null}
    )
    ${versions(sql`null::timestamptz`, sql`bet_records`)}
    union all
    ${versions(sql`replaced_at`, sql`bet_record_versions`)}
    order by "versionSeenAt", "betId", id
    limit ${most}`;
}

/** Deletes versions that were replaced in a range of time, as `dropOldest` does. */
export function dropOldVersions(sql: Query, range: TimeRange, most: number): Promise<DroppedRows> {
  // The table has no key. Its rows never change, so their ctid is stable.
  return dropOldest(sql, { table: "bet_record_versions", key: "ctid", at: "replaced_at" }, range, most);
}
