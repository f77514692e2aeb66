/** What makes this database the one of an installation, and the row that shows whether it takes writes. */

import { integer, pgTable, text } from "drizzle-orm/pg-core";
import { instant } from "./columns.ts";

/** One row. A backup has it too, so that a restored database is still the same installation. */
export const installations = pgTable("installations", {
  id: integer("id").primaryKey(),
  /** a random UUID, which the installation writes into its Redis too */
  installationId: text("installation_id").notNull(),
  /** when a process last made sure that it may write */
  writtenAt: instant("written_at").notNull(),
});
