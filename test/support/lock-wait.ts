/** Lets a test make two transactions wait for each other, without guessing how long that takes. */

import type { Sql } from "../../src/db/client.ts";
import { eventually } from "./eventually.ts";

/** Waits until a transaction of this database waits for another. */
export async function untilSomebodyWaits(sql: Sql): Promise<void> {
  const isWaiting = async () => {
    const [row] = await sql`
      select exists (select from pg_stat_activity
        where datname = current_database() and cardinality(pg_blocking_pids(pid)) > 0) as waiting`;
    return row?.["waiting"] === true;
  };
  await eventually("a transaction waits for another", isWaiting);
}
