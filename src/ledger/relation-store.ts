/**
 * The operator's own ledger table or view (`ledger.relation`): checks its columns, and copies its rows into
 * `callback_entries`. One statement copies a batch inside PostgreSQL, so no amount passes through a float, and a bad value
 * rejects its row instead of failing the batch.
 */

import postgres from "postgres";
import type { Instant } from "../clock.ts";
import type { Query } from "../db/client.ts";
import { describeError, ReconError } from "../errors.ts";
import { type FoundColumn, findColumnProblems, LEDGER_COLUMNS } from "./relation.ts";

/** A checked, readable relation. */
export interface LedgerRelation {
  /** as in the settings */
  readonly name: string;
  /** quoted, for a statement */
  readonly from: string;
  /** the type of entry_id, for a cast */
  readonly idType: string;
  /** the columns of `LEDGER_COLUMNS` that the relation has */
  readonly columns: ReadonlySet<string>;
}

/** The row after which to continue. */
export interface RelationPosition {
  /** as PostgreSQL writes it, to the microsecond */
  readonly receivedAt: string;
  readonly entryId: string | null;
}

/**
 * Checks the relation that the settings name.
 * @throws ReconError `ledger-unreadable` that lists every problem of the relation
 */
export async function openRelation(sql: Query, relation: string): Promise<LedgerRelation> {
  const from = quoteRelation(relation);
  if (!(await exists(sql, from))) {
    const folded = quoteRelation(relation.toLowerCase());
    const hint =
      folded !== from && (await exists(sql, folded))
        ? `there is ${relation.toLowerCase()}: PostgreSQL folds unquoted names to lower case`
        : "this user sees no such table or view; the name may need its schema, as in schema.name";
    throw unreadable(relation, [hint]);
  }
  const columns = await readColumns(sql, from);
  const problems = findColumnProblems(columns);
  if (problems.length > 0) throw unreadable(relation, problems);
  const opened: LedgerRelation = {
    name: relation,
    from,
    idType: columns.get("entry_id")?.castType ?? "text",
    columns: new Set(LEDGER_COLUMNS.map(({ name }) => name).filter((name) => columns.has(name))),
  };
  await reading(relation, () => sql.unsafe(`select ${selectList(opened)} from ${from} r limit 0`));
  return opened;
}

async function exists(sql: Query, from: string): Promise<boolean> {
  const [row] = await sql<{ exists: boolean }[]>`
    select exists (
      select from pg_class where oid = to_regclass(${from}) and relkind in ('r', 'p', 'v', 'm', 'f')
    ) as exists`;
  return row?.exists ?? false;
}

interface DescribedColumn extends FoundColumn {
  /** the base type, for a cast */
  readonly castType: string;
}

async function readColumns(sql: Query, from: string): Promise<Map<string, DescribedColumn>> {
  const rows = await sql<(DescribedColumn & { name: string })[]>`
    with recursive resolved as (
      select a.attname as name, format_type(a.atttypid, a.atttypmod) as type, a.atttypid as base
      from pg_attribute a where a.attrelid = to_regclass(${from}) and a.attnum > 0 and not a.attisdropped
      union all
      select r.name, r.type, t.typbasetype from resolved r join pg_type t on t.oid = r.base where t.typtype = 'd'
    )
    select r.name, r.type, t.typname as "baseType", t.typtype = 'e' as "isEnum", format_type(r.base, -1) as "castType"
    from resolved r join pg_type t on t.oid = r.base where t.typtype <> 'd'`;
  return new Map(rows.map(({ name, ...column }) => [name, column]));
}

/** Which rows to copy. Rows without a received_at are in no range. */
export interface CopyRange {
  /** the received_at of the first row; null: unbounded */
  readonly from: Instant | null;
  /** exclusive; null: unbounded */
  readonly to: Instant | null;
  /** skips rows whose entry_id is known, even if they have changed */
  readonly onlyUnknown?: boolean;
}

/** The result of one batch. */
export interface Copied {
  /** the number of new entries */
  readonly added: number;
  /** the number of newly rejected rows */
  readonly rejected: number;
  /** the last row, after which to continue; null: there are no more rows */
  readonly last: { readonly receivedAt: string | null; readonly entryId: string | null } | null;
  /** the newest received_at of the batch; null: there was no row, or the time does not fit into milliseconds */
  readonly newest: Instant | null;
}

/** Rows of a relation, in the order of (received_at, entry_id). */
export interface RowsOfRange {
  readonly range: CopyRange;
  /** null: from the beginning of the range */
  readonly after: RelationPosition | null;
  /** the last row; null: to the end of the range */
  readonly upTo?: RelationPosition | null;
}

