/** What the trends need and no other table keeps: a row for each product and quarter of an hour. */

import { bigint, index, integer, pgTable, primaryKey, text } from "drizzle-orm/pg-core";
import { instant } from "./columns.ts";

export const trendSamples = pgTable(
  "trend_samples",
  {
    productId: text("product_id").notNull(),
    /** the first moment of the quarter of an hour, UTC */
    at: instant("at").notNull(),
    /** the longest measured lag; null: no worker measured it */
    lagMs: bigint("lag_ms", { mode: "number" }),
    /** the records dated in it, counted once its time was fetched; null: not counted */
    records: integer("records"),
    /** the callback entries received in it, counted some minutes after its end; null: not counted */
    callbacks: integer("callbacks"),
  },
  (t) => [primaryKey({ columns: [t.productId, t.at] }), index("trend_samples_at").on(t.at)],
);
