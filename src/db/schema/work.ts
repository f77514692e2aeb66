/** The progress of each kind of work, so that every process can see stalls. */

import { bigint, integer, pgTable, primaryKey, text } from "drizzle-orm/pg-core";
import { instant } from "./columns.ts";

/** A row for each product that is pulled, compared or verified, each relation that is followed, each queue. */
export const workStates = pgTable(
  "work_states",
  {
    /** a WorkKind of work/work-store.ts */
    work: text("work").notNull(),
    /** a product, a relation, a queue; empty: all of it */
    subject: text("subject").notNull(),
    /** the beginning of the present run of work without a long pause; null: the work was never done */
    since: instant("since"),
    /** when the work was last done, or last went on; null: never */
    doneAt: instant("done_at"),
    /** of comparing: everything that had arrived by this time was judged; null: no comparison has finished yet */
    upTo: instant("up_to"),
    /** the first of the failures in a row; null: the last run succeeded */
    failingSince: instant("failing_since"),
    /** the number of failures in a row */
    failures: integer("failures").notNull().default(0),
    failedAt: instant("failed_at"),
    /** the code of the last failure, where it was a ReconError */
    errorCode: text("error_code"),
    error: text("error"),
    /** of a queue: how often its jobs are due */
    everyMs: bigint("every_ms", { mode: "number" }),
  },
  (t) => [primaryKey({ columns: [t.work, t.subject] })],
);
