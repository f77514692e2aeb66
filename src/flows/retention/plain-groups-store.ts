/**
 * SQL that finds the old rounds, and bets without a round, whose rows may certainly be deleted (§3.10). It says the same
 * as `decideGroup` says of a loaded group, or leaves the group to it. Parameters: `PlainParameters`.
 */

import { LOADED } from "./plain-rows-store.ts";

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
    select key, sum(entries) as entries, min(first_at) as first_at, max(last_at) as last_at, max(last_received_at) as last_received_at,
      bool_and(has_ended) or coalesce(
        min(round_ended_at) > max(begun_at) filter (where not has_ended) and min(currency) = max(last_currency)
          and not bool_or(is_loose), false) as have_ended,
      bool_or(waits and not has_ended) as wait, max(first_at) filter (where not has_ended) as last_begun_at,
      bool_or(is_unplaced or ran_again) as are_unclear
    from bets group by key
  ),
  provider as materialized (
    select key, count(*) as records, min(accounting_date) as first_at, max(accounting_date) as last_at, max(version_seen_at) as last_seen_at,
      bool_or(is_running) as are_running, bool_or(not_lost) as are_not_lost
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
    ) by_request join entries using (username)
    cross join lateral (select callback, request_id from callback_entries where ctid = entries.ctid offset 0) e
    where e.callback = by_request.callback and e.request_id = by_request.request_id
  )`;

/**
 * The parts of a statement that find the groups: `groups` with what may go of each, and `left_rows` with the places of
 * the visited rows whose group only `decideGroup` can judge.
 */
export const PLAIN_GROUPS = `${LOADED}, ${ENDED}, ${NAMED},
  in_doubt as materialized (
    select distinct key from records join (
      select username, bet_id, id from record_absences
      where product_id = $1 and username = any((select usernames from players)::text[]) and absent_since is null and not elsewhere
    ) undecided using (username, bet_id, id)
  ),
  judged as materialized (
    select key,
      coalesce(p.records, 0) as records, coalesce(l.entries, 0) as entries,
      coalesce(p.last_at < $4::timestamptz and greatest(p.last_seen_at, l.last_received_at) < $4::timestamptz, false)
        as drops_records,
      coalesce(l.last_at < $5::timestamptz and greatest(p.last_seen_at, l.last_received_at) < $5::timestamptz, false)
        as drops_entries,
      least(p.first_at, l.first_at) < $10::timestamptz as begin_early,
      coalesce(p.are_running, false) or in_doubt.key is not null as must_stay,
      coalesce(p.records, 0) < $9 and coalesce(l.entries, 0) < $9 as is_whole,
      l.entries is null or not l.are_unclear and (l.have_ended
        or $6::boolean and not l.wait and (p.records is not null and not p.are_not_lost or p.records is null and l.last_begun_at < coalesce($7::timestamptz, '-infinity'))) as has_ended
    from ledger l full join provider p using (key) left join in_doubt using (key)
  ),
  clear as materialized (
    select judged.*, is_whole and has_ended and tangled.key is null and key not like 'x%' as is_clear, kept.key is not null as is_kept
    from judged left join tangled using (key) left join kept using (key)
    where (drops_records or drops_entries) and not ((must_stay or begin_early) and is_whole)
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
