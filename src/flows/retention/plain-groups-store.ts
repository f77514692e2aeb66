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
const BY_ROUND = `coalesce(f.transaction_type, '') = 'BY_ROUND' and ${REAL_ROUND} is not null
  and f.callback in ('settleBets', 'cancelBets', 'voidSettled', 'rollback')`;
/** What decides about an entry, in few bytes: its row passes through many steps. */
const ENTRY = `f.ctid, f.username, f.txn_id, ${REAL_ROUND} is null as is_loose, ${BY_ROUND} as by_round,
  f.callback in ('settleBets', 'cancelBets', 'voidSettled', 'placeTips', 'cancelTips') as ends,
  f.callback in ('winRewards', 'adjustBalance') as needs_no_end, f.callback in ('settleBets', 'cancelBets') as ends_round,
  f.callback = 'placeBets' as places, f.callback = 'placeBets' and f.status = 'WAITING' as waits,
  f.callback = 'settleBets' and f.single_state is false as needs_placement, f.callback = 'rollback' as ran_again,
  f.currency, f.occurred_at, f.received_at`;
const RECORD = `f.ctid, f.username, f.bet_id, f.id, ${REAL_ROUND} is null as is_loose,
  f.bet_status in ('OPEN', 'UNSETTLED') as is_running, f.accounting_date, f.version_seen_at`;
const namesOf = (columns: string) =>
  columns
    .split(/,\s+(?![^(]*\))/)
    .map((column) => column.replace(/^.* as |^f\./s, ""))
    .join(", ");

/** Rows by a key of the part `keys`. "offset 0" makes PostgreSQL search each key by its index. */
const lookUp = (keys: string, key: string, columns: string, table: string, condition: string) => `
  select f.* from ${keys} k cross join lateral (
    select ${key} as key, ${columns} from ${table} f
    where f.product_id = $1 and f.username = k.username and ${condition}
    limit $9 offset 0) f`;

/** A text of a player and an id that no other player and id give. */
const textOf = (username: string, id: string) => `octet_length(${username}) || ' ' || ${username} || ${id}`;
/** The key of a row's round where the round was not visited. */
const OTHER_ROUND = `'x' || ${textOf("f.username", REAL_ROUND)}`;

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
 * Every row of the visited rounds, and of the visited bets without a round. A group has a key: "r" and the number of a
 * visited round, "x" with another round, or "b" with a betId. Where other rows have one of a group's ids, `counts` finds
 * more of them than the group has. Mostly there are none in the whole slice (`apart`), and nothing is counted for each id.
 */
const LOADED = `
  rounds as materialized (
    select username, round, 'r' || row_number() over () as key
    from (select distinct username, round from visited where round is not null order by 1, 2) each_round
  ),
  loose as materialized (
    select username, ref as id from visited where round is null
    union
    select username, other_ref from visited where round is null and other_ref is not null
  ),
  found_entries as materialized (
    ${lookUp("rounds", "k.key", ENTRY, "callback_entries", "f.round_id = k.round")}
    union all
    ${lookUp("loose", OTHER_ROUND, ENTRY, "callback_entries", "f.txn_id = k.id")}
  ),
  found_records as materialized (
    ${lookUp("rounds", "k.key", RECORD, "bet_records", "f.round_id = k.round")}
    union all (
      ${lookUp("loose", OTHER_ROUND, RECORD, "bet_records", "f.bet_id = k.id")}
      union
      ${lookUp("loose", OTHER_ROUND, RECORD, "bet_records", "f.id = k.id")}
    )
  ),
  -- In order, because PostgreSQL sorts the ids of a search, and finds them sorted.
  all_ids as materialized (
    select array(
      select txn_id from found_entries union select bet_id from found_records union select id from found_records order by 1
    ) as ids
  ),
  apart as materialized (
    select not exists (select from loose)
      and (select count(*) from found_entries) = (
        select count(*) from callback_entries where product_id = $1 and txn_id = any((select ids from all_ids)::text[]))
      and (select count(*) from found_records) = all(array[
        (select count(*) from bet_records where product_id = $1 and bet_id = any((select ids from all_ids)::text[])),
        (select count(*) from bet_records where product_id = $1 and id = any((select ids from all_ids)::text[]))]) as are_apart
  ),
  ids as materialized (
    select username, id, min(key) as key, bool_or(key is null) as is_loose,
      min(owner) as owner, sum(entries) as entries, sum(records) as records, sum(of_ids) as of_ids
    from (
      select username, txn_id as id, key, null as owner, 1 as entries, 0 as records, 0 as of_ids from found_entries
      union all
      select username, bet_id, key, bet_id, 0, 1, 0 from found_records
      union all
      select username, id, key, bet_id, 0, 0, 1 from found_records
    ) named where not (select are_apart from apart) group by username, id
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
    where ids.key is not null and counts.entries > ids.entries
  ),
  more_entries as materialized (${lookUp("lacking", "null::text", ENTRY, "callback_entries", `f.txn_id = k.id and ${REAL_ROUND} is null`)}),
  entries as materialized (
    select key, ${namesOf(ENTRY)} from found_entries where key is not null
    union all
    select coalesce(ids.key, 'b' || ${textOf("f.username", "coalesce(ids.owner, f.txn_id)")}), f.*
    from (
      select ${namesOf(ENTRY)} from found_entries where key is null union all select ${namesOf(ENTRY)} from more_entries
    ) f
    left join ids on ids.username = f.username and ids.id = f.txn_id
  ),
  records as materialized (
    select key, ${namesOf(RECORD)} from found_records where key is not null
    union all
    select coalesce(b.key, r.key, 'b' || ${textOf("f.username", "f.bet_id")}), f.*
    from (select ${namesOf(RECORD)} from found_records where key is null) f
    left join ids b on b.username = f.username and b.id = f.bet_id
    left join ids r on r.username = f.username and r.id = f.id
  )`;

