/**
 * Deletes plain old bets with everything that belongs to them, in one statement. Rollbacks, shared ids, large rounds, sessions
 * and rows that change meanwhile are judged bet by bet (`decide-group`). Considered: partitions, which drop a twentieth of 20
 * million records at once instead of in 1.9 s. But a record's key names no time: 5,000 lookups took 3.2 s instead of 0.25 s.
 */

import type { Query } from "../../db/client.ts";
import { digestText } from "../../db/retention-store.ts";
import {
  ACCOUNTED_COLUMNS,
  keepMovedText,
  noteAddedText,
  noteEntriesText,
  SWITCH_TRIGGERS_OFF,
} from "../../db/row-counts.ts";
import { BY_ROUND, LOADED, type PlainParameters, SAYS, VISITED } from "./plain-rows-store.ts";

/** Ids that rows of several groups have, or rows that were not loaded. */
const TANGLED = `
  bets as materialized (
    select key, username, txn_id, max(says) as says, min(says) as says_least, max(occurred_at) as last_at,
      min(occurred_at) filter (where says = ${SAYS.isPlaced}) as placed_at,
      min(occurred_at) filter (where says = ${SAYS.hasEndedIfPlaced}) as ended_if_placed_at
    from entries group by key, username, txn_id
  ),
  refs as materialized (
    select username, txn_id as id, key, false as is_loose, says <> ${SAYS.isNoBet} as is_bet from bets
    union all
    select username, txn_id, key, true, says <> ${SAYS.isNoBet} from entries where is_loose
    union all
    select username, bet_id, key, is_loose, true from records
    union all
    select username, id, key, is_loose, true from records
  ),
  shared as materialized (
    select username, id from refs where not (select are_apart from apart)
    group by username, id having min(key) <> max(key)
    union all
    select username, id from ids
    left join counts using (username, id) left join counts_of_ids using (id)
    left join (select username, txn_id as id, count(*) as entries from more_entries group by 1, 2) more using (username, id)
    where coalesce(counts.records, 0) <> ids.records
      or coalesce(counts.entries, 0) <> ids.entries + coalesce(more.entries, 0)
      or coalesce(counts_of_ids.records, 0) <> ids.of_ids
  ),
  tangled as materialized (
    select key from refs join shared using (username, id)
    union
    select key from refs where key like 'x%' and not (select are_apart from apart)
  )`;

/** After a partial settlement the bet is still running. */
const IS_NO_PART = "(callback <> 'settleBets' or end_round is not false)";

/**
 * The groups with a bet that has not certainly ended, as the fold would say. Usually each bet has an end of its own. All
 * entries are examined only for groups with another kind of bet: a bet's own end stands even if entries follow, and a
 * BY_ROUND end ends every bet that began before it. Bets that a rollback, or a placement after a reward and a void or tip, may have made
 * run again are left to the fold.
 */
