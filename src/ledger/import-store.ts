/** Writes rows that a program hands over (§3.9) into `callback_entries`, and keeps the lines that cannot be used. */

import postgres from "postgres";
import type { Query } from "../db/client.ts";
import { toColumnArray } from "../db/column-array.ts";
import { columnOf, type LedgerRow, type RowNames } from "./ledger-row.ts";
import { LEDGER_COLUMNS } from "./relation.ts";

/**
 * What became of a row. `known`: there is such an entry with the same content. `changed`: there is one with other
 * content, and `ledger.rowsChange` decides which of them stays.
 */
export type RowFate = "added" | "known" | "changed" | { readonly rejected: string };

/**
 * Which contents are the same. `replays`: a request that the provider sent again is the same however late it came,
 * and an answer that moved nothing declares nothing new.
 */
export type Sameness = "exact" | "replays";

const NAMES = LEDGER_COLUMNS.map(({ name }) => name);
const LIST = NAMES.join(", ");
const of = (alias: string, names: readonly string[]) =>
  `(${names.map((name) => `${alias}.${name}`).join(", ")})`;

/** The rows as parameters, an array for each column, numbered from 1, each with why it cannot be an entry. */
const GIVEN = `given as materialized (
  select t.*, recon_entry_fault(entry_id, callback, product_id, username, txn_id, round_id, bet_amount, payout_amount,
    moved, balance_before, balance_after, occurred_at, received_at) as fault
  from unnest(${LEDGER_COLUMNS.map(({ kind }, index) => `$${index + 1}::${kind}[]`).join(", ")})
    with ordinality as t (${LIST}, place)
)`;

/** What a replay may say otherwise. */
const OF_ARRIVAL = ["occurred_at", "received_at"];
const OF_ANSWER = ["moved", "balance_before", "balance_after"];
const ASKED = NAMES.filter((name) => ![...OF_ARRIVAL, ...OF_ANSWER].includes(name));
const IS_SAME: Readonly<Record<Sameness, string>> = {
  exact: `${of("k", NAMES)} is not distinct from ${of("g", NAMES)}`,
  replays: `${of("k", ASKED)} is not distinct from ${of("g", ASKED)}
    and (${of("k", OF_ANSWER)} is not distinct from ${of("g", OF_ANSWER)}
      or coalesce(g.balance_after - g.balance_before, 0) = 0)`,
};

/**
 * Writes rows, of several with one entry_id the first; part of a transaction. The triggers of the table ask for the
 * comparison of what is written. Rows that cannot be entries are left out.
 * @returns the fate of each row
 */
export async function writeRows(
  tx: Query,
  rows: readonly LedgerRow[],
  sameness: Sameness,
): Promise<RowFate[]> {
  return await inParts(rows, async (part) => {
    const someKnown = await areKnown(tx, part);
    const fates: RowFate[] = someKnown ? await judgeRows(tx, part, sameness) : part.map(() => "added");
    const places = [...part.keys()].filter((place) => fates[place] === "added");
    const rowsAt = (of: readonly number[]) => of.map((place) => part[place] as LedgerRow);
    const left = someKnown
      ? (await insertUnknown(tx, rowsAt(places))).map((place) => places[place] as number)
      : await insertAll(tx, part);
    const judged = await judgeRows(tx, rowsAt(left), sameness);
    for (const [index, place] of left.entries()) fates[place] = judged[index] as RowFate;
    const changed = part.filter((_, place) => fates[place] === "changed");
    await replaceRows(tx, changed);
    return fates;
  });
}

/** What would become of rows; writes nothing. */
export async function tryRows(
  sql: Query,
  rows: readonly LedgerRow[],
  sameness: Sameness,
): Promise<RowFate[]> {
  return await inParts(rows, (part) => judgeRows(sql, part, sameness));
}

/** A statement takes each entry_id once: what comes again with the same content is known, with other content it waits. */
async function inParts(
  rows: readonly LedgerRow[],
  take: (part: readonly LedgerRow[]) => Promise<RowFate[]>,
): Promise<RowFate[]> {
  const fates: RowFate[] = [];
  let part: LedgerRow[] = [];
  let places: { readonly place: number; readonly isRepeat: boolean }[] = [];
  let known = new Map<string, number>();
  const flush = async () => {
    const taken = part.length === 0 ? [] : await take(part);
    for (const { place, isRepeat } of places) {
      const fate = taken[place] as RowFate;
      fates.push(isRepeat && fate === "added" ? "known" : fate);
    }
    [part, places, known] = [[], [], new Map()];
  };
  for (const row of rows) {
    const id = columnOf(row, "entry_id") ?? "";
    const earlier = known.get(id);
    if (earlier !== undefined && JSON.stringify(part[earlier]) === JSON.stringify(row)) {
      places.push({ place: earlier, isRepeat: true });
      continue;
    }
    if (earlier !== undefined) await flush();
    known.set(id, part.length);
    places.push({ place: part.length, isRepeat: false });
    part.push(row);
  }
  await flush();
  return fates;
}

