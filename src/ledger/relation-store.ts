/** The operator's own relation in PostgreSQL: what it looks like, and its rows in the order in which they came. */

import postgres from "postgres";
import type { Instant } from "../clock.ts";
import type { Query } from "../db/client.ts";
import { describeError, ReconError } from "../errors.ts";
import { type FoundColumn, findColumnProblems, LEDGER_COLUMNS, type RelationRow } from "./relation.ts";

/** A relation that was looked at and can be read. */
export interface LedgerRelation {
  /** quoted, as a statement names it */
  readonly from: string;
  /** the type of entry_id, as a statement names it */
  readonly idType: string;
}

/** The row behind which to read on. */
export interface Place {
  /** as PostgreSQL writes it, to the microsecond */
  readonly receivedAt: string;
  readonly entryId: string | null;
}

/** One of the rows read, in their order. */
export interface FoundRow {
  readonly place: Place;
  /** null: it is no moment that can be told */
  readonly receivedAt: Instant | null;
  /** null: its entry is known already */
  readonly row: RelationRow | null;
}

/**
 * Looks at the relation of the settings.
 * @throws ReconError `ledger-unreadable` that names everything that is wrong with it
 */
export async function openRelation(sql: Query, relation: string): Promise<LedgerRelation> {
  const from = quoteRelation(relation);
  if (!(await exists(sql, from))) {
    const folded = quoteRelation(relation.toLowerCase());
    const hint =
      folded !== from && (await exists(sql, folded))
        ? `there is ${relation.toLowerCase()}: PostgreSQL writes names in small letters where they are not quoted`
        : "there is no such table or view for this user; the name may need its schema, as in schema.name";
    throw unreadable(relation, [hint]);
  }
  const columns = await readColumns(sql, from);
  const problems = findColumnProblems(columns);
  if (problems.length > 0) throw unreadable(relation, problems);
  const opened = { from, idType: columns.get("entry_id")?.castType ?? "text" };
  await reading(relation, () => sql.unsafe(`select ${selectList()} from ${from} r limit 0`));
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
  /** the base type as a cast names it */
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

/**
 * Rows of which received_at is known, in the order of (received_at, entry_id).
 * @param range from, inclusive; to, exclusive; null: unbounded
 * @param after null: from the beginning of the range
 */
export async function readRows(
  tx: Query,
  name: string,
  { from, idType }: LedgerRelation,
  range: { readonly from: Instant | null; readonly to: Instant | null },
  after: Place | null,
  most: number,
): Promise<FoundRow[]> {
  const values: (string | number)[] = [most];
  const value = (given: string | Instant) => {
    values.push(typeof given === "number" ? new Date(given).toISOString() : given);
    return `$${values.length}`;
  };
  const conditions = ["r.received_at is not null"];
  if (range.from !== null) conditions.push(`r.received_at >= ${value(range.from)}::timestamptz`);
  if (range.to !== null) conditions.push(`r.received_at < ${value(range.to)}::timestamptz`);
  if (after !== null) {
    const at = `${value(after.receivedAt)}::timestamptz`;
    conditions.push(
      after.entryId === null
        ? `r.received_at > ${at}`
        : `(r.received_at, r.entry_id) > (${at}, ${value(after.entryId)}::text::${idType})`,
      `r.received_at >= ${at}`,
    );
  }
  const rows = await reading(name, () =>
    tx.unsafe<{ receivedAt: string; receivedMs: string; entryId: string | null; row: string | null }[]>(
      `with batch as materialized (
        select ${selectList()}, row_number() over (order by r.received_at, r.entry_id) as place
        from ${from} r where ${conditions.join(" and ")}
        order by r.received_at, r.entry_id limit $1::int
      )
      select b.received_at as "receivedAt", b.received_at_ms as "receivedMs", b.entry_id as "entryId",
        case when k.entry_id is null then row_to_json(b)::text end as row
      from batch b left join callback_entries k on k.entry_id = b.entry_id
      order by b.place`,
      values,
    ),
  );
  return rows.map(({ receivedAt, receivedMs, entryId, row }) => ({
    place: { receivedAt, entryId },
    receivedAt: Number.isSafeInteger(Number(receivedMs)) ? Number(receivedMs) : null,
    row: row === null ? null : (JSON.parse(row) as RelationRow),
  }));
}

/** Some of the rows that no order knows: those without a received_at or an entry_id. */
export async function readPlacelessRows(
  tx: Query,
  name: string,
  { from }: LedgerRelation,
  most: number,
): Promise<RelationRow[]> {
  const rows = await reading(name, () =>
    tx.unsafe<{ row: string }[]>(
      `select row_to_json(b)::text as row from (
        select ${selectList()} from ${from} r where r.received_at is null or r.entry_id is null limit $1::int
      ) b`,
      [most],
    ),
  );
  return rows.map(({ row }) => JSON.parse(row) as RelationRow);
}

/** Every column as text, so that no driver and no float stands between the operator's digits and ours. */
function selectList(): string {
  return LEDGER_COLUMNS.flatMap(({ name, kind }) => {
    const asText = `r.${quote(name)}::text as ${name}`;
    const asMs = `floor(extract(epoch from r.${quote(name)}) * 1000)::text as ${name}_ms`;
    return kind === "timestamptz" ? [asText, asMs] : [asText];
  }).join(", ");
}

function quoteRelation(relation: string): string {
  return relation.split(".").map(quote).join(".");
}

function quote(identifier: string): string {
  return `"${identifier.replaceAll('"', '""')}"`;
}

/** Names, permissions, casts and divisions of the operator's view: not ours to mend. */
const NOT_OURS = /^(?:0A|21|22|2F|38|39|3F|42|P0)/;

async function reading<Result>(relation: string, read: () => Promise<Result>): Promise<Result> {
  try {
    return await read();
  } catch (error) {
    if (error instanceof postgres.PostgresError && NOT_OURS.test(error.code)) {
      throw unreadable(relation, [`reading it fails: ${describeError(error)}`], error);
    }
    throw error;
  }
}

function unreadable(relation: string, problems: readonly string[], cause?: unknown): ReconError {
  const [only] = problems;
  const told = problems.length === 1 ? ` ${only}` : `\n${problems.map((line) => `  ${line}`).join("\n")}`;
  return new ReconError("ledger-unreadable", `ledger.relation "${relation}" cannot be read:${told}`, {
    cause,
    retryable: true,
  });
}
