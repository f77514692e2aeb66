/** Rejected rows of the ledger (`rejected_entries`): keeps, counts, reports and deletes them. */

import type { Instant } from "../clock.ts";
import type { Query } from "../db/client.ts";
import { toColumnArray } from "../db/statement.ts";
import type { RejectedKind, RejectedWhole } from "../rejected.ts";
import type { RowNames } from "./ledger-row.ts";

export interface LockedEntry extends RejectedWhole {
  /** the refused change was a delete */
  readonly isDelete: boolean;
  /** the relation has several rows with this entry_id, and this is not the first */
  readonly isRepeat: boolean;
}

/** Locks rows, in the same order in every transaction. @returns the rows that still exist, newest first */
export async function lockRejectedEntries(tx: Query, rows: readonly number[]): Promise<LockedEntry[]> {
  return await tx<LockedEntry[]>`
    select id as row, kind, product_id as "productId", entry_id as "entryId", reason,
      first_seen_at as "firstSeenAt", raw,
      coalesce(starts_with(reason, 'entry "' || entry_id || '" was deleted; '), false) as "isDelete",
      coalesce(starts_with(reason, 'entry_id "' || entry_id || '" stands in more than one row'), false) as "isRepeat"
    from rejected_entries where id = any(${rows as number[]}::bigint[]) order by id desc for update`;
}

/** What has happened to an entry since a change of it was refused. */
export interface LaterChange {
  readonly row: number;
  /** the entry was replaced or deleted after this change was refused */
  readonly isOutdated: boolean;
  /** the row of a later refused change of the same entry; null: there is none */
  readonly laterRow: number | null;
}

export async function readLaterChanges(tx: Query, rows: readonly number[]): Promise<LaterChange[]> {
  if (rows.length === 0) return [];
  return await tx<LaterChange[]>`
    select r.id as row,
      exists (select from entry_versions v where v.entry_id = r.entry_id and v.changed_at >= r.first_seen_at)
        as "isOutdated",
      (select max(l.id) from rejected_entries l
        where l.entry_id = r.entry_id and l.kind = 'changed' and l.id > r.id) as "laterRow"
    from rejected_entries r where r.id = any(${rows as number[]}::bigint[])`;
}

/** Retries a refused deletion of an entry; a trigger decides (`ledger.rowsChange`). @returns whether the entry is gone */
export async function deleteEntry(tx: Query, entryId: string): Promise<boolean> {
  await tx`delete from callback_entries where entry_id = ${entryId}`;
  const [row] = await tx`select from callback_entries where entry_id = ${entryId}`;
  return row === undefined;
}

/**
 * Deletes rows, and marks their bets for comparison: as long as a row named a bet, the bet was not reported as missing.
 */
export async function deleteRejectedEntries(tx: Query, rows: readonly number[], now: Instant): Promise<void> {
  if (rows.length === 0) return;
  await tx`
    with gone as (
      delete from rejected_entries where id = any(${rows as number[]}::bigint[])
      returning product_id, username, nullif(nullif(round_id, ''), 'UNKNOWN') as round_id, txn_id
    )
    insert into diff_marks (product_id, usernames, round_ids, bet_refs, due_at)
    select product_id, array[username, username], array[round_id, null], array[null, txn_id], ${now}
    from gone where product_id is not null and username is not null and txn_id is not null`;
}

/** Deletes unusable rows whose entry has been accepted since. */
export async function deleteCorrected(tx: Query, now: Instant): Promise<void> {
  const corrected = await tx<{ row: number }[]>`
    select r.id as row from rejected_entries r
    where r.kind = 'unusable' and exists (select from callback_entries e where e.entry_id = r.entry_id)
    order by r.id desc for update of r skip locked`;
  await deleteRejectedEntries(
    tx,
    corrected.map(({ row }) => row),
    now,
  );
}

/** The number of rejected entries. @param most stops counting there */
export async function countFirstRejected(sql: Query, most: number): Promise<number> {
  const [row] = await sql<{ count: number }[]>`
    select count(*) as count from (select from rejected_entries limit ${most}) first`;
  return row?.count ?? 0;
}

/** A line of an import that cannot be used. */
export interface RejectedLine {
  readonly raw: string;
  readonly reason: string;
  readonly names: RowNames;
}

