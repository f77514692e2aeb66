/**
 * SQL that finds the old rounds, and bets without a round, whose rows may certainly be deleted (§3.10). It says the same
 * as `decideGroup` says of a loaded group, or leaves the group to it. Parameters: `PlainParameters`.
 */

import type { Instant } from "../../clock.ts";

/** The parameters of the statement, in order. Those of `VISITED` follow. */
export type PlainParameters = readonly [
  productId: string,
  /** players are shared among so many lanes; this is one of them */
  lanes: number,
  lane: number,
  /** `DeleteUpTo` */
  recordsUpTo: Instant | null,
  entriesUpTo: Instant | null,
  /** the operator writes no entry for a lost bet */
  omitsLostBets: boolean,
  /** records of earlier time were deleted; null: none were */
  deletedRecords: Instant | null,
  /** deleted bets are remembered where their last entry is not older */
  rememberedFrom: Instant,
  /** a round with so many records or entries is not loaded whole */
  wide: number,
  ...slice: readonly string[],
];

const REAL_ROUND = "nullif(nullif(f.round_id, ''), 'UNKNOWN')";
const ENTRY = `f.ctid, f.username, f.txn_id, ${REAL_ROUND} as round, f.callback, f.request_id, f.currency, f.status,
  f.occurred_at, f.received_at, f.callback = 'settleBets' and f.single_state is false as needs_placement,
  coalesce(f.transaction_type, '') = 'BY_ROUND' and ${REAL_ROUND} is not null
    and f.callback in ('settleBets', 'cancelBets', 'voidSettled', 'rollback') as by_round`;
const RECORD = `f.ctid, f.username, ${REAL_ROUND} as round, f.bet_id, f.id, f.bet_status, f.accounting_date, f.version_seen_at`;

/** Rows by a key of the part `keys`. "offset 0" makes PostgreSQL search each key by its index. */
const lookUp = (keys: string, columns: string, table: string, condition: string) => `
  select f.* from ${keys} k cross join lateral (
    select ${columns} from ${table} f where f.product_id = $1 and f.username = k.username and ${condition}
    limit $9 offset 0) f`;

/** The rows of a slice of a walk: its parameters are the key before the first row, and the key of the last row. */
export const VISITED = {
  records: `visited as materialized (
    select username, ${REAL_ROUND} as round, bet_id as ref, id as other_ref from bet_records f
    where product_id = $1 and accounting_date between $10::timestamptz and $14::timestamptz
      and (accounting_date, bet_id, username, id) > ($10::timestamptz, $11::text, $12::text, $13::text)
      and (accounting_date, bet_id, username, id) <= ($14::timestamptz, $15::text, $16::text, $17::text)
      and abs(hashtext(username)::bigint) % $2::integer = $3::integer
  )`,
  entries: `visited as materialized (
    select username, ${REAL_ROUND} as round, txn_id as ref, null::text as other_ref from callback_entries f
    where product_id = $1 and occurred_at between $10::timestamptz and $12::timestamptz
      and (occurred_at, entry_id) > ($10::timestamptz, $11::text)
      and (occurred_at, entry_id) <= ($12::timestamptz, $13::text)
      and abs(hashtext(username)::bigint) % $2::integer = $3::integer
  )`,
} as const;

/**
 * Every row of the visited rounds, and of the visited bets without a round. A group has the key "r" and its round, or
 * "b" and a betId. Where other rows have one of its ids, `counts` finds more of them than the group has.
 */
