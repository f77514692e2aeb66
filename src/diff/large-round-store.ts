/**
 * Large rounds: stores which of their bets do not agree by themselves, from one comparison to the next (table
 * `wide_rounds`). Only those bets are loaded. A bet that agrees influences its round by its existence alone, so a stand-in
 * without amounts takes its place. If a difference concerns the whole round, the round is loaded whole, up to a limit.
 * A property test compares this with the comparison of everything.
 */

import type { Instant } from "../clock.ts";
import type { Query } from "../db/client.ts";
import { type Amount, parseAmount } from "../money.ts";
import type { TimeRange } from "../window.ts";
import {
  aroundIds,
  MISMATCHES_TO_CHECK,
  namesOf,
  type StatementRules,
  uncertain,
} from "./agreement-store.ts";
import type { EntryTimes } from "./sums.ts";

export interface LargeRoundKey {
  readonly username: string;
  readonly roundId: string;
}

/** A round of which only some bets are loaded. */
export interface LargeRound extends LargeRoundKey {
  /**
   * the currency of the bets that agree by themselves; null: an entry acts on the whole round, so the round is
   * compared whole
   */
  readonly currency: string | null;
  /** ids of the bets that do not, or may not, agree by themselves */
  readonly apart: readonly string[];
  /** the times of the entries of the agreeing bets; null: no bet agrees */
  readonly entryTimes: EntryTimes | null;
}

type LargeRoundRow = LargeRoundKey &
  Pick<LargeRound, "currency" | "apart"> & { [Key in keyof EntryTimes]: Instant | null };

function toLargeRound({ firstEntryAt, lastEntryAt, lastReceivedAt, ...row }: LargeRoundRow): LargeRound {
  const hasEntries = firstEntryAt !== null && lastEntryAt !== null && lastReceivedAt !== null;
  return { ...row, entryTimes: hasEntries ? { firstEntryAt, lastEntryAt, lastReceivedAt } : null };
}

/** The stored large rounds among some rounds. Most rounds are not large, and have no row. */
export async function readLargeRounds(
  tx: Query,
  productId: string,
  rounds: readonly (readonly [string, string])[],
): Promise<LargeRound[]> {
  const rows = await tx<LargeRoundRow[]>`
    select w.username, w.round_id as "roundId", w.currency, w.apart, w.first_entry_at as "firstEntryAt",
      w.last_entry_at as "lastEntryAt", w.last_received_at as "lastReceivedAt"
    from wide_rounds w
    join unnest(${rounds.map(([username]) => username)}::text[], ${rounds.map(([, roundId]) => roundId)}::text[])
      as k (username, round_id) using (username, round_id)
    where w.product_id = ${productId}`;
  return rows.map(toLargeRound);
}

/**
 * Whether a product has any large round. Most products have none, and the comparison then skips its other queries.
 */
export async function hasLargeRounds(tx: Query, productId: string): Promise<boolean> {
  const [row] = await tx<{ any: boolean }[]>`
    select exists (select from wide_rounds where product_id = ${productId}) as any`;
  return row?.any === true;
}

/**
 * Makes the statements of a comparison use indexes. If one round holds most of a table, the planner assumes the same
 * of every round, and would read the whole table.
 */
export async function preferIndexes(tx: Query): Promise<void> {
  await tx`select set_config('enable_seqscan', 'off', true)`;
}

/** Stores a large round, in place of what was stored of it before. */
export async function writeLargeRound(tx: Query, productId: string, round: LargeRound): Promise<void> {
  const { username, roundId, currency, apart, entryTimes } = round;
  await tx`
    insert into wide_rounds (product_id, username, round_id, currency, apart, first_entry_at, last_entry_at,
      last_received_at)
    values (${productId}, ${username}, ${roundId}, ${currency}, ${apart as string[]}::text[],
      ${entryTimes?.firstEntryAt ?? null}, ${entryTimes?.lastEntryAt ?? null}, ${entryTimes?.lastReceivedAt ?? null})
    on conflict (product_id, username, round_id) do update set currency = excluded.currency, apart = excluded.apart,
      first_entry_at = excluded.first_entry_at, last_entry_at = excluded.last_entry_at,
      last_received_at = excluded.last_received_at`;
}

/** The rules by which a bet agrees by itself. */
export type AgreementRules = Pick<StatementRules, "dropsOmittedLosses" | "namedBy">;

