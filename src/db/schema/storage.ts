/** How much space the database takes, as a worker measures it from time to time. */

import { bigint, date, integer, pgTable, text } from "drizzle-orm/pg-core";
import { instant } from "./columns.ts";

/** One row: the last measurement. */
export const storageStates = pgTable("storage_states", {
  id: integer("id").primaryKey(),
  measuredAt: instant("measured_at").notNull(),
  /** of the whole database */
  bytes: bigint("bytes", { mode: "number" }).notNull(),
  /** what the database may take, by the settings; null: unknown */
  diskBytes: bigint("disk_bytes", { mode: "number" }),
});

/** The first measurement of each of the last days. */
export const storageDays = pgTable("storage_days", {
  day: date("day").primaryKey(),
  measuredAt: instant("measured_at").notNull(),
  bytes: bigint("bytes", { mode: "number" }).notNull(),
});

/** The tables at the last measurement. */
export const storageTables = pgTable("storage_tables", {
  tableName: text("table_name").primaryKey(),
  /** with indexes and long values */
  bytes: bigint("bytes", { mode: "number" }).notNull(),
  /** rows that may be deleted and were not looked at yet, counted up to a limit; null: no setting deletes its rows */
  due: bigint("due", { mode: "number" }),
});
