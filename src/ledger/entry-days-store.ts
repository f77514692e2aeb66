/** The accounts of the accepted entries of each day, and what the table has of these days (decision 272). */

import { formatInstant, type Instant } from "../clock.ts";
import type { Query } from "../db/client.ts";
import { DIGEST_OF_ALL } from "../db/entry-accounts.ts";
import type { TimeRange } from "../window.ts";

/** A day whose rows are not those that were accepted. */
export interface GoneDay {
  /** by UTC: YYYY-MM-DD */
  readonly day: string;
  /** when the difference was found */
  readonly goneAt: Instant;
  /** the number of entries that were accepted, and of rows that were found then */
  readonly accepted: number;
  readonly found: number;
  /** when the triggers were switched on again; null: as far as is known, they were never off */
  readonly unwatchedAt: Instant | null;
}

/** A digest is decimal text, because it has 64 bits. */
export interface Account {
  readonly entries: number;
  readonly digest: string;
}

export interface DayFacts {
  /** what the writers have noted; `noted` is the part that is not added up yet */
  readonly account: Account;
  readonly noted: Account;
  readonly rows: Account;
  /** the rows came in before there was an account */
  readonly isUncounted: boolean;
  readonly unwatchedAt: Instant | null;
  readonly goneAt: Instant | null;
  /** when a difference was found: the account, and the number of rows; null: none was found */
  readonly accepted: number | null;
  readonly acceptedDigest: string | null;
  readonly found: number | null;
}

/** @param before days that were compared earlier are due; days with a difference are always due */
export async function findDueDays(sql: Query, before: Instant, most: number): Promise<string[]> {
  const rows = await sql<{ day: string }[]>`
    select day::text from entry_days where gone_at is not null or compared_at is null or compared_at < ${before}
    order by gone_at is null, compared_at nulls first, day limit ${most}`;
  return rows.map(({ day }) => day);
}

/** Needs a transaction with one snapshot: entries and their notes are committed together. */
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
  if (row === undefined) throw new Error("a select of sums has one row");
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

/** What is known of a day after its comparison. */
export type ComparedDay = Pick<
  DayFacts,
  "account" | "unwatchedAt" | "goneAt" | "accepted" | "acceptedDigest" | "found"
>;

/** Stores the result of a comparison. @param noted the part of `account` that the notes still have */
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

/** The days with a difference that is neither repaired nor accepted by the operator, the oldest first. */
export async function readGoneDays(sql: Query, within: TimeRange | null = null): Promise<GoneDay[]> {
  const [from, to] = within === null ? [null, null] : [formatInstant(within.from), formatInstant(within.to)];
  return await sql<GoneDay[]>`
    select day::text, gone_at as "goneAt", accepted, found, unwatched_at as "unwatchedAt" from entry_days
    where gone_at is not null and (${from}::text is null
      or day >= (${from}::text::timestamptz at time zone 'UTC')::date
      and day::timestamp at time zone 'UTC' < ${to}::text::timestamptz)
    order by day`;
}

/** Every day with an account, the newest first. */
export async function readEntryDays(sql: Query): Promise<string[]> {
  const rows = await sql<{ day: string }[]>`
    select day::text from (select day from entry_days union select day from entry_notes) days order by day desc`;
  return rows.map(({ day }) => day);
}

/** Takes the rows of a day as they are. @returns false: there is no difference */
export async function acceptGoneDay(sql: Query, day: string): Promise<boolean> {
  const { count } = await sql`
    update entry_days set unwatched_at = null, gone_at = null, accepted = null, accepted_digest = null, found = null
    where day = ${day}::text::date and gone_at is not null`;
  return count > 0;
}

/** How many entries were accepted, if `callback_entries` is empty all the same; 0: it has entries, or never had one. */
export async function countOfEmptied(sql: Query): Promise<number> {
  const [row] = await sql<{ accepted: number }[]>`
    select case when exists (select from callback_entries) then 0::bigint else greatest(0::bigint,
      (select coalesce(sum(case when gone_at is null then entries else accepted + entries - found end), 0) from entry_days)::bigint
        + (select coalesce(sum(added), 0) from entry_notes)::bigint) end as accepted`;
  return row?.accepted ?? 0;
}
