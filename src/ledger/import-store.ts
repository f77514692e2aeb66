/** The statements that write rows of the ledger into `callback_entries`, and that judge what is there already. */

import postgres from "postgres";
import type { Query } from "../db/client.ts";
import { toColumnArray } from "../db/column-array.ts";
import { columnOf, type LedgerRow } from "./ledger-row.ts";
import { LEDGER_COLUMNS } from "./relation.ts";

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
    moved, balance_before, balance_after, occurred_at, received_at, transaction_type) as fault
  from unnest(${LEDGER_COLUMNS.map(({ kind }, index) => `$${index + 1}::${kind}[]`).join(", ")})
    with ordinality as t (${LIST}, place)
)`;

/** What a replay may say otherwise. */
const OF_ARRIVAL = ["occurred_at", "received_at"];
/** What the operator answered; all other columns say what was asked for, and when. */
export const OF_ANSWER = ["moved", "balance_before", "balance_after"];
export const ASKED = NAMES.filter((name) => ![...OF_ARRIVAL, ...OF_ANSWER].includes(name));
const IS_SAME: Readonly<Record<Sameness, string>> = {
  exact: `${of("k", NAMES)} is not distinct from ${of("g", NAMES)}`,
  replays: `${of("k", ASKED)} is not distinct from ${of("g", ASKED)}
    and (${of("k", OF_ANSWER)} is not distinct from ${of("g", OF_ANSWER)}
      or coalesce(g.balance_after - g.balance_before, 0) = 0)`,
};

/**
 * A request that was applied twice under one id: asked for the same, and moved money each time. The second time is an
 * entry of its own, so that the money is not lost from sight.
 */
const IS_AGAIN: Readonly<Record<Sameness, string>> = {
  exact: "false",
  replays: `${of("k", ASKED)} is not distinct from ${of("g", ASKED)}
    and k.balance_after is not null and g.balance_after is not null`,
};

/** Whether there is an entry of any of the rows: most parts are all new, or all known. */
export async function areKnown(tx: Query, rows: readonly LedgerRow[]): Promise<boolean> {
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
export async function insertAll(tx: Query, rows: readonly LedgerRow[]): Promise<number[]> {
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
export async function insertUnknown(tx: Query, rows: readonly LedgerRow[]): Promise<number[]> {
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

/** A request id that was used again with other content: another entry. */
const IS_OTHER: Readonly<Record<Sameness, string>> = {
  exact: "false",
  replays: `${of("k", ASKED)} is distinct from ${of("g", ASKED)}`,
};

interface JudgedRow {
  /** null: it can be an entry */
  readonly reason: string | null;
  readonly isKnown: boolean;
  readonly isSame: boolean;
  readonly isAgain: boolean;
  readonly isOther: boolean;
}

/**
 * What a row is beside the entries that are there. `added`: there is none with its entry_id. `again`: it is an entry
 * of its own beside the known one; `other`: the same, because it asks for something else.
 */
export type Judgement = "added" | "known" | "changed" | "again" | "other" | { readonly rejected: string };

export async function judgeRows(
  tx: Query,
  rows: readonly LedgerRow[],
  sameness: Sameness,
): Promise<Judgement[]> {
  const judged = await tx.unsafe<JudgedRow[]>(
    `with ${GIVEN}
    select case when g.fault is not null then recon_describe_fault(g.fault,
        recon_content(jsonb_populate_record(null::callback_entries, to_jsonb(g)))) end as reason,
      k.entry_id is not null as "isKnown", ${IS_SAME[sameness]} as "isSame",
      ${IS_AGAIN[sameness]} as "isAgain", ${IS_OTHER[sameness]} as "isOther"
    from given g left join callback_entries k on k.entry_id = g.entry_id
    order by g.place`,
    toParameters(rows),
    { prepare: true },
  );
  return judged.map(({ reason, isKnown, isSame, isAgain, isOther }) => {
    if (reason !== null) return { rejected: reason };
    if (!isKnown) return "added";
    if (isSame) return "known";
    if (isAgain) return "again";
    return isOther ? "other" : "changed";
  });
}

/** A trigger of the table decides what becomes of the update. */
export async function replaceRows(tx: Query, rows: readonly LedgerRow[]): Promise<void> {
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

/** Whether PostgreSQL refused a value, or what is made of it, so that other rows may be taken. */
export function isOfValue(error: unknown): boolean {
  return error instanceof postgres.PostgresError && /^(?:22|54)/.test(error.code);
}

/** Whether another program wrote one of the rows at the same time: the next try finds it. */
export function isOfRace(error: unknown): boolean {
  return error instanceof postgres.PostgresError && error.code === UNIQUE_VIOLATION;
}

const UNIQUE_VIOLATION = "23505";