const LOADED = `
  rounds as materialized (select distinct username, round from visited where round is not null),
  loose as materialized (
    select username, ref as id from visited where round is null
    union
    select username, other_ref from visited where round is null and other_ref is not null
  ),
  found_entries as materialized (
    ${lookUp("rounds", ENTRY, "callback_entries", "f.round_id = k.round")}
    union all
    ${lookUp("loose", ENTRY, "callback_entries", "f.txn_id = k.id")}
  ),
  found_records as materialized (
    ${lookUp("rounds", RECORD, "bet_records", "f.round_id = k.round")}
    union all (
      ${lookUp("loose", RECORD, "bet_records", "f.bet_id = k.id")}
      union
      ${lookUp("loose", RECORD, "bet_records", "f.id = k.id")}
    )
  ),
  ids as materialized (
    select username, id, min(round) as round, max(round) as last_round, bool_or(round is null) as is_loose,
      min(owner) as owner, sum(entries) as entries, sum(records) as records, sum(of_ids) as of_ids
    from (
      select username, txn_id as id, round, null as owner, 1 as entries, 0 as records, 0 as of_ids from found_entries
      union all
      select username, bet_id, round, bet_id, 0, 1, 0 from found_records
      union all
      select username, id, round, bet_id, 0, 0, 1 from found_records
    ) named group by username, id
  ),
  counts as materialized (
    select username, id, sum(entries) as entries, sum(records) as records from (
      select username, txn_id as id, 1 as entries, 0 as records from callback_entries
      where product_id = $1 and txn_id = any(array(select id from ids))
      union all
      select username, bet_id, 0, 1 from bet_records where product_id = $1 and bet_id = any(array(select id from ids))
    ) found group by username, id
  ),
  counts_of_ids as materialized (
    select id, count(*) as records from bet_records where product_id = $1 and id = any(array(select id from ids)) group by id
  ),
  lacking as materialized (
    select ids.username, ids.id from ids join counts using (username, id)
    where ids.round is not null and counts.entries > ids.entries
  ),
  more_entries as materialized (${lookUp("lacking", ENTRY, "callback_entries", `f.txn_id = k.id and ${REAL_ROUND} is null`)}),
  entries as materialized (
    select f.*, coalesce('r' || coalesce(f.round, ids.round), 'b' || coalesce(ids.owner, f.txn_id)) as key
    from (select * from found_entries union all select * from more_entries) f
    left join ids on f.round is null and ids.username = f.username and ids.id = f.txn_id
  ),
  records as materialized (
    select f.*, coalesce('r' || coalesce(f.round, b.round, r.round), 'b' || f.bet_id) as key
    from found_records f
    left join ids b on f.round is null and b.username = f.username and b.id = f.bet_id
    left join ids r on f.round is null and r.username = f.username and r.id = f.id
  ),
  refs as (
    select username, txn_id as id, key, round is null as is_loose from entries
    union all
    select username, bet_id, key, round is null from records
    union all
    select username, id, key, round is null from records
  ),
  -- Ids that rows of another group have too, or rows that were not loaded.
  shared as materialized (
    select username, id from ids
    left join counts using (username, id) left join counts_of_ids using (id)
    left join (select username, txn_id as id, count(*) as entries from more_entries group by 1, 2) more using (username, id)
    where ids.round <> ids.last_round or coalesce(counts.records, 0) <> ids.records
      or coalesce(counts.entries, 0) <> ids.entries + coalesce(more.entries, 0)
      or coalesce(counts_of_ids.records, 0) <> ids.of_ids
    union all
    select username, id from refs
    join (select username, id from ids where is_loose union select username, id from lacking) loose_ids using (username, id)
    group by username, id having min(key) <> max(key)
  ),
  tangled as materialized (select distinct refs.username, refs.key from refs join shared using (username, id))`;

/**
 * Whether the bets of a group have certainly ended, as the fold would say. Without a rollback, an own end of a bet
 * stands whatever else follows, and a BY_ROUND end ends every bet that began before it.
 */
const ENDED = `
  bets as materialized (
    select username, key, txn_id,
      bool_or(not by_round and callback in ('settleBets', 'cancelBets', 'voidSettled', 'placeTips', 'cancelTips'))
        or bool_and(by_round or callback in ('winRewards', 'adjustBalance')) as has_ended,
      max(occurred_at) filter (where not by_round) as begun_at,
      bool_or(callback = 'placeBets' and status = 'WAITING') as waits,
      coalesce(min(occurred_at) filter (where needs_placement)
        <= coalesce(min(occurred_at) filter (where callback = 'placeBets'), 'infinity'), false) as is_unplaced,
      bool_or(callback = 'rollback') as ran_again,
      bool_or(by_round) as of_round,
      min(occurred_at) filter (where by_round and callback in ('settleBets', 'cancelBets')) as round_ended_at,
      count(*) as entries, min(occurred_at) as first_at, max(occurred_at) as last_at, max(received_at) as last_received_at,
      min(currency) as currency, max(currency) as last_currency, bool_or(round is null) as is_loose
    from entries group by username, key, txn_id
  ),
  ledger as materialized (
    select username, key, sum(entries) as entries, max(last_at) as last_at, max(last_received_at) as last_received_at,
      bool_and(has_ended) or coalesce(
        min(round_ended_at) > max(begun_at) filter (where not has_ended) and min(currency) = max(last_currency)
          and not bool_or(is_loose), false) as have_ended,
      bool_or(waits and not has_ended) as wait, max(first_at) filter (where not has_ended) as last_begun_at,
      bool_or(is_unplaced or ran_again) as are_unclear
    from bets group by username, key
  ),
  provider as materialized (
    select username, key, count(*) as records, max(accounting_date) as last_at, max(version_seen_at) as last_seen_at,
      bool_or(bet_status in ('OPEN', 'UNSETTLED')) as are_running
    from records group by username, key
  )`;

