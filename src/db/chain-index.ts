/** The index that only `ledger.balances: "complete"` needs: others would pay for it with every insert. */

import { readDatabaseUrl } from "../database-url.ts";
import { openDriver } from "./client.ts";
import { NO_LIMITS } from "./session.ts";

/** The number of the advisory lock; any number that nothing else locks. */
const BUILD_LOCK = 73_267;

/**
 * Builds the index by player and time over all products, if it is missing. Writers are not held up meanwhile; ten million
 * entries take about half a minute. Safe when several workers start at once: one builds, the others go on without it.
 */
export async function ensureChainIndex(url: string): Promise<void> {
  const sql = openDriver(readDatabaseUrl(url), NO_LIMITS, { max: 1 });
  try {
    // Two builds at once would wait for each other.
    const [turn] = await sql<{ got: boolean }[]>`select pg_try_advisory_lock(${BUILD_LOCK}) as got`;
    if (turn?.got !== true) return;
    // What an interrupted build leaves behind is never used, and would count as the index.
    const [broken] = await sql`
      select from pg_catalog.pg_index i
      where i.indexrelid = to_regclass('callback_entries_player') and not i.indisvalid`;
    if (broken !== undefined) await sql`drop index concurrently if exists callback_entries_player`;
    await sql`
      create index concurrently if not exists callback_entries_player on callback_entries (username, occurred_at)`;
  } finally {
    await sql.end({ timeout: 1 });
  }
}
