/** SQL that loads every row of the old rounds, and of the old bets without a round, that a walk visits. */

import type { Instant } from "../../clock.ts";
import { ofShareText } from "../../db/retention-store.ts";

/** The parameters of the statement, in order. Those of `VISITED` follow. */
export type PlainParameters = readonly [
  productId: string,
  /** the number of lanes among which players are shared, and which of them this is */
  lanes: number,
  lane: number,
  /** `DeleteUpTo` */
  recordsUpTo: Instant | null,
  entriesUpTo: Instant | null,
  /** the operator writes no entry for a lost bet */
  omitsLostBets: boolean,
  /** records of earlier time were deleted; null: none were */
  deletedRecords: Instant | null,
  /** deleted bets are remembered if their last entry is not older */
  rememberedFrom: Instant,
  /** a round with at least this many records or entries is not loaded whole */
  wide: number,
  /** rows of earlier time stay */
  closedFrom: Instant,
  ...slice: readonly string[],
];

const REAL_ROUND = "nullif(nullif(f.round_id, ''), 'UNKNOWN')";
export const BY_ROUND = `(coalesce(f.transaction_type, '') = 'BY_ROUND' and ${REAL_ROUND} is not null
  and f.callback in ('settleBets', 'cancelBets', 'voidSettled', 'rollback'))`;
/**
 * What an entry says about the end of its bet. The greatest number of its entries counts. `hasEndedIfPlaced`: it ends only a bet that
 * was placed before it. `isVoidOrTip`: a bet of rewards can begin after it. `isSpecial`: all entries of the group decide.
 */
export const SAYS = {
  isNoBet: -1,
  needsNoEnd: 0,
  begins: 1,
  isPlaced: 2,
  hasEnded: 3,
  hasEndedIfPlaced: 4,
  isVoidOrTip: 5,
  isSpecial: 6,
} as const;
const SAID = `case
    when f.callback = 'placeBets' then ${SAYS.isPlaced}
    when f.callback = 'rollback' or (f.single_state is false or f.end_round is false) and ${BY_ROUND} then ${SAYS.isSpecial}
    when f.callback = 'winRewards' or ${BY_ROUND} then ${SAYS.needsNoEnd}
    when f.callback = 'settleBets' and f.end_round is false then ${SAYS.begins}
    when f.callback = 'settleBets' and f.single_state is false then ${SAYS.hasEndedIfPlaced}
    when f.callback = 'settleBets' then ${SAYS.hasEnded}
    when f.callback in ('cancelBets', 'voidSettled', 'placeTips', 'cancelTips') then ${SAYS.isVoidOrTip}
    when f.callback = 'adjustBalance' then ${SAYS.isNoBet}
    else ${SAYS.begins} end`;
/** What decides about a row, in few columns: it passes through many steps. */
const ENTRY = `f.ctid, f.username, f.txn_id, f.occurred_at, f.received_at, ${SAID} as says`;
const RECORD = `f.ctid, f.username, f.bet_id, f.id, f.accounting_date, f.version_seen_at,
  f.bet_status in ('OPEN', 'UNSETTLED') as is_running, f.bet_status <> 'SETTLED' or f.payout <> 0 as not_lost`;
const namesOf = (columns: string) =>
  columns
    .split(/,\s+(?=f\.|case)/)
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
/** The key of a row's round if the round was not visited. */
const OTHER_ROUND = `'x' || ${textOf("f.username", REAL_ROUND)}`;

/** The rows of a slice of a walk: its parameters are the key before the first row, and the key of the last row. */
export const VISITED = {
  records: `visited as materialized (
    select username, ${REAL_ROUND} as round, bet_id as ref, id as other_ref from bet_records f
    where product_id = $1 and accounting_date between $11::timestamptz and $15::timestamptz
      and ${ofShareText("$2::integer", "$3::integer")}
      and (accounting_date, bet_id, username, id) > ($11::timestamptz, $12::text, $13::text, $14::text)
      and (accounting_date, bet_id, username, id) <= ($15::timestamptz, $16::text, $17::text, $18::text)
  )`,
  entries: `visited as materialized (
    select username, ${REAL_ROUND} as round, txn_id as ref, null::text as other_ref from callback_entries f
    where product_id = $1 and occurred_at between $11::timestamptz and $13::timestamptz
      and ${ofShareText("$2::integer", "$3::integer")}
      and (occurred_at, entry_id) > ($11::timestamptz, $12::text)
      and (occurred_at, entry_id) <= ($13::timestamptz, $14::text)
  )`,
} as const;

/**
 * Every row of the visited rounds, and of the visited bets without a round. A group has a key: "r" and the number of a
 * visited round, "x" with another round, or "b" with a betId. If other rows have one of a group's ids, `counts` finds
 * more of them than the group has. Mostly there are none in the whole slice (`apart`), and nothing is counted for each id.
 */
export const LOADED = `
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
  each_id as materialized (
    select id, min(key) <> max(key) as is_shared from (
      select txn_id as id, key from found_entries
      union all select bet_id, key from found_records union all select id, key from found_records
    ) named group by id
  ),
  -- In order, because PostgreSQL sorts the ids of a search, and finds them sorted.
  all_ids as materialized (select array(select id from each_id order by 1) as ids),
  apart as materialized (
    select not exists (select from loose) and not exists (select from each_id where is_shared)
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
  entries as not materialized (
    select key, ${namesOf(ENTRY)}, false as is_loose from found_entries where key is not null
    union all
    select coalesce(ids.key, 'b' || ${textOf("f.username", "coalesce(ids.owner, f.txn_id)")}), f.*, true
    from (
      select ${namesOf(ENTRY)} from found_entries where key is null union all select ${namesOf(ENTRY)} from more_entries
    ) f
    left join ids on ids.username = f.username and ids.id = f.txn_id
  ),
  records as not materialized (
    select key, ${namesOf(RECORD)}, false as is_loose from found_records where key is not null
    union all
    select coalesce(b.key, r.key, 'b' || ${textOf("f.username", "f.bet_id")}), f.*, true
    from (select ${namesOf(RECORD)} from found_records where key is null) f
    left join ids b on b.username = f.username and b.id = f.bet_id
    left join ids r on r.username = f.username and r.id = f.id
  )`;
