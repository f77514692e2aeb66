/**
 * Writes the rows of an import, or of the tap, into `callback_entries`: inserts new ones, skips known ones, and decides what
 * a row with a known entry_id and other content is.
 *
 * An entry of a recorded callback is identified by product, callback, request id and item, not by its times, because
 * a provider sends a request again. If a second answer has other balances and moved money again, it becomes an entry of its
 * own, under an id derived from the answer; otherwise the second debit would go unnoticed (decision 142).
 */

import { hash } from "node:crypto";
import postgres from "postgres";
import type { Query } from "../db/client.ts";
import { toColumnArray } from "../db/statement.ts";
import { columnOf, type LedgerRow } from "./ledger-row.ts";
import { LEDGER_COLUMNS } from "./relation.ts";

/**
 * When a row has the same content as the entry with its id. `exact`: all columns are equal. `replays`: times may differ,
 * because the provider may send a request again later; an answer that moved nothing is a replay too.
 */
export type Sameness = "exact" | "replays";

const NAMES = LEDGER_COLUMNS.map(({ name }) => name);
const LIST = NAMES.join(", ");
const of = (alias: string, names: readonly string[]) =>
  `(${names.map((name) => `${alias}.${name}`).join(", ")})`;

/** The rows as parameters, one array for each column, numbered from 1, and the fault of each row that cannot be an entry. */
const GIVEN = `given as materialized (
  select t.*, recon_entry_fault(entry_id, callback, product_id, username, txn_id, round_id, bet_amount, payout_amount,
    moved, balance_before, balance_after, occurred_at, received_at, transaction_type) as fault
  from unnest(${LEDGER_COLUMNS.map(({ kind }, index) => `$${index + 1}::${kind}[]`).join(", ")})
    with ordinality as t (${LIST}, place)
)`;

/** The columns that may differ in a replay. */
const TIME_COLUMNS = ["occurred_at", "received_at"];
/** The columns of the operator's answer. All others, except times, come from the request. */
const ANSWER_COLUMNS = ["moved", "balance_before", "balance_after"];
const REQUEST_COLUMNS = NAMES.filter((name) => ![...TIME_COLUMNS, ...ANSWER_COLUMNS].includes(name));
const IS_SAME: Readonly<Record<Sameness, string>> = {
  exact: `${of("k", NAMES)} is not distinct from ${of("g", NAMES)}`,
  replays: `${of("k", REQUEST_COLUMNS)} is not distinct from ${of("g", REQUEST_COLUMNS)}
    and (${of("k", ANSWER_COLUMNS)} is not distinct from ${of("g", ANSWER_COLUMNS)}
      or coalesce(g.balance_after - g.balance_before, 0) = 0)`,
};

/** The operator applied the same request twice, and money moved each time. The second time is an entry of its own. */
const IS_AGAIN: Readonly<Record<Sameness, string>> = {
  exact: "false",
  replays: `${of("k", REQUEST_COLUMNS)} is not distinct from ${of("g", REQUEST_COLUMNS)}
    and k.balance_after is not null and g.balance_after is not null`,
};

/** Whether any of the rows is known. The rows of most parts are all new, or all known. */
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
 * Inserts rows that are all new, without searching for conflicts: a third faster than `insertUnknown`. If another program
 * writes one of the rows at the same time, the statement fails (`isConcurrentWrite`), and the part is retried.
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