/** Whether there is an entry of any of the rows: most parts are all new, or all known. */
async function areKnown(tx: Query, rows: readonly LedgerRow[]): Promise<boolean> {
  const [found] = await tx.unsafe<{ any: boolean }[]>(
    `select exists (
      select from unnest($1::text[]) as g (id) join callback_entries k on k.entry_id = g.id
    ) as any`,
    [toColumnArray(rows.map((row) => columnOf(row, "entry_id")))],
    { prepare: true },
  );
  return found?.any ?? false;
}

/**
 * Inserts rows of which none is known: a third faster than where some may be. A row that another program writes
 * meanwhile fails it (`isOfRace`).
 * @returns the places, from 0, of the rows that cannot be entries
 */
async function insertAll(tx: Query, rows: readonly LedgerRow[]): Promise<number[]> {
  const left = await tx.unsafe<{ place: number }[]>(
    `with ${GIVEN},
    added as (
      insert into callback_entries (${LIST}) select ${LIST} from given where fault is null
      order by entry_id collate "C"
    )
    select place::int - 1 as place from given where fault is not null order by place`,
    toParameters(rows),
    { prepare: true },
  );
  return left.map(({ place }) => place);
}

/** @returns the places, from 0, of the rows that were not inserted */
async function insertUnknown(tx: Query, rows: readonly LedgerRow[]): Promise<number[]> {
  if (rows.length === 0) return [];
  const left = await tx.unsafe<{ place: number }[]>(
    `with ${GIVEN},
    added as (
      insert into callback_entries (${LIST}) select ${LIST} from given where fault is null
      order by entry_id collate "C"
      on conflict (entry_id) do nothing
      returning entry_id
    )
    select g.place::int - 1 as place from given g left join added a on a.entry_id = g.entry_id
    where a.entry_id is null order by g.place`,
    toParameters(rows),
    { prepare: true },
  );
  return left.map(({ place }) => place);
}

interface JudgedRow {
  /** null: it can be an entry */
  readonly reason: string | null;
  readonly isKnown: boolean;
  readonly isSame: boolean;
}

async function judgeRows(tx: Query, rows: readonly LedgerRow[], sameness: Sameness): Promise<RowFate[]> {
  const judged = await tx.unsafe<JudgedRow[]>(
    `with ${GIVEN}
    select case when g.fault is not null then recon_describe_fault(g.fault,
        recon_content(jsonb_populate_record(null::callback_entries, to_jsonb(g)))) end as reason,
      k.entry_id is not null as "isKnown", ${IS_SAME[sameness]} as "isSame"
    from given g left join callback_entries k on k.entry_id = g.entry_id
    order by g.place`,
    toParameters(rows),
    { prepare: true },
  );
  return judged.map(({ reason, isKnown, isSame }) => {
    if (reason !== null) return { rejected: reason };
    if (!isKnown) return "added";
    return isSame ? "known" : "changed";
  });
}

/** A trigger of the table decides what becomes of the update. */
async function replaceRows(tx: Query, rows: readonly LedgerRow[]): Promise<void> {
  if (rows.length === 0) return;
  await tx.unsafe(
    `with ${GIVEN}
    update callback_entries k set (${LIST}) = ${of("g", NAMES)} from given g where k.entry_id = g.entry_id`,
    toParameters(rows),
    { prepare: true },
  );
}

function toParameters(rows: readonly LedgerRow[]) {
  return LEDGER_COLUMNS.map((_, column) => toColumnArray(rows.map((row) => row[column] ?? null)));
}

/** A line that cannot be used. */
export interface RejectedLine {
  readonly raw: string;
  readonly reason: string;
  readonly names: RowNames;
}

/**
 * Keeps lines that cannot be used, each once, as the triggers keep rows: until its entry is written as it should be.
 * A line that speaks of an entry that is known already is a refused change of it.
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

/** Whether PostgreSQL refused a value, or what is made of it, so that other rows may be taken. */
export function isOfValue(error: unknown): boolean {
  return error instanceof postgres.PostgresError && /^(?:22|54)/.test(error.code);
}

/** Whether another program wrote one of the rows at the same time: the next try finds it. */
export function isOfRace(error: unknown): boolean {
  return error instanceof postgres.PostgresError && error.code === UNIQUE_VIOLATION;
}

const UNIQUE_VIOLATION = "23505";