/** What mismatches of any status name: ids, rounds and requests; a session names no bet, so it keeps all of a player. */
const NAMED = `
  named as materialized (
    select username, subject, bet_id, transaction_id, round_id from (
      select username, subject, bet_id, transaction_id, round_id from mismatches
      where product_id = $1 and username = any(array(select username from visited))
      union all
      select provider ->> 'username', subject, bet_id, transaction_id, round_id from mismatches
      where product_id = $1 and kind = 'username-differs' and provider ->> 'username' = any(array(select username from visited))
    ) of_players
  ),
  kept as materialized (
    select refs.username, refs.key from refs join (
      select username, bet_id as id from named union select username, transaction_id from named
      union select username, substr(subject, 5) from named where subject like 'bet:%'
    ) by_id using (username, id)
    union
    select username, 'r' || coalesce(case when subject like 'round:%' then substr(subject, 7) end, round_id) from named
    union
    select refs.username, refs.key from refs join named using (username) where subject like 'session:%'
    union
    select entries.username, entries.key from entries join (
      select username, substr(subject, 9)::jsonb ->> 0 as callback, substr(subject, 9)::jsonb ->> 1 as request_id
      from named where subject like 'request:%'
    ) by_request using (username, callback, request_id)
  )`;

/**
 * The parts of a statement that find the groups: `groups` with what may go of each, and `left_rows` with the places of
 * the visited rows whose group only `decideGroup` can judge.
 */
export const PLAIN_GROUPS = `${LOADED}, ${ENDED}, ${NAMED},
  judged as materialized (
    select username, key,
      coalesce(p.records, 0) as records, coalesce(l.entries, 0) as entries,
      coalesce(p.last_at < $4::timestamptz and greatest(p.last_seen_at, l.last_received_at) < $4::timestamptz, false)
        as drops_records,
      coalesce(l.last_at < $5::timestamptz and greatest(p.last_seen_at, l.last_received_at) < $5::timestamptz, false)
        as drops_entries,
      coalesce(p.are_running, false) as are_running,
      coalesce(p.records, 0) < $9 and coalesce(l.entries, 0) < $9 as is_whole,
      l.entries is null or not l.are_unclear and (l.have_ended
        or $6::boolean and not l.wait and (p.records is not null or l.last_begun_at < coalesce($7::timestamptz, '-infinity'))) as has_ended
    from ledger l full join provider p using (username, key)
  ),
  clear as materialized (
    select judged.*, is_whole and has_ended and tangled.key is null
        and (key like 'b%' or (username, substr(key, 2)) in (select username, round from rounds)) as is_clear,
      kept.key is not null as is_kept
    from judged left join tangled using (username, key) left join kept using (username, key)
    where (drops_records or drops_entries) and not (are_running and is_whole)
  ),
  groups as materialized (select * from clear where is_clear and not is_kept),
  unclear as materialized (select username, key from clear where not is_clear and not (is_kept and is_whole)),
  left_rows as (
    select visited.username, visited.round, ref, other_ref from visited
    join unclear on unclear.username = visited.username and unclear.key = 'r' || visited.round
    union
    select visited.username, visited.round, ref, other_ref from visited
    join refs on refs.username = visited.username and refs.id = visited.ref
    join unclear on unclear.username = refs.username and unclear.key = refs.key
    where visited.round is null
  )`;
