/** Deletes plain old bets with everything that belongs to them, in one statement (decision 162). */

import type { Query } from "../../db/client.ts";
import { digestText } from "../../db/retention-store.ts";
import { noteAddedText } from "../../db/row-counts.ts";
import { PLAIN_GROUPS } from "./plain-groups-store.ts";
import { type PlainParameters, VISITED } from "./plain-rows-store.ts";

export interface DroppedPlain {
  readonly records: number;
  readonly entries: number;
  /** the visited rows whose groups were not judged: player, real round, and up to two ids */
  readonly left: readonly (readonly [string, string | null, string, string | null])[];
}

/** Whether anything is to be searched: many operators have no wallet, and older versions come seldom. */
const anyOf = (table: string) => `(select exists (select from ${table}))`;

/** Deletes the rows of `table` that `found` leads to. A search by index for each, whatever the planner assumes. */
const deleteFound = (table: string, found: string, condition: string) => `
  delete from ${table} where ctid = any(array(
    select t.ctid from ${found} d
    cross join lateral (select ctid from ${table} t where t.product_id = $1 and t.username = d.username and ${condition} offset 0) t
    where ${anyOf(table)}))`;

const statementOf = (visited: string) => `with ${visited}, ${PLAIN_GROUPS},
  doomed_entries as materialized (select ctid from entries join groups using (key) where drops_entries),
  doomed_records as materialized (select ctid, username, bet_id, id from records join groups using (key) where drops_records),
  doomed_bets as materialized (
    select bets.username, txn_id, last_at from bets join groups using (key) where drops_entries
  ),
  deleted_entries as (
    delete from callback_entries where ctid = any(array(select ctid from doomed_entries)) returning 1
  ),
  deleted_records as (
    delete from bet_records where ctid = any(array(select ctid from doomed_records)) returning 1
  ),
  noted_entries as (${noteAddedText("callback_entries", "-count(*)::integer", "from deleted_entries having count(*) > 0")}),
  noted_records as (${noteAddedText("bet_records", "-count(*)::integer", "from deleted_records having count(*) > 0", "$1")}),
  deleted_record_versions as (${deleteFound("bet_record_versions", "doomed_records", "t.bet_id = d.bet_id and t.id = d.id")}),
  deleted_absences as (${deleteFound("record_absences", "doomed_records", "t.bet_id = d.bet_id and t.id = d.id")}),
  deleted_entry_versions as (${deleteFound("entry_versions", "doomed_bets", "t.txn_id = d.txn_id")}),
  deleted_wallet_bets as (${deleteFound("wallet_bets", "doomed_bets", "t.txn_id = d.txn_id and t.status <> 'open'")}),
  deleted_requests as (
    delete from callback_requests where ctid = any(array(
      select r.ctid from (
        select callback, request_id, received_at, count(*) as entries from callback_entries
        where ctid = any(array(select ctid from doomed_entries)) group by 1, 2, 3
      ) d
      cross join lateral (
        select ctid from callback_requests r
        where r.product_id = $1 and r.callback = d.callback and r.request_id = d.request_id offset 0) r
      -- The wallet gives all entries of a request one received_at. This statement still sees what it deletes.
      where ${anyOf("callback_requests")} and d.entries = (select count(*) from callback_entries e where e.received_at = d.received_at
        and e.product_id = $1 and e.callback = d.callback and e.request_id = d.request_id)))
  ),
  whole as materialized (
    select key from groups where (drops_records or records = 0) and (drops_entries or entries = 0)
  ),
  deleted_closed_bets as (
    delete from closed_bets where ctid = any(array(
      select c.ctid from (
        select username, 'round:' || round as subject from whole join rounds using (key)
        union all
        select distinct username, 'bet:' || id from refs join whole using (key) where is_loose
      ) d
      cross join lateral (
        select ctid from closed_bets c where c.product_id = $1 and c.username = d.username and c.subject = d.subject offset 0) c
      where ${anyOf("closed_bets")}))
  ),
  digests as materialized (
    select ${digestText("$1", "username", "txn_id")} as digest, max(last_at) as last_at from doomed_bets
    where last_at >= $8::timestamptz group by 1 order by 1
  ),
  known_digests as materialized (
    select digest from deleted_bets where digest = any(array(select digest from digests))
  ),
  again as materialized (select digest, last_at from digests join known_digests using (digest)),
  -- Not "on conflict", which writes each row in two steps. A conflict with another transaction fails the statement.
  remembered as (
    insert into deleted_bets (digest, last_entry_at)
    select digest, last_at from digests where not exists (select from known_digests k where k.digest = digests.digest)
  ),
  remembered_again as (
    insert into deleted_bets (digest, last_entry_at) select digest, last_at from again
    on conflict (digest) do update set last_entry_at = greatest(deleted_bets.last_entry_at, excluded.last_entry_at)
  )
  select (select count(*) from doomed_records) as "recordsFound", (select count(*) from deleted_records) as records,
    (select count(*) from doomed_entries) as "entriesFound", (select count(*) from deleted_entries) as entries,
    (select coalesce(json_agg(json_build_array(username, round, ref, other_ref)), '[]') from left_rows) as left`;

const STATEMENTS = { records: statementOf(VISITED.records), entries: statementOf(VISITED.entries) } as const;

/**
 * Deletes the plain bets among the groups of some visited rows. Needs a transaction with one snapshot, in which a row
 * that another transaction has changed since fails the statement.
 */
export async function dropPlainBets(
  tx: Query,
  side: keyof typeof VISITED,
  parameters: PlainParameters,
): Promise<DroppedPlain> {
  // Planning so long a statement takes as long as a part of its work, and the plan is the same for all slices. PostgreSQL does not
  // know how many rows each part has: it must neither join them row by row, nor read a table whole that was small once.
  await tx`select set_config('wallet_recon.writes', 'own', true), set_config('plan_cache_mode', 'force_generic_plan', true),
    set_config('jit', 'off', true), set_config('enable_seqscan', 'off', true), set_config('enable_nestloop', 'off', true)`;
  const [row] = await tx.unsafe<(DroppedPlain & { recordsFound: number; entriesFound: number })[]>(
    STATEMENTS[side],
    [...parameters] as never[],
    { prepare: true },
  );
  if (row === undefined || row.records !== row.recordsFound || row.entries !== row.entriesFound)
    throw new Error("not every row of a plain bet was deleted");
  return row;
}
