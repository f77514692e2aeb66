/** The account of the accepted entries of each day (`entry_days`), and the rows that the table has (decision 272). */

import { formatInstant, type Instant } from "../clock.ts";
import type { Query } from "../db/client.ts";
import { DIGEST_OF_ALL } from "../db/row-counts.ts";
import type { TimeRange } from "../window.ts";

/** A day whose rows differ from the accepted entries. */
export interface GoneDay {
  /** by UTC: YYYY-MM-DD */
  readonly day: string;
  /** when the difference was found */
  readonly goneAt: Instant;
  /** the number of accepted entries, and of rows when the difference was found */
  readonly accepted: number;
  readonly found: number;
  /** when the triggers were switched on again; null: they are not known to have been off */
  readonly unwatchedAt: Instant | null;
}

/** A number of entries and their digest: 64 bits as decimal text. */
export interface Account {
  readonly entries: number;
  readonly digest: string;
}

export interface DayFacts {
  /** what the writers noted; `noted` is the part that is still in `entry_notes` */
  readonly account: Account;
  readonly noted: Account;
  readonly rows: Account;
  /** rows were inserted before the database kept accounts */
  readonly isUncounted: boolean;
  readonly unwatchedAt: Instant | null;
  readonly goneAt: Instant | null;
  /** when a difference was found: the account, and the number of rows; null: none was found */
  readonly accepted: number | null;
  readonly acceptedDigest: string | null;
  readonly found: number | null;
}

/** @param before a day is due if it was compared before this time; days with a difference are always due */
export async function findDueDays(sql: Query, before: Instant, most: number): Promise<string[]> {
  const rows = await sql<{ day: string }[]>`
    select day::text from entry_days where gone_at is not null or compared_at is null or compared_at < ${before}
    order by gone_at is null, compared_at nulls first, day limit ${most}`;
  return rows.map(({ day }) => day);
}

/** Needs a transaction with one snapshot, because entries and their notes are committed together. */
export async function readDayFacts(tx: Query, day: string): Promise<DayFacts> {
  const [row] = await tx<(Omit<DayFacts, "account" | "noted" | "rows"> & FactRow)[]>`
    with noted as (
      select coalesce(sum(added), 0)::bigint as entries, coalesce(bit_xor(digest), 0) as digest
      from entry_notes where day = ${day}::text::date
    ),
    present as (
      select count(*) as entries, ${tx.unsafe(DIGEST_OF_ALL)} as digest from callback_entries
      where occurred_at >= ${day}::text::date::timestamp at time zone 'UTC'
        and occurred_at < (${day}::text::date + 1)::timestamp at time zone 'UTC'
    )
    select coalesce(d.entries, 0) + n.entries as "accountEntries", (coalesce(d.digest, 0) # n.digest)::text as "accountDigest",
      n.entries as "notedEntries", n.digest::text as "notedDigest",
      p.entries as "rowEntries", p.digest::text as "rowDigest", coalesce(d.uncounted, false) as "isUncounted",
      d.unwatched_at as "unwatchedAt", d.gone_at as "goneAt", d.accepted, d.accepted_digest::text as "acceptedDigest", d.found
    from noted n cross join present p left join entry_days d on d.day = ${day}::text::date`;
  if (row === undefined) throw new Error("internal error: a select of sums returned no row");
  const { accountEntries, accountDigest, notedEntries, notedDigest, rowEntries, rowDigest, ...others } = row;
  return {
    ...others,
    account: { entries: accountEntries, digest: accountDigest },
    noted: { entries: notedEntries, digest: notedDigest },
    rows: { entries: rowEntries, digest: rowDigest },
  };
}

interface FactRow {
  readonly accountEntries: number;
  readonly accountDigest: string;
  readonly notedEntries: number;
  readonly notedDigest: string;
  readonly rowEntries: number;
  readonly rowDigest: string;
}

/** The state of a day after its comparison. */
export type ComparedDay = Pick<
  DayFacts,
  "account" | "unwatchedAt" | "goneAt" | "accepted" | "acceptedDigest" | "found"
>;

/** Stores the result of a comparison. @param noted the part of `account` that is still in `entry_notes` */
export async function writeComparedDay(
  tx: Query,
  day: string,
  { account, unwatchedAt, goneAt, accepted, acceptedDigest, found }: ComparedDay,
  noted: Account,
  now: Instant,
): Promise<void> {
  await tx`
    insert into entry_days (day, entries, digest, compared_at, unwatched_at, gone_at, accepted,
      accepted_digest, found)
    values (${day}, ${account.entries - noted.entries}, ${account.digest}::text::bigint # ${noted.digest}::text::bigint,
      ${now}, ${unwatchedAt}, ${goneAt}, ${accepted}, ${acceptedDigest}::text::bigint, ${found})
    on conflict (day) do update set entries = excluded.entries, digest = excluded.digest,
      compared_at = excluded.compared_at, uncounted = false, unwatched_at = excluded.unwatched_at, gone_at = excluded.gone_at, accepted = excluded.accepted,
      accepted_digest = excluded.accepted_digest, found = excluded.found`;
}

/** The days with a difference that is neither repaired nor accepted by the operator, oldest first. */
export async function readGoneDays(sql: Query, within: TimeRange | null = null): Promise<GoneDay[]> {
  const [from, to] = within === null ? [null, null] : [formatInstant(within.from), formatInstant(within.to)];
  return await sql<GoneDay[]>`
    select day::text, gone_at as "goneAt", accepted, found, unwatched_at as "unwatchedAt" from entry_days
    where gone_at is not null and (${from}::text is null
      or day >= (${from}::text::timestamptz at time zone 'UTC')::date
      and day::timestamp at time zone 'UTC' < ${to}::text::timestamptz)
    order by day`;
}

/** Every day with an account, newest first. */
export async function readEntryDays(sql: Query): Promise<string[]> {
  const rows = await sql<{ day: string }[]>`
    select day::text from (select day from entry_days union select day from entry_notes) days order by day desc`;
  return rows.map(({ day }) => day);
}

/** Accepts the rows of a day as they are. @returns false: the day has no difference */
export async function acceptGoneDay(sql: Query, day: string): Promise<boolean> {
  const { count } = await sql`
    update entry_days set unwatched_at = null, gone_at = null, accepted = null, accepted_digest = null, found = null
    where day = ${day}::text::date and gone_at is not null`;
  return count > 0;
}

/** The number of accepted entries if `callback_entries` is empty; 0: the table has entries, or never had any. */
export async function countOfEmptied(sql: Query): Promise<number> {
  const [row] = await sql<{ accepted: number }[]>`
    select case when exists (select from callback_entries) then 0::bigint else greatest(0::bigint,
      (select coalesce(sum(case when gone_at is null then entries else accepted + entries - found end), 0) from entry_days)::bigint
        + (select coalesce(sum(added), 0) from entry_notes)::bigint) end as accepted`;
  return row?.accepted ?? 0;
}