/**
 * Copies rows into `callback_entries`, in the order of (received_at, entry_id). Updates known entries whose content has
 * changed; the table's triggers decide whether the update is accepted (`ledger.rowsChange`), and mark the written rows
 * for comparison. Unusable rows, and further rows with the same entry_id, go to `rejected_entries`.
 * @throws ReconError `ledger-unreadable`
 */
export async function copyRows(
  tx: Query,
  relation: LedgerRelation,
  rows: RowsOfRange,
  most: number,
): Promise<Copied> {
  const { where, values } = whereOf(relation, rows);
  const batch = `select ${selectList(relation)}, row_number() over (order by r.received_at, r.entry_id) as place
    from ${relation.from} r where ${where} order by r.received_at, r.entry_id limit ${most}`;
  return await copyBatch(tx, relation, batch, values, most);
}

/** The SQL condition that selects the rows, and its parameters. */
export function whereOf(
  { idType }: LedgerRelation,
  { range: { from, to, onlyUnknown = false }, after, upTo = null }: RowsOfRange,
): { where: string; values: string[] } {
  const values: string[] = [];
  const value = (given: string | Instant) => {
    values.push(typeof given === "number" ? new Date(given).toISOString() : given);
    return `$${values.length}`;
  };
  const conditions = ["r.received_at is not null"];
  const bounds: string[] = [];
  if (from !== null) bounds.push(`received_at >= ${value(from)}::timestamptz`);
  if (to !== null) bounds.push(`received_at < ${value(to)}::timestamptz`);
  conditions.push(...bounds.map((bound) => `r.${bound}`));
  if (onlyUnknown) {
    // The same bounds on both tables: otherwise PostgreSQL reads one of them whole.
    const known = ["k.entry_id = r.entry_id::text", ...bounds.map((bound) => `k.${bound}`)];
    conditions.push(`not exists (select from callback_entries k where ${known.join(" and ")})`);
  }
  const compare = (sign: ">" | "<=", { receivedAt, entryId }: RelationPosition) => {
    const at = `${value(receivedAt)}::timestamptz`;
    const row = `(r.received_at, r.entry_id) ${sign} (${at}, ${entryId === null ? "" : value(entryId)}::text::${idType})`;
    conditions.push(
      entryId === null ? `r.received_at ${sign} ${at}` : row,
      `r.received_at ${sign[0]}= ${at}`,
    );
  };
  if (after !== null) compare(">", after);
  if (upTo !== null) compare("<=", upTo);
  return { where: conditions.join(" and "), values };
}

/**
 * Rejects rows without a received_at. `copyRows`, which reads in order of that column, never finds them.
 * @param afterId rejects rows with larger entry_ids; null: from the first row, including those without an entry_id
 */
export async function rejectUndatedRows(
  tx: Query,
  relation: LedgerRelation,
  afterId: string | null,
  most: number,
): Promise<Copied> {
  const where = afterId === null ? "" : `and r.entry_id > $1::text::${relation.idType}`;
  const batch = `select ${selectList(relation)}, row_number() over (order by r.entry_id nulls first) as place
    from ${relation.from} r where r.received_at is null ${where} order by r.entry_id nulls first limit ${most}`;
  return await copyBatch(tx, relation, batch, afterId === null ? [] : [afterId], most);
}

/**
 * The planner's cost of finding the rows without a received_at: about 10 with an index on received_at, 25,000 for a
 * million rows without one.
 */
export async function costOfUndatedRows(sql: Query, { name, from }: LedgerRelation): Promise<number> {
  const [row] = await reading(name, () =>
    sql.unsafe<{ "QUERY PLAN": readonly { Plan: { "Total Cost": number } }[] }[]>(
      `explain (format json) select r.entry_id from ${from} r where r.received_at is null`,
    ),
  );
  return row?.["QUERY PLAN"][0]?.Plan["Total Cost"] ?? 0;
}

interface CopiedRow {
  readonly rows: number;
  readonly added: number;
  readonly rejected: number;
  readonly receivedAt: string | null;
  readonly entryId: string | null;
  readonly receivedMs: string | null;
}

