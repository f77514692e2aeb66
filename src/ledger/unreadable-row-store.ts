/** Finds the row that makes the operator's relation unreadable, and rejects it. */

import postgres from "postgres";
import type { Query } from "../db/client.ts";
import { describeError } from "../errors.ts";
import { LEDGER_COLUMNS } from "./relation.ts";
import {
  castOf,
  type LedgerRelation,
  type RelationPosition,
  type RowsOfRange,
  reading,
  selectList,
  whereOf,
} from "./relation-store.ts";

/** Whether an error comes from a value of a row, for example a view that casts "12,50" to numeric (SQLSTATE class 22). */
export function isErrorOfRow(error: unknown): boolean {
  const cause = error instanceof Error ? error.cause : undefined;
  return cause instanceof postgres.PostgresError && cause.code.startsWith("22");
}

interface UnreadableRow {
  readonly row: RelationPosition;
  /** the row before it; null: it is the first row */
  readonly before: RelationPosition | null;
}

/**
 * Finds the first row that cannot be read, by bisection: at most twelve statements for 2,000 rows. Runs outside of a
 * transaction, because an error would abort it.
 * @returns null: every row can be read, or a row changed meanwhile
 * @throws ReconError `ledger-unreadable` if received_at and entry_id cannot be read either
 */
export async function findUnreadableRow(
  sql: Query,
  relation: LedgerRelation,
  rows: RowsOfRange,
  most: number,
): Promise<UnreadableRow | null> {
  const { where, values } = whereOf(relation, rows);
  const keys = await reading(relation.name, () =>
    sql.unsafe<RelationPosition[]>(
      `select r.received_at::text as "receivedAt", r.entry_id::text as "entryId" from ${relation.from} r
        where ${where} order by r.received_at, r.entry_id limit ${most}`,
      values,
    ),
  );
  const canReadUpTo = async (position: number) => {
    const upTo = keys[position];
    return upTo === undefined || (await canRead(sql, relation, { ...rows, upTo }));
  };
  if (await canReadUpTo(keys.length - 1)) return null;
  let readable = -1;
  let unreadable = keys.length - 1;
  while (unreadable - readable > 1) {
    const middle = Math.floor((readable + unreadable) / 2);
    if (await canReadUpTo(middle)) readable = middle;
    else unreadable = middle;
  }
  const row = keys[unreadable];
  return row === undefined ? null : { row, before: keys[readable] ?? null };
}

async function canRead(sql: Query, relation: LedgerRelation, rows: RowsOfRange): Promise<boolean> {
  const { where, values } = whereOf(relation, rows);
  // Materialized, because PostgreSQL does not compute columns that the statement never uses.
  const statement = `with batch as materialized (select ${selectList(relation)} from ${relation.from} r where ${where})
    select count(*) from batch`;
  try {
    await reading(relation.name, () => sql.unsafe(statement, values));
    return true;
  } catch (error) {
    if (isErrorOfRow(error)) return false;
    throw error;
  }
}

/**
 * Writes a row that cannot be read to `rejected_entries`, with the columns that can be read.
 * @returns the number of newly rejected rows, and the reason, which names each column and PostgreSQL's error
 */
export async function rejectUnreadableRow(
  sql: Query,
  relation: LedgerRelation,
  { range, after }: RowsOfRange,
  { row, before }: UnreadableRow,
): Promise<{ readonly rejected: number; readonly reason: string }> {
  const { where, values } = whereOf(relation, { range, after: before ?? after, upTo: row });
  const content: Record<string, string | null> = { entry_id: row.entryId };
  const faults: string[] = [];
  for (const column of LEDGER_COLUMNS.filter(({ name }) => relation.columns.has(name))) {
    try {
      const [found] = await reading(relation.name, () =>
        sql.unsafe<{ value: string | null }[]>(
          `select (${castOf(column)})::text as value from ${relation.from} r where ${where} limit 1`,
          values,
        ),
      );
      content[column.name] = found?.value ?? null;
    } catch (error) {
      if (!isErrorOfRow(error)) throw error;
      faults.push(`${column.name} cannot be read: ${describeError((error as Error).cause)}`);
    }
  }
  const reason = faults.length > 0 ? faults.join("; ") : "the row cannot be read";
  const [written] = await sql.unsafe<{ isNew: boolean }[]>(
    `select recon_reject_entry(jsonb_populate_record(null::callback_entries, $1::text::jsonb),
      case when exists (select from callback_entries where entry_id = $2::text) then 'changed' else 'unusable' end,
      $3::text) as "isNew"`,
    [JSON.stringify(content), row.entryId, reason],
  );
  return { rejected: written?.isNew === true ? 1 : 0, reason };
}
