/** Gauges of the space that the database takes, and of PostgreSQL's own upkeep. */

import type { Query, Sql } from "../../db/client.ts";
import { readUpkeep } from "../../db/upkeep-store.ts";
import { readStorage } from "../../flows/read/read-storage.ts";
import type { Storage } from "../../storage.ts";
import type { Upkeep } from "../../upkeep.ts";
import { limitStatements } from "./counts-store.ts";
import type { AddGauge } from "./work-gauges.ts";

/** What a scrape shows of the database itself. */
export interface DatabaseState {
  readonly upkeep: Upkeep;
  /** null: no worker has measured yet */
  readonly storage: Storage | null;
}

const LONGEST_STATEMENT_MS = 2_000;

export async function readDatabaseState(sql: Sql): Promise<DatabaseState> {
  return await sql.begin("read only", async (tx: Query) => {
    await limitStatements(tx, LONGEST_STATEMENT_MS);
    return { upkeep: await readUpkeep(tx), storage: await readStorage({ sql: tx }) };
  });
}

/** @returns writes the values of one scrape; an unknown value is left out */
export function addStorageGauges(gauge: AddGauge) {
  const bytes = gauge(
    "table_bytes",
    "Size of each table with its indexes and long values, measured every ten minutes.",
    "table",
  );
  const database = gauge("database_bytes", "Size of the whole database, measured every ten minutes.");
  const due = gauge(
    "rows_due_for_deletion",
    "Rows of each table that may be deleted and were not looked at yet, counted up to 100,000; missing where no setting deletes rows.",
    "table",
  );
  const disk = gauge(
    "disk_bytes",
    "What the database may take, by DATABASE_DISK; missing where it is not set.",
  );
  const ids = gauge(
    "transaction_ids_used",
    "The used part, 0 to 1, of the ids that PostgreSQL can give out before it refuses every write, by kind: transaction, multixact.",
    "kind",
  );
  const open = gauge(
    "oldest_transaction_seconds",
    "Age of the oldest open transaction of this database that this user may see; prepared ones included; 0: there is none.",
  );
  const held = gauge(
    "slot_held_transactions",
    "Transactions whose deleted rows a replication slot holds back; 0: no slot does.",
  );
  const overdue = gauge(
    "vacuum_overdue",
    "How many times as many dead rows as autovacuum waits for the worst table has; 0: none with at least 10,000 is overdue.",
  );
  return (state: DatabaseState | null): void => {
    for (const one of [bytes, due, ids]) one.reset();
    for (const one of [database, disk, open, held, overdue]) one.remove();
    if (state === null) return;
    const { upkeep, storage } = state;
    ids.set({ kind: "transaction" }, upkeep.transactionIds);
    ids.set({ kind: "multixact" }, upkeep.multixactIds);
    open.set(Math.max(0, upkeep.transaction?.ageSeconds ?? 0, upkeep.prepared?.ageSeconds ?? 0));
    held.set(upkeep.slot?.transactions ?? 0);
    overdue.set(upkeep.overdue[0]?.overdue ?? 0);
    if (storage === null) return;
    database.set(storage.bytes);
    if (storage.diskBytes !== null) disk.set(storage.diskBytes);
    for (const one of storage.tables) {
      bytes.set({ table: one.table }, one.bytes);
      if (one.due !== null) due.set({ table: one.table }, one.due);
    }
  };
}
