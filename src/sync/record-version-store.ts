/** The versions of bet records, with the times at which the program first saw and then replaced each. */

import type { Instant } from "../clock.ts";
import type { Query } from "../db/client.ts";
import type { DroppedRows } from "../db/drop-rows.ts";
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
  choice: VersionChoice,
  most: number,
): Promise<RecordVersion[]> {
  return await sql<RecordVersion[]>`${versionsOf(sql, productId, choice, false)} limit ${most}`;
}

/** One version with every field that the provider sent. Texts of any length are cut. */
export interface WholeVersion extends RecordVersion {
  readonly gameCode: string;
  readonly gameName: string;
  readonly payoutStatus: string;
  readonly accountingDate: Instant;
  /** the fields that the interface does not name, as JSON text; null: there are none, or they are too long */
  readonly extra: string | null;
  readonly hasLongExtra: boolean;
  /** when the request that returned this version was sent */
  readonly requestedAt: Instant;
}

const LONGEST_NAME = 500;
const LONGEST_EXTRA_BYTES = 64 * 1024;

/** Like `readRecordVersions`, with every field. */
export async function readWholeVersions(
  sql: Query,
  productId: string,
  choice: VersionChoice,
  most: number,
): Promise<WholeVersion[]> {
  return await sql<WholeVersion[]>`${versionsOf(sql, productId, choice, true)} limit ${most}`;
}

/** @param isWhole with every field */
function versionsOf(
  sql: Query,
  productId: string,
  { usernames, ids, rounds, between }: VersionChoice,
  isWhole: boolean,
) {
  const own = sql`product_id = ${productId} and username = any(${usernames as string[]})`;
  const more = sql`, left(game_code, ${LONGEST_NAME}) as "gameCode", left(game_name, ${LONGEST_NAME}) as "gameName",
    payout_status as "payoutStatus", ${readable(sql, "accounting_date")} as "accountingDate",
    case when octet_length(extra::text) <= ${LONGEST_EXTRA_BYTES} then extra::text end as extra,
    coalesce(octet_length(extra::text) > ${LONGEST_EXTRA_BYTES}, false) as "hasLongExtra", requested_at as "requestedAt"`;
  const versions = (replacedAt: ReturnType<Query>, from: ReturnType<Query>) => sql`
    select username, bet_id as "betId", id, round_id as "roundId", currency, stake, payout, bet_status as "betStatus",
      ${readable(sql, "updated_date")} as "updatedDate",
      version_seen_at as "versionSeenAt", ${replacedAt} as "replacedAt"${isWhole ? more : sql``}
    from ${from} join found using (username, bet_id, id) where product_id = ${productId}`;
  return sql`
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
    order by "versionSeenAt", "betId", id`;
}

/** A time that ISO 8601 can write. */
function readable(sql: Query, column: string) {
  return sql`greatest(least(${sql(column)}, '9999-12-31T23:59:59.999Z'), '0001-01-01T00:00:00Z')`;
}

/**
 * Deletes versions that were replaced in a range of time, except for those of bets, rounds and players' sessions that are
 * the subject of a mismatch: they are its evidence (§3.10).
 * @param datedFrom versions with an earlier accountingDate stay
 * @param most the most rows to visit, and all that were replaced at the same time as the last of them
 * @returns `last`: the time at which the next call continues, a millisecond after the last visited row
 */
export async function dropExpiredVersions(
  sql: Query,
  { from, to }: TimeRange,
  datedFrom: Instant,
  most: number,
): Promise<DroppedRows> {
  // Each condition is one search of an index, however many mismatches a player has.
  const isSubject = sql`m.subject = any(array['bet:' || v.bet_id, 'bet:' || v.id, 'round:' || v.round_id])`;
  // The table has no key. Its rows never change, so their ctid is stable.
  const [row] = await sql<DroppedRows[]>`
    with slice as (
      select ctid as place, replaced_at from bet_record_versions where replaced_at >= ${from} and replaced_at < ${to}
      order by replaced_at fetch first ${most} rows with ties
    ),
    dropped as (
      delete from bet_record_versions where ctid = any(array(
        select v.ctid from bet_record_versions v where v.ctid = any(array(select place from slice)) and v.accounting_date >= ${datedFrom}
          and not exists (select from mismatches m
            where m.product_id = v.product_id and m.username = v.username and ${isSubject} offset 0)
          and not exists (select from mismatches m
            where m.product_id = v.product_id and m.username = v.username
              and m.subject >= 'session:0' and m.subject < 'session:9' offset 0)
          and not exists (select from mismatches m
            where m.product_id = v.product_id and m.kind = 'username-differs'
              and m.provider ->> 'username' = v.username and ${isSubject} offset 0)
        for update skip locked))
      returning 1
    )
    select (select count(*) from dropped) as count,
      (select max(replaced_at) + interval '1 millisecond' from slice) as last`;
  return row ?? { count: 0, last: null };
}

/**
 * The accounting dates of the replaced versions of some bets' records, the latest version first.
 * @returns a list for each bet; empty if no record of it ever changed, or if its versions were deleted
 */
export async function readFormerDates(
  sql: Query,
  productId: string,
  bets: readonly { readonly username: string; readonly betId: string }[],
): Promise<Instant[][]> {
  if (bets.length === 0) return [];
  const rows = await sql<{ index: number; at: Instant }[]>`
    select (asked.number - 1)::int as index, v.accounting_date as at
    from unnest(${bets.map(({ username }) => username)}::text[], ${bets.map(({ betId }) => betId)}::text[])
      with ordinality as asked (username, bet_id, number)
    join bet_record_versions v on v.product_id = ${productId} and v.username = asked.username and v.bet_id = asked.bet_id
    order by v.replaced_at desc`;
  const dates = Map.groupBy(rows, ({ index }) => index);
  return bets.map((_, index) => (dates.get(index) ?? []).map(({ at }) => at));
}
