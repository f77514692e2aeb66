/**
 * Positions in the order of changes, for `changedSince`. Each row keeps the id of the transaction that changed it last
 * (`changed_in`). An answer ends before the oldest transaction that is still running: whatever commits later has its id or a
 * higher one, so a later answer has it (decision 339).
 */

import { ReconError } from "../errors.ts";
import type { Query } from "./client.ts";

/** The value of `changed_in` in every statement that changes a row of `mismatches` or `incidents`. */
export const CHANGING_NOW = "pg_catalog.pg_current_xact_id()";

/** A place between two changes: transaction and id of a row. */
export interface ChangePlace {
  /** decimal text, of 64 bits */
  readonly transaction: string;
  /** the last row of that transaction before the place; 0: the place is before all of them */
  readonly id: number;
}

/** Where the finished changes end, before everything that may still commit. */
export interface ChangesEnd extends ChangePlace {
  /** differs after a restore and after a failover, whose transactions count anew */
  readonly database: string;
  /** no transaction has this id yet, or a higher one */
  readonly unused: string;
}

const CURSOR = /^([0-9a-f]{8})-(\d{1,20})-(\d{1,15})$/;

export function isCursor(text: string): boolean {
  return CURSOR.test(text);
}

export function cursorAt({ database }: ChangesEnd, { transaction, id }: ChangePlace): string {
  return `${database}-${transaction}-${id}`;
}

/** Read it before the rows: a change that commits in between belongs to the next answer. */
export async function readChangesEnd(sql: Query): Promise<ChangesEnd> {
  const [row] = await sql<{ database: string; transaction: string; unused: string }[]>`
    select left(md5(concat_ws('/', to_jsonb(s) -> 'system_identifier', to_jsonb(c) -> 'timeline_id', d.oid)), 8) as database,
      pg_snapshot_xmin(pg_current_snapshot())::text as transaction, pg_snapshot_xmax(pg_current_snapshot())::text as unused
    from pg_control_system() s, pg_control_checkpoint() c, pg_database d where d.datname = current_database()`;
  if (row === undefined) throw new Error("the database did not say where its changes end");
  return { ...row, id: 0 };
}

/**
 * The place that a cursor names.
 * @throws ReconError `cursor-unknown` if another database gave it, or this one before it was set back: transactions before and after
 * a restore cannot be compared
 */
export function placeOfCursor(cursor: string, end: ChangesEnd): ChangePlace {
  const [, database, transaction = "0", id = "0"] = CURSOR.exec(cursor) ?? [];
  if (database === end.database && BigInt(transaction) <= BigInt(end.unused))
    return { transaction, id: Number(id) };
  throw new ReconError(
    "cursor-unknown",
    `changedSince "${cursor}" is not a cursor of this database, which was restored or replaced since: read the list without changedSince, and continue with its cursor`,
  );
}

/**
 * The condition of rows that changed after a place, and whose change is finished; in the order of `changed_in, id`.
 * @param of the name of the table in the statement
 */
export function changedBetween(sql: Query, of: string, from: ChangePlace, end: ChangesEnd) {
  const [changedIn, id] = [sql(`${of}.changed_in`), sql(`${of}.id`)];
  return sql`(${changedIn}, ${id}) > (${from.transaction}::text::xid8, ${from.id}::bigint)
    and ${changedIn} < ${end.transaction}::text::xid8`;
}

/**
 * Where the next answer begins.
 * @param last the last row of a page that is not the last one; null: nothing else has changed
 */
export function placeAfter(from: ChangePlace, end: ChangesEnd, last: ChangePlace | null): ChangePlace {
  if (last !== null) return last;
  // A replica that lags must not send a reader back.
  return BigInt(from.transaction) > BigInt(end.transaction) ? from : end;
}