/**
 * Keeps lines that cannot be used, each once, until their entry is accepted, as the triggers do with rows. If the entry
 * of a line is known, the line is kept as a refused change.
 */
export async function keepRejectedLines(tx: Query, lines: readonly RejectedLine[]): Promise<void> {
  if (lines.length === 0) return;
  const columns = [
    lines.map(({ raw }) => raw),
    lines.map(({ reason }) => reason),
    ...(["entryId", "productId", "username", "txnId", "roundId"] as const).map((name) =>
      lines.map(({ names }) => names[name]),
    ),
  ].map((values) =>
    toColumnArray(values.map((value) => value?.toWellFormed().replaceAll("\0", "\uFFFD") ?? null)),
  );
  await tx.unsafe(
    `insert into rejected_entries
      (entry_digest, kind, entry_id, product_id, username, txn_id, round_id, raw, reason, first_seen_at)
    select distinct on (digest) digest, kind, entry_id, product_id, username, txn_id, round_id, raw, reason, now()
    from (
      select t.*, k.kind, md5(case k.kind when 'changed' then 'changed ' || t.reason || t.raw
        else coalesce(t.entry_id, t.raw) end) as digest
      from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[]) with ordinality
        as t (raw, reason, entry_id, product_id, username, txn_id, round_id, place)
      cross join lateral (select case when exists (select from callback_entries e where e.entry_id = t.entry_id)
        then 'changed' else 'unusable' end as kind) k
    ) lines
    order by digest, place desc
    on conflict (entry_digest) do update set raw = excluded.raw, reason = excluded.reason,
      product_id = excluded.product_id, username = excluded.username, txn_id = excluded.txn_id,
      round_id = excluded.round_id, reported_at = null
      where rejected_entries.raw <> excluded.raw`,
    columns,
    { prepare: true },
  );
}

/** Some bets of a player, and their rounds. */
interface BetsOfPlayer {
  readonly productId: string;
  readonly username: string;
  readonly txnIds: readonly string[];
  readonly roundIds: readonly string[];
}

/** @returns for each input, whether an unusable row names one of its bets or rounds */
export async function areEntriesRejected(tx: Query, asked: readonly BetsOfPlayer[]): Promise<boolean[]> {
  const rows = await tx.unsafe<{ rejected: boolean }[]>(
    `select exists (
      select from rejected_entries e
      where e.username = k.username and e.product_id = k."productId" and e.kind = 'unusable'
        and (k."txnIds" ? e.txn_id or k."roundIds" ? e.round_id)
    ) as rejected
    from jsonb_to_recordset($1::text::jsonb)
      as k (place integer, "productId" text, username text, "txnIds" jsonb, "roundIds" jsonb)
    order by place`,
    [JSON.stringify(asked.map((one, position) => ({ ...one, place: position })))],
    { prepare: true },
  );
  return rows.map(({ rejected }) => rejected);
}

/** The number of rejected rows: unusable rows, and refused changes of entries. */
export async function countRejectedEntries(sql: Query): Promise<{ unusable: number; changed: number }> {
  const [row] = await sql<{ unusable: number; changed: number }[]>`
    select count(*) filter (where kind = 'unusable') as unusable, count(*) filter (where kind = 'changed') as changed
    from rejected_entries`;
  return row ?? { unusable: 0, changed: 0 };
}

/** Rejected entries of one product and kind that no alert has reported. */
interface UnreportedEntries {
  readonly kind: RejectedKind;
  /** null: the rows name no product */
  readonly productId: string | null;
  readonly entries: number;
  /** the reason of one of them; it names the column and the value */
  readonly reason: string;
}

/**
 * Sets rejected entries that no alert has reported to reported. Runs in the transaction that writes the alerts.
 * @param most the most rows
 */
export async function claimUnreported(tx: Query, now: Instant, most: number): Promise<UnreportedEntries[]> {
  return await tx<UnreportedEntries[]>`
    with taken as (
      update rejected_entries set reported_at = ${now}
      where id in (
        select id from rejected_entries where reported_at is null order by id limit ${most} for update skip locked)
      returning id, kind, product_id, reason
    )
    select kind, product_id as "productId", count(*) as entries, (array_agg(reason order by id))[1] as reason
    from taken group by kind, product_id order by kind, product_id`;
}