const OPEN = `
  in_question as materialized (
    select distinct key from bets where says in (${SAYS.begins}, ${SAYS.isPlaced}, ${SAYS.isSpecial})
      or says = ${SAYS.isVoidOrTip} and says_least <= ${SAYS.needsNoEnd} or ended_if_placed_at <= coalesce(placed_at, 'infinity')
  ),
  folded as materialized (
    select key, bool_or(ends and not by_round) or bool_and(by_round and is_no_part or needs_no_end) as has_ended,
      max(occurred_at) filter (where not by_round) as begun_at,
      bool_or(waits) as waits,
      bool_or(ran_again) or bool_or(rewards) and bool_or(ends_void_or_tip and not by_round) or coalesce(min(occurred_at) filter (where needs_placement)
        <= coalesce(min(occurred_at) filter (where places), 'infinity'), false) as is_unclear,
      min(occurred_at) filter (where by_round and ends_round) as round_ended_at,
      min(occurred_at) as first_at, min(currency) as currency, max(currency) as last_currency, bool_or(is_loose) as is_loose
    from (
      select key, username, txn_id, occurred_at, is_loose, e.*
      from entries join in_question using (key)
      cross join lateral (
        select currency, ${BY_ROUND} as by_round, ${IS_NO_PART} as is_no_part,
          callback in ('settleBets', 'cancelBets', 'voidSettled', 'placeTips', 'cancelTips') and ${IS_NO_PART} as ends,
          callback in ('winRewards', 'adjustBalance') as needs_no_end, callback = 'winRewards' as rewards,
          callback in ('cancelBets', 'voidSettled', 'placeTips', 'cancelTips') as ends_void_or_tip, callback in ('settleBets', 'cancelBets') and ${IS_NO_PART} as ends_round,
          callback = 'placeBets' as places, callback = 'placeBets' and status = 'WAITING' as waits,
          callback = 'settleBets' and single_state is false as needs_placement, callback = 'rollback' as ran_again
        from callback_entries f where ctid = entries.ctid offset 0) e
    ) looked_at group by key, username, txn_id
  ),
  ledger as materialized (
    select key,
      bool_and(has_ended) or coalesce(
        min(round_ended_at) > max(begun_at) filter (where not has_ended) and min(currency) = max(last_currency)
          and not bool_or(is_loose), false) as have_ended,
      bool_or(waits and not has_ended) as wait, max(first_at) filter (where not has_ended) as last_begun_at,
      bool_or(is_unclear) as are_unclear
    from folded group by key
  ),
  provider as materialized (
    select key, bool_or(not_lost) as are_not_lost from records join in_question using (key) group by key
  ),
  open as materialized (
    select key from ledger l left join provider p using (key)
    where l.are_unclear or not (l.have_ended or $6::boolean and not l.wait and case when p.key is null
      then l.last_begun_at < coalesce($7::timestamptz, '-infinity') else not p.are_not_lost end)
  )`;

/** What mismatches of any status name: ids, rounds and requests; a session names no bet, so it keeps all of a player. */
const NAMED = `
  players as materialized (select array(select distinct username from visited order by 1) as usernames),
  named as materialized (
    select username, subject, bet_id, transaction_id, round_id from (
      select username, subject, bet_id, transaction_id, round_id from mismatches
      where product_id = $1 and username = any((select usernames from players)::text[])
      union all
      select provider ->> 'username', subject, bet_id, transaction_id, round_id from mismatches
      where product_id = $1 and kind = 'username-differs'
        and provider ->> 'username' = any((select usernames from players)::text[])
    ) of_players
  ),
  kept as materialized (
    select key from refs join (
      select username, bet_id as id from named union select username, transaction_id from named
    ) by_id using (username, id)
    union
    select key from refs join (
      select username, substr(subject, 5) as id from named where subject like 'bet:%'
    ) by_subject using (username, id) where is_bet
    union
    select key from rounds join named using (username)
    where round in (case when subject like 'round:%' then substr(subject, 7) end, round_id)
    union
    select key from refs join named using (username) where subject like 'session:%'
    union
    select entries.key from (
      select username, substr(subject, 9)::jsonb ->> 0 as callback, substr(subject, 9)::jsonb ->> 1 as request_id
      from named where subject like 'request:%'
    ) by_request join entries using (username)
    cross join lateral (select callback, request_id from callback_entries where ctid = entries.ctid offset 0) e
    where e.callback = by_request.callback and e.request_id = by_request.request_id
  )`;

/** The groups whose rows of a side must stay: another row is too young or too old, runs, or is in doubt, or a mismatch names it. */
const HELD = `
  -- A record that runs may be an earlier step of a bet that has ended in another record: only decideGroup can say.
  stepped as materialized (
    select key from records r where is_running and exists (
      select from records e where e.key = r.key and e.bet_id = r.bet_id and not e.is_running)
  ),
  running as materialized (select key from records where is_running and key not in (select key from stepped)),
  in_doubt as materialized (
    select key from records join (
      select username, bet_id, id from record_absences
      where product_id = $1 and username = any((select usernames from players)::text[]) and absent_since is null and not elsewhere
    ) undecided using (username, bet_id, id)
  ),
  held as materialized (
    select key, bool_or(records_stay) as records_stay, bool_or(entries_stay) as entries_stay from (
      select key, received_at >= $4::timestamptz or occurred_at < $10::timestamptz as records_stay,
        greatest(occurred_at, received_at) >= $5::timestamptz or occurred_at < $10::timestamptz as entries_stay
      from entries
      where occurred_at < $10::timestamptz or received_at >= $4::timestamptz or greatest(occurred_at, received_at) >= $5::timestamptz
      union all
      select key, greatest(accounting_date, version_seen_at) >= $4::timestamptz or accounting_date < $10::timestamptz,
        version_seen_at >= $5::timestamptz or accounting_date < $10::timestamptz
      from records
      where accounting_date < $10::timestamptz or greatest(accounting_date, version_seen_at) >= $4::timestamptz
        or version_seen_at >= $5::timestamptz
      union all
      select key, true, true from running
      union all
      select key, true, true from in_doubt
      union all
      select key, true, true from kept
    ) holding group by key
  )`;

