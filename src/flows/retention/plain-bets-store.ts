/** Deletes plain old bets with everything that belongs to them, in one statement (decision 162). */

import type { Query } from "../../db/client.ts";
import {
  ACCOUNTED_COLUMNS,
  keepMovedText,
  noteEntriesText,
  SWITCH_TRIGGERS_OFF,
} from "../../db/entry-accounts.ts";
import { digestText } from "../../db/retention-store.ts";
import { noteAddedText } from "../../db/row-counts.ts";
import { GOES, PLAIN_GROUPS } from "./plain-groups-store.ts";
import { type PlainParameters, VISITED } from "./plain-rows-store.ts";

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