/** Every id of the round $3 of the player $2. */
const IDS = `ids as materialized (
    select txn_id as id from callback_entries where product_id = $1 and username = $2 and round_id = $3
    union
    select id.id from bet_records f cross join lateral (values (f.bet_id), (f.id)) as id (id)
    where f.product_id = $1 and f.username = $2 and f.round_id = $3
  )`;

/** Finds the ids of a round's bets that do not certainly agree by themselves, or that have another currency ($4). */
const findApart = (agreement: AgreementRules) => {
  const rules: StatementRules = { ...agreement, tolerance: new Map(), areFlagged: true };
  const { name, other } = namesOf(rules);
  return `with ${MISMATCHES_TO_CHECK}, ${IDS}, ${aroundIds(rules)}, ${uncertain(rules)},
  foreign_records as (select ${name} from records join foreign_ids on foreign_ids.id = ${other}),
  -- Records that share the id which names no bet are loaded together.
  tied as (
    select name from (
      select ${name} as name, min(${name}) over same as first, max(${name}) over same as last
      from records window same as (partition by records.bet_id)
    ) of_bet where first <> last
  ),
  apart as (
    select id from uncertain
    union select txn_id from in_shared_requests
    union select * from foreign_records
    union select name from tied
    union select ${name} from records
      join record_absences a on a.product_id = $1 and a.username = records.username
        and a.bet_id = records.bet_id and a.id = records.record_id
    union select entries.txn_id from entries
      join (
        select substr(subject, 9)::jsonb ->> 1 as request_id from mismatches_to_check where subject like 'request:%'
      ) named using (request_id)
    union select ${name} from records where username <> $2 or round_id <> $3 or currency <> $4
    union select txn_id from callback_entries
      where product_id = $1 and username = $2 and round_id = $3 and callback = 'adjustBalance'
  ),
  times as (
    select min(occurred_at) as first_at, max(occurred_at) as last_at, max(received_at) as received_at
    from entries where not exists (select from apart where apart.id = entries.txn_id)
  )
  select array(select distinct id from apart where id is not null) as apart, first_at as "firstEntryAt",
    last_at as "lastEntryAt", received_at as "lastReceivedAt"
  from times`;
};

/**
 * Finds the bets of a round that do not agree by themselves, by reading the whole round in the database.
 * @returns null if the round has no records, so no bet agrees
 */
export async function findLargeRound(
  tx: Query,
  productId: string,
  { username, roundId }: LargeRoundKey,
  rules: AgreementRules,
): Promise<LargeRound | null> {
  const [kind] = await tx<{ currency: string | null; actsOnRound: boolean }[]>`
    select (select currency from bet_records
        where product_id = ${productId} and username = ${username} and round_id = ${roundId}
        group by 1 order by count(*) desc limit 1) as currency,
      exists (select from callback_entries where product_id = ${productId} and username = ${username}
        and round_id = ${roundId} and transaction_type = 'BY_ROUND') as "actsOnRound"`;
  const asOne = { username, roundId, currency: null, apart: [], entryTimes: null };
  if (kind?.actsOnRound !== false) return asOne;
  const { currency } = kind;
  if (currency === null) return null;
  await tx`select set_config('work_mem', '32MB', true), set_config('jit', 'off', true)`;
  const [row] = await tx.unsafe<LargeRoundRow[]>(findApart(rules), [productId, username, roundId, currency]);
  return row === undefined ? null : toLargeRound({ ...row, username, roundId, currency });
}

/**
 * How many agreeing bets of a round are not loaded, counted up to 2.
 * @param betIds of the player's loaded records
 */
export async function countOthers(
  tx: Query,
  productId: string,
  { username, roundId, currency }: LargeRound,
  betIds: readonly string[],
): Promise<number> {
  const rows = await tx`
    select distinct bet_id from (
      select bet_id from bet_records
      where product_id = ${productId} and username = ${username} and round_id = ${roundId} and currency = ${currency}
        and bet_id <> all(${betIds as string[]}) limit 2
    ) others`;
  return rows.length;
}

/** A mark of a large round; `betRef` null: anything of the round may have been touched. */
export interface GatheredMark extends LargeRoundKey {
  readonly betRef: string | null;
}