/**
 * The parts of a statement that find the groups: `stays` with the keys of those whose rows stay, and on which side, and
 * `left_rows` with the places of the visited rows whose group only `decideGroup` can judge.
 */
const PLAIN_GROUPS = `${LOADED}, ${TANGLED}, ${OPEN}, ${NAMED}, ${HELD},
  wide as materialized (
    select key from entries group by key having count(*) >= $9
    union all
    select key from records group by key having count(*) >= $9
  ),
  unclear as materialized (
    select key from wide
    union
    select key from (select key from open union all select key from tangled union all select key from stepped) not_plain
    where key not in (
      select key from held where (records_stay or $4::timestamptz is null) and (entries_stay or $5::timestamptz is null))
  ),
  stays as materialized (
    select key, records_stay, entries_stay from held
    union all
    select key, true, true from unclear
  ),
  left_rows as (
    select username, round, ref, other_ref from visited join rounds using (username, round) join unclear using (key)
    union
    select visited.username, visited.round, ref, other_ref from visited
    join refs on refs.username = visited.username and refs.id = visited.ref
    join unclear on unclear.key = refs.key
    where visited.round is null
  )`;

/** Whether a row of `records` or of `entries` goes. */
const GOES = {
  records: "$4::timestamptz is not null and key not in (select key from stays where records_stay)",
  entries: "$5::timestamptz is not null and key not in (select key from stays where entries_stay)",
} as const;

export interface DroppedPlain {
  readonly records: number;
  readonly entries: number;
  /** the visited rows whose groups were not judged: player, real round, and up to two ids */
  readonly left: readonly (readonly [string, string | null, string, string | null])[];
}

/** Whether anything is to be searched: many operators have no wallet, and older versions come seldom. */
const anyOf = (table: string) => `(select exists (select from ${table}))`;

/** Deletes the rows of `table` that `found` leads to. Each is searched by index, even if the planner would prefer a scan. */
const deleteFound = (table: string, found: string, condition: string) => `
  delete from ${table} where ctid = any(array(
    select t.ctid from ${found} d
    cross join lateral (select ctid from ${table} t where t.product_id = $1 and t.username = d.username and ${condition} offset 0) t
    where ${anyOf(table)}))`;

/**
 * How the names of deleted bets are remembered: mostly none is known, and "on conflict" would write each row in two steps. In order
 * of time, because rows at the end of an index are inserted fastest. A known name fails "new" with a unique violation.
 */
const REMEMBER = {
  new: "select digest, last_at from digests order by last_at",
  known: `select digest, max(last_at) from digests group by digest order by digest
    on conflict (digest) do update set last_entry_at = greatest(deleted_bets.last_entry_at, excluded.last_entry_at)`,
} as const;
export type Names = keyof typeof REMEMBER;