async function copyBatch(
  tx: Query,
  relation: LedgerRelation,
  batch: string,
  values: readonly string[],
  most: number,
): Promise<Copied> {
  const columns = [...relation.columns];
  const list = columns.join(", ");
  const of = (alias: string) => `(${columns.map((name) => `${alias}.${name}`).join(", ")})`;
  const missing = LEDGER_COLUMNS.filter(({ nullable }) => !nullable).map(
    ({ name }) => `when b.${name} is null then '${name} is null'`,
  );
  const [found] = await reading(relation.name, () =>
    tx.unsafe<CopiedRow[]>(
      `with batch as materialized (${batch}),
      checked as materialized (
        select b.*, jsonb_populate_record(null::callback_entries, to_jsonb(b)) as entry, case ${missing.join(" ")}
          else recon_entry_fault(b.entry_id, b.callback, b.product_id, b.username, b.txn_id, b.round_id, b.bet_amount,
            b.payout_amount, b.moved, b.balance_before, b.balance_after, b.occurred_at, b.received_at,
            b.transaction_type) end as fault
        from batch b
      ),
      usable as (
        select distinct on (entry_id) ${list} from checked where fault is null order by entry_id, place
      ),
      rejected as (
        select count(*) filter (where case
          when c.fault is null then recon_reject_entry(c.entry, 'changed', format(
            'entry_id "%s" stands in more than one row, and must be unique: the first of them is used', c.entry_id))
          else recon_reject_entry(c.entry,
            case when exists (select from callback_entries k where k.entry_id = c.entry_id)
              then 'changed' else 'unusable' end,
            case when c.fault like '% is null' then c.fault else recon_describe_fault(c.fault, to_jsonb(c.entry)) end)
          end) as count
        from checked c left join usable u on u.entry_id = c.entry_id and c.fault is null
        where c.fault is not null or ${of("u")} is distinct from ${of("c")}
      ),
      written as (
        insert into callback_entries (${list})
        select ${list} from usable u
        where not exists (select from callback_entries k
          where k.entry_id = u.entry_id and ${of("k")} is not distinct from ${of("u")})
        order by entry_id
        on conflict (entry_id) do update set (${list}) = ${of("excluded")}
        where ${of("callback_entries")} is distinct from ${of("excluded")}
        returning (xmax = 0) as is_new
      ),
      last as (
        select received_at::text as "receivedAt", entry_id as "entryId",
          floor(extract(epoch from received_at) * 1000)::text as "receivedMs"
        from batch order by place desc limit 1
      )
      select (select count(*) from batch) as rows, (select count(*) filter (where is_new) from written) as added,
        (select count from rejected) as rejected, last.*
      from (values (1)) as one left join last on true`,
      [...values],
    ),
  );
  if (found === undefined) throw new Error("internal error: the statement that copies rows returned no row");
  const { rows, added, rejected, receivedAt, entryId, receivedMs } = found;
  const newestMs = Number(receivedMs ?? Number.NaN);
  return {
    added,
    rejected,
    last: rows < most ? null : { receivedAt, entryId },
    newest: Number.isSafeInteger(newestMs) ? newestMs : null,
  };
}

/** The columns, cast to the ledger's types. The casts keep every digit. */
export function selectList({ columns }: LedgerRelation): string {
  return LEDGER_COLUMNS.filter(({ name }) => columns.has(name))
    .map((column) => `${castOf(column)} as ${column.name}`)
    .join(", ");
}

/** A column's value, cast to the ledger's type. Known callbacks and transaction types match in upper or lower case. */
export function castOf({ name, kind }: { readonly name: string; readonly kind: string }): string {
  const value = `r.${quote(name)}::${kind}`;
  return name === "callback" || name === "transaction_type" ? `recon_spelling(${value})` : value;
}

function quoteRelation(relation: string): string {
  return relation.split(".").map(quote).join(".");
}

function quote(identifier: string): string {
  return `"${identifier.replaceAll('"', '""')}"`;
}

/** SQLSTATE classes that the operator's view causes: names, permissions, casts, division by zero. */
const CAUSED_BY_RELATION = /^(?:0A|21|22|2F|38|39|3F|42|P0)/;

/** Runs a read of the relation. @throws ReconError `ledger-unreadable` if the relation causes the error */
export async function reading<Result>(relation: string, read: () => Promise<Result>): Promise<Result> {
  try {
    return await read();
  } catch (error) {
    if (error instanceof postgres.PostgresError && CAUSED_BY_RELATION.test(error.code)) {
      throw unreadable(relation, [`reading it failed: ${describeError(error)}`], error);
    }
    throw error;
  }
}

function unreadable(relation: string, problems: readonly string[], cause?: unknown): ReconError {
  const [only] = problems;
  const reported = problems.length === 1 ? ` ${only}` : `\n${problems.map((line) => `  ${line}`).join("\n")}`;
  return new ReconError("ledger-unreadable", `ledger.relation "${relation}" cannot be read:${reported}`, {
    cause,
    retryable: true,
  });
}