/**
 * Takes every due mark of some rounds, each once. One comparison must judge them together, because the sums of a
 * round need every changed bet. Needs the product's lock.
 * @param most the most marks to return; all marks are taken
 */
export async function gatherMarks(
  tx: Query,
  productId: string,
  rounds: readonly LargeRoundKey[],
  now: Instant,
  most: number,
): Promise<GatheredMark[]> {
  const users = rounds.map(({ username }) => username);
  return await tx<GatheredMark[]>`
    with marks as (
      select d.id, d.due_at, m.u, m.r, m.b, own.u is not null as is_own
      from (
        select * from diff_marks
        where product_id = ${productId} and due_at <= ${now} and usernames && ${users}::text[]
      ) d
      cross join lateral unnest(d.usernames, d.round_ids, d.bet_refs) as m (u, r, b)
      left join unnest(${users}::text[], ${rounds.map(({ roundId }) => roundId)}::text[]) as own (u, r)
        on own.u = m.u and own.r = m.r
    ),
    touched as (select id from marks group by id having bool_or(is_own)),
    taken as (delete from diff_marks where id in (select id from touched)),
    put as (
      insert into diff_marks (product_id, usernames, round_ids, bet_refs, due_at)
      select ${productId}, array_agg(u), array_agg(r), array_agg(b), due_at
      from marks where not is_own and id in (select id from touched)
      group by id, due_at
    )
    select distinct u as username, r as "roundId", b as "betRef" from marks where is_own limit ${most}`;
}

/**
 * The ranges of time in which a round had bets, each from the first entry to the last. Pauses longer than twice the
 * overlap are left out.
 */
export async function readTimesOfRound(
  tx: Query,
  productId: string,
  { username, roundId }: LargeRoundKey,
  overlapMs: number,
): Promise<TimeRange[]> {
  return await tx<{ from: Instant; to: Instant }[]>`
    with bets as (
      select min(occurred_at) as first_at, max(occurred_at) as last_at from callback_entries
      where product_id = ${productId} and username = ${username} and round_id = ${roundId} group by txn_id
    ),
    joined as (
      select unnest(range_agg(tstzrange(first_at, last_at + ${2 * overlapMs} * interval '1 millisecond', '[]'))) as span
      from bets
    )
    select lower(span) as "from", upper(span) - ${2 * overlapMs} * interval '1 millisecond' as "to" from joined`;
}

/**
 * The sums of the bets of a large round that are not loaded. Both sides have the same sums, because these bets
 * agree.
 */
export interface SumsOfOthers {
  readonly bets: number;
  readonly stake: Amount;
  readonly payout: Amount;
  /** the latest accountingDate of all of them, in the day or not; null: there are none */
  readonly lastAccountedAt: Instant | null;
  /** when the newest version of any of them was first seen; null: there are none */
  readonly lastSeenAt: Instant | null;
}

/**
 * Adds up the records of a round that are not loaded.
 * @param betIds of the player's loaded records
 * @param day counts only records that are accounted in this range; null: counts all
 */
export async function sumOthers(
  tx: Query,
  productId: string,
  { username, roundId }: LargeRoundKey,
  betIds: readonly string[],
  day: TimeRange | null,
): Promise<SumsOfOthers> {
  const counted =
    day === null ? tx`true` : tx`accounting_date >= ${day.from} and accounting_date < ${day.to}`;
  const [row] = await tx<
    (Pick<SumsOfOthers, "bets" | "lastAccountedAt" | "lastSeenAt"> & { stake: string; payout: string })[]
  >`
    select count(*) filter (where ${counted}) as bets, coalesce(sum(stake) filter (where ${counted}), 0) as stake,
      coalesce(sum(payout) filter (where ${counted}), 0) as payout, max(accounting_date) as "lastAccountedAt",
      max(version_seen_at) as "lastSeenAt"
    from bet_records
    where product_id = ${productId} and username = ${username} and round_id = ${roundId} and bet_status <> 'VOID'
      and bet_id <> all(${betIds as string[]})`;
  const { bets = 0, stake = "0", payout = "0", lastAccountedAt = null, lastSeenAt = null } = row ?? {};
  const [stakes, payouts] = [parseAmount(stake, "stake"), parseAmount(payout, "payout")];
  return { bets, stake: stakes, payout: payouts, lastAccountedAt, lastSeenAt };
}
