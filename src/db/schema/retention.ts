/** Retention: up to which time rows were deleted, and which bets were (decision 160). */

import { bigint, index, pgTable, text } from "drizzle-orm/pg-core";
import { instant } from "./columns.ts";

/** The progress of deleting, for each kind of row. */
export const retentionStates = pgTable("retention_states", {
  /** a walk: "entries", "windows", "mismatches", "records of P1", … */
  walk: text("walk").primaryKey(),
  /** rows of closed days of earlier time may have been deleted; it never goes back */
  deletedUpTo: instant("deleted_up_to").notNull(),
  /**
   * nothing that lies before the first closed day and this time was deleted. Of entries: not before the time of the
   * first entry at the first deletion. null: nobody knows, or there was no entry
   */
  beganAt: instant("began_at"),
  /** the walk goes on after this row, as JSON text; null: with the first row */
  after: text("after"),
});

/** Deleted bets, so that a late callback or record of one is not called a difference. */
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
