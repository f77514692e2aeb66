/** What was deleted up to which time (decision 160), and how much space and how many rows the tables have. */

import { bigint, date, index, integer, pgTable, primaryKey, text } from "drizzle-orm/pg-core";
import { instant } from "./columns.ts";

/** The progress of deleting, for each kind of row. */
export const retentionStates = pgTable("retention_states", {
  /** a walk: "entries", "windows", "mismatches", "records of P1", … */
  walk: text("walk").primaryKey(),
  /** rows of closed days before this time may have been deleted; it never moves back */
  deletedUpTo: instant("deleted_up_to").notNull(),
  /**
   * nothing that lies before the first closed day and this time was deleted. Of entries: not before the time of the first entry at the first
   * deletion. null: unknown, or there was no entry
   */
  beganAt: instant("began_at"),
  /** the walk continues after this row, as JSON text; null: at the first row */
  after: text("after"),
});

/** Deleted bets, so a late callback or record of one does not become a mismatch. */
export const deletedBets = pgTable(
  "deleted_bets",
  {
    /** the first 8 bytes of the md5 of product, player and id */
    digest: bigint("digest", { mode: "bigint" }).primaryKey(),
    /** the time of its last entry */
    lastEntryAt: instant("last_entry_at").notNull(),
  },
  (t) => [index("deleted_bets_last").on(t.lastEntryAt)],
);

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
  /** rows that may be deleted and were not visited yet, counted up to a limit; null: no setting deletes its rows */
  due: bigint("due", { mode: "number" }),
});

/**
 * The stored count of a large table. `rows_added` has the rows that were added since. A table without a row here is
 * small, and is counted at each request.
 */
export const rowCounts = pgTable(
  "row_counts",
  {
    tableName: text("table_name").notNull(),
    /** empty: the count without a product; every table here has such a row */
    productId: text("product_id").notNull(),
    rows: bigint("rows", { mode: "number" }).notNull(),
    /** when the table was last counted as a whole */
    countedAt: instant("counted_at").notNull(),
  },
  (t) => [primaryKey({ columns: [t.tableName, t.productId] })],
);

/**
 * One row for each write to a counted table. Append-only and without a key, so it costs writers little and they never wait.
 */
export const rowsAdded = pgTable("rows_added", {
  tableName: text("table_name").notNull(),
  productId: text("product_id").notNull(),
  added: integer("added").notNull(),
});