/**
 * Whether the bets of a group have certainly ended, as the fold would say. Without a rollback, an own end of a bet
 * stands whatever else follows, and a BY_ROUND end ends every bet that began before it.
 */
const ENDED = `
  bets as materialized (
    select username, key, txn_id,
      bool_or(ends and not by_round) or bool_and(by_round or needs_no_end) as has_ended,
      max(occurred_at) filter (where not by_round) as begun_at,
      bool_or(waits) as waits,
      coalesce(min(occurred_at) filter (where needs_placement)
        <= coalesce(min(occurred_at) filter (where places), 'infinity'), false) as is_unplaced,
      bool_or(ran_again) as ran_again,
      min(occurred_at) filter (where by_round and ends_round) as round_ended_at,
      count(*)::integer as entries, min(occurred_at) as first_at, max(occurred_at) as last_at,
      max(received_at) as last_received_at,
      min(currency) as currency, max(currency) as last_currency, bool_or(is_loose) as is_loose
    from entries group by username, key, txn_id
  ),
  ledger as materialized (
    select key, sum(entries) as entries, max(last_at) as last_at, max(last_received_at) as last_received_at,
      bool_and(has_ended) or coalesce(
        min(round_ended_at) > max(begun_at) filter (where not has_ended) and min(currency) = max(last_currency)
          and not bool_or(is_loose), false) as have_ended,
      bool_or(waits and not has_ended) as wait, max(first_at) filter (where not has_ended) as last_begun_at,
      bool_or(is_unplaced or ran_again) as are_unclear
    from bets group by key
  ),
  provider as materialized (
    select key, count(*) as records, max(accounting_date) as last_at, max(version_seen_at) as last_seen_at,
      bool_or(is_running) as are_running
    from records group by key
  ),
  refs as materialized (
    select username, txn_id as id, key, is_loose from bets
    union all
    select username, bet_id, key, is_loose from records
    union all
    select username, id, key, is_loose from records
  ),
  -- Ids that rows of another group have too, or rows that were not loaded.
  shared as materialized (
    select username, id from refs group by username, id having min(key) <> max(key)
    union all
    select username, id from ids
    left join counts using (username, id) left join counts_of_ids using (id)
    left join (select username, txn_id as id, count(*) as entries from more_entries group by 1, 2) more using (username, id)
    where coalesce(counts.records, 0) <> ids.records
      or coalesce(counts.entries, 0) <> ids.entries + coalesce(more.entries, 0)
      or coalesce(counts_of_ids.records, 0) <> ids.of_ids
  ),
  tangled as materialized (select distinct key from refs join shared using (username, id))`;

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
      union select username, substr(subject, 5) from named where subject like 'bet:%'
    ) by_id using (username, id)
    union
    select key from rounds join named using (username)
    where round in (case when subject like 'round:%' then substr(subject, 7) end, round_id)
    union
    select key from refs join named using (username) where subject like 'session:%'
    union
    select entries.key from (
      select username, substr(subject, 9)::jsonb ->> 0 as callback, substr(subject, 9)::jsonb ->> 1 as request_id
      from named where subject like 'request:%'
    ) by_request join entries using (username) join callback_entries e on e.ctid = entries.ctid
    where e.callback = by_request.callback and e.request_id = by_request.request_id
  )`;

/**
 * The parts of a statement that find the groups: `groups` with what may go of each, and `left_rows` with the places of
 * the visited rows whose group only `decideGroup` can judge.
 */
export const PLAIN_GROUPS = `${LOADED}, ${ENDED}, ${NAMED},
  judged as materialized (
    select key,
      coalesce(p.records, 0) as records, coalesce(l.entries, 0) as entries,
      coalesce(p.last_at < $4::timestamptz and greatest(p.last_seen_at, l.last_received_at) < $4::timestamptz, false)
        as drops_records,
      coalesce(l.last_at < $5::timestamptz and greatest(p.last_seen_at, l.last_received_at) < $5::timestamptz, false)
        as drops_entries,
      coalesce(p.are_running, false) as are_running,
      coalesce(p.records, 0) < $9 and coalesce(l.entries, 0) < $9 as is_whole,
      l.entries is null or not l.are_unclear and (l.have_ended
        or $6::boolean and not l.wait and (p.records is not null or l.last_begun_at < coalesce($7::timestamptz, '-infinity'))) as has_ended
    from ledger l full join provider p using (key)
  ),
  clear as materialized (
    select judged.*, is_whole and has_ended and tangled.key is null and key not like 'x%' as is_clear, kept.key is not null as is_kept
    from judged left join tangled using (key) left join kept using (key)
    where (drops_records or drops_entries) and not (are_running and is_whole)
  ),
  groups as materialized (select * from clear where is_clear and not is_kept),
  unclear as materialized (select key from clear where not is_clear and not (is_kept and is_whole)),
  left_rows as (
    select username, round, ref, other_ref from visited join rounds using (username, round) join unclear using (key)
    union
    select visited.username, visited.round, ref, other_ref from visited
    join refs on refs.username = visited.username and refs.id = visited.ref
    join unclear on unclear.key = refs.key
    where visited.round is null
  )`;