/** The provider reused a request id with other content, so the row is another entry. */
const IS_OTHER: Readonly<Record<Sameness, string>> = {
  exact: "false",
  replays: `${of("k", REQUEST_COLUMNS)} is distinct from ${of("g", REQUEST_COLUMNS)}`,
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
 * What a row is, compared with the entry that has its entry_id. `added`: there is no such entry. `again` and `other`: the
 * row is an entry of its own (`IS_AGAIN`, `IS_OTHER`).
 */
type Judgement = "added" | "known" | "changed" | "again" | "other" | { readonly rejected: string };

async function judgeRows(tx: Query, rows: readonly LedgerRow[], sameness: Sameness): Promise<Judgement[]> {
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

/** Updates known entries. A trigger of the table decides whether the update is accepted. */
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

/** Whether PostgreSQL refused a value of one row. Other rows can be written. */
export function isRefusedValue(error: unknown): boolean {
  return error instanceof postgres.PostgresError && /^(?:22|54)/.test(error.code);
}

/** Whether another program wrote one of the rows at the same time. A retry finds the row. */
export function isConcurrentWrite(error: unknown): boolean {
  return error instanceof postgres.PostgresError && error.code === UNIQUE_VIOLATION;
}

const UNIQUE_VIOLATION = "23505";

/**
 * The outcome of a row. `known`: there is an entry with this id and content. `changed`: the entry with this id has other
 * content, and `ledger.rowsChange` decides which content stays.
 */
export type RowOutcome = Exclude<Judgement, "again" | "other">;

/**
 * Writes rows; if several have one entry_id, the first. Part of a transaction. The triggers of the table mark the written
 * rows for comparison. Rows that cannot be entries are skipped.
 * @returns the outcome of each row
 */
export async function writeRows(
  tx: Query,
  rows: readonly LedgerRow[],
  sameness: Sameness,
): Promise<RowOutcome[]> {
  return await inParts(rows, async (part) => {
    const someKnown = await areKnown(tx, part);
    const outcomes: Judgement[] = someKnown ? await judgeRows(tx, part, sameness) : part.map(() => "added");
    const places = [...part.keys()].filter((place) => outcomes[place] === "added");
    const rowsAt = (of: readonly number[]) => of.map((place) => part[place] as LedgerRow);
    const left = someKnown
      ? (await insertUnknown(tx, rowsAt(places))).map((place) => places[place] as number)
      : await insertAll(tx, part);
    const judged = await judgeRows(tx, rowsAt(left), sameness);
    for (const [index, place] of left.entries()) outcomes[place] = judged[index] as Judgement;
    const settled = await handleUnderNewIds(part, outcomes, (again) => writeRows(tx, again, sameness));
    const changed = part.filter((_, place) => settled[place] === "changed" && outcomes[place] === "changed");
    await replaceRows(tx, changed);
    return settled;
  });
}

/** The outcome that `writeRows` would have for each row. Writes nothing. */
export async function judgeOnly(
  sql: Query,
  rows: readonly LedgerRow[],
  sameness: Sameness,
): Promise<RowOutcome[]> {
  return await inParts(rows, async (part) =>
    handleUnderNewIds(part, await judgeRows(sql, part, sameness), (again) => judgeOnly(sql, again, sameness)),
  );
}

/** Gives new ids to rows that are entries of their own. @param handle writes or judges these rows */
async function handleUnderNewIds(
  part: readonly LedgerRow[],
  outcomes: readonly Judgement[],
  handle: (rows: readonly LedgerRow[]) => Promise<RowOutcome[]>,
): Promise<RowOutcome[]> {
  const named = part.flatMap((row, place) => {
    const outcome = outcomes[place];
    return outcome === "again" || outcome === "other" ? [withNewId(row, DISTINGUISHED_BY[outcome])] : [];
  });
  const results = named.length === 0 ? [] : await handle(named);
  let next = 0;
  return outcomes.map((outcome) =>
    outcome === "again" || outcome === "other" ? (results[next++] as RowOutcome) : outcome,
  );
}

/** The columns that distinguish a row from the known one with its entry_id. */
const DISTINGUISHED_BY = { again: ANSWER_COLUMNS, other: REQUEST_COLUMNS } as const;

/** The new id is a hash of these columns, so the same line gets the same id each time. */
function withNewId(row: LedgerRow, columns: readonly string[]): LedgerRow {
  const values = JSON.stringify(columns.map((name) => columnOf(row, name)));
  return [`${row[0]}-${hash("sha256", values, "base64url")}`, ...row.slice(1)];
}

/**
 * Splits rows into parts, because a statement may name each entry_id only once. A row that repeats an earlier one of its
 * part is known; a row with the same entry_id and other content starts the next part.
 */
async function inParts(
  rows: readonly LedgerRow[],
  handle: (part: readonly LedgerRow[]) => Promise<RowOutcome[]>,
): Promise<RowOutcome[]> {
  const outcomes: RowOutcome[] = [];
  let part: LedgerRow[] = [];
  let places: { readonly place: number; readonly isRepeat: boolean }[] = [];
  let known = new Map<string, number>();
  const flush = async () => {
    const results = part.length === 0 ? [] : await handle(part);
    for (const { place, isRepeat } of places) {
      const outcome = results[place] as RowOutcome;
      outcomes.push(isRepeat && outcome === "added" ? "known" : outcome);
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
  return outcomes;
}
