/** The row counts of the largest tables (decision 73). */

import { bigint, integer, pgTable, primaryKey, text } from "drizzle-orm/pg-core";
import { instant } from "./columns.ts";

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
 * One row for each write to a counted table. Append-only and without a key, so that it costs writers little and they
 * never wait.
 */
export const rowsAdded = pgTable("rows_added", {
  tableName: text("table_name").notNull(),
  productId: text("product_id").notNull(),
  added: integer("added").notNull(),
});