const statementOf = (side: keyof typeof VISITED, names: Names) => `with ${VISITED[side]}, ${PLAIN_GROUPS},
  doomed_entries as materialized (select array(select ctid from entries where ${GOES.entries}) as places),
  doomed_records as materialized (select ctid, username, bet_id, id from records where ${GOES.records}),
  doomed_bets as not materialized (select username, txn_id, last_at from bets where ${GOES.entries}),
  deleted_entries as (
    delete from callback_entries where ctid = any((select places from doomed_entries)::tid[])
    returning product_id, currency, ${ACCOUNTED_COLUMNS.join(", ")}
  ),
  deleted_records as (
    delete from bet_records where ctid = any(array(select ctid from doomed_records)) returning 1
  ),
  noted_entries as (${noteEntriesText("deleted", "deleted_entries")}),
  kept_moved as (${keepMovedText("deleted_entries")}),
  noted_records as (${noteAddedText("bet_records", "-count(*)::integer", "from deleted_records having count(*) > 0", "$1")}),
  deleted_record_versions as (${deleteFound("bet_record_versions", "doomed_records", "t.bet_id = d.bet_id and t.id = d.id")}),
  deleted_absences as (${deleteFound("record_absences", "doomed_records", "t.bet_id = d.bet_id and t.id = d.id")}),
  deleted_entry_versions as (${deleteFound("entry_versions", "doomed_bets", "t.txn_id = d.txn_id")}),
  deleted_wallet_bets as (${deleteFound("wallet_bets", "doomed_bets", "t.txn_id = d.txn_id and t.status <> 'open'")}),
  deleted_requests as (
    delete from callback_requests where ctid = any(array(
      select r.ctid from (
        select callback, request_id, received_at, count(*) as entries from callback_entries
        where ctid = any((select places from doomed_entries)::tid[]) group by 1, 2, 3
      ) d
      cross join lateral (
        select ctid from callback_requests r
        where r.product_id = $1 and r.callback = d.callback and r.request_id = d.request_id offset 0) r
      -- The wallet gives all entries of a request one received_at. This statement still sees what it deletes.
      where ${anyOf("callback_requests")} and d.entries = (select count(*) from callback_entries e where e.received_at = d.received_at
        and e.product_id = $1 and e.callback = d.callback and e.request_id = d.request_id)))
  ),
  staying as materialized (
    select key from records where not (${GOES.records}) union select key from entries where not (${GOES.entries})
  ),
  deleted_closed_bets as (
    delete from closed_bets where ctid = any(array(
      select c.ctid from (
        select username, 'round:' || round as subject from rounds where key not in (select key from staying)
        union all
        select distinct username, 'bet:' || id from refs where is_loose and key not in (select key from staying)
      ) d
      cross join lateral (
        select ctid from closed_bets c where c.product_id = $1 and c.username = d.username and c.subject = d.subject offset 0) c
      where ${anyOf("closed_bets")}))
  ),
  digests as not materialized (
    select ${digestText("$1", "username", "txn_id")} as digest, last_at from doomed_bets where last_at >= $8::timestamptz
  ),
  remembered as (insert into deleted_bets (digest, last_entry_at) ${REMEMBER[names]})
  select (select count(*) from doomed_records) as "recordsFound", (select count(*) from deleted_records) as records,
    (select cardinality(places) from doomed_entries) as "entriesFound", (select count(*) from deleted_entries) as entries,
    (select coalesce(json_agg(json_build_array(username, round, ref, other_ref)), '[]') from left_rows) as left`;

const bothOf = (side: keyof typeof VISITED) => ({
  new: statementOf(side, "new"),
  known: statementOf(side, "known"),
});
const STATEMENTS = { records: bothOf("records"), entries: bothOf("entries") } as const;

/**
 * Deletes the plain bets among the groups of some visited rows. Needs a transaction with one snapshot, in which a row
 * that another transaction has changed since fails the statement.
 */
export async function dropPlainBets(
  tx: Query,
  side: keyof typeof VISITED,
  names: Names,
  parameters: PlainParameters,
): Promise<DroppedPlain> {
  // Planning a statement of this length takes as long as a part of its work, and the plan is the same for all slices. PostgreSQL does not
  // know how many rows each part has: it must neither join them row by row, nor read a table whole that was small once.
  await tx`select ${tx.unsafe(SWITCH_TRIGGERS_OFF)}, set_config('plan_cache_mode', 'force_generic_plan', true),
    set_config('jit', 'off', true), set_config('enable_seqscan', 'off', true), set_config('enable_nestloop', 'off', true), set_config('enable_mergejoin', 'off', true)`;
  const [row] = await tx.unsafe<(DroppedPlain & { recordsFound: number; entriesFound: number })[]>(
    STATEMENTS[side][names],
    [...parameters] as never[],
    { prepare: true },
  );
  if (row === undefined || row.records !== row.recordsFound || row.entries !== row.entriesFound)
    throw new Error("not every row of a plain bet was deleted");
  return row;
}
