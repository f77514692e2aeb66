/** How many rows the largest tables have. */

import { bigint, integer, pgTable, primaryKey, text } from "drizzle-orm/pg-core";
import { instant } from "./columns.ts";

/**
 * How many rows a table has that is too large to be counted, since it was counted as a whole. What its writers have
 * added since the last count is in `rows_added`. A table without any rows here is small, and counted.
 */
export const rowCounts = pgTable(
  "row_counts",
  {
    tableName: text("table_name").notNull(),
    /** empty: of no product; each table that is here has such a row */
    productId: text("product_id").notNull(),
    rows: bigint("rows", { mode: "number" }).notNull(),
    /** when the table was last counted as a whole */
    countedAt: instant("counted_at").notNull(),
  },
  (t) => [primaryKey({ columns: [t.tableName, t.productId] })],
);

/**
 * A row for each write that added rows to such a table. Append-only and without a key: writers neither wait nor pay
 * for it.
 */
export const rowsAdded = pgTable("rows_added", {
  tableName: text("table_name").notNull(),
  productId: text("product_id").notNull(),
  added: integer("added").notNull(),
});
