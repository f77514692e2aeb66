/** The progress of each kind of work, so that every process can see stalls. */

import { bigint, integer, pgTable, primaryKey, text } from "drizzle-orm/pg-core";
import { instant } from "./columns.ts";

/** A row for each product that is pulled, compared or verified, each relation that is followed, each queue. */
export const workStates = pgTable(
  "work_states",
  {
    /** pulling, comparing, following, verifying, alerting, queue */
    work: text("work").notNull(),
    /** a product, a relation, a queue; empty: all of it */
    subject: text("subject").notNull(),
    /** since when it was done again and again without a pause; null: it was never done */
    since: instant("since"),
    /** when it was last done, or went on; null: never */
    doneAt: instant("done_at"),
    /** of comparing: what had arrived by then was judged; null: never to the end */
    upTo: instant("up_to"),
    /** since when it has failed each time; null: the last time it did not */
    failingSince: instant("failing_since"),
    /** how often in a row */
    failures: integer("failures").notNull().default(0),
    failedAt: instant("failed_at"),
    /** of the last failure; the code of an error of ours */
    errorCode: text("error_code"),
    error: text("error"),
    /** of a queue: how often its jobs are due */
    everyMs: bigint("every_ms", { mode: "number" }),
  },
  (t) => [primaryKey({ columns: [t.work, t.subject] })],
);
