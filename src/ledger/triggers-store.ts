/** The triggers of `callback_entries`: finds those that are off, switches them on again, and marks what they missed. */

import type { Query, Sql } from "../db/client.ts";
import { allowStatementTime } from "../db/transactions.ts";

/** The triggers that `callback_entries` must have, with their values of pg_trigger.tgenabled (decision 81). */
const TRIGGERS: Readonly<Record<string, string>> = {
  recon_checked: "O",
  recon_inserted: "O",
  recon_replicated: "R",
  recon_updated: "A",
  recon_deleted: "O",
  recon_emptied: "A",
  recon_truncated: "O",
};

/** The trigger that is switched on last, after every entry was marked. */
const SWITCHED_LAST = "recon_truncated";

/** The names of triggers that are missing or not in the state of `TRIGGERS`. */
export async function findIdleTriggers(sql: Query): Promise<string[]> {
  const found = await sql<{ name: string; enabled: string }[]>`
    select tgname as name, tgenabled as enabled from pg_trigger where tgrelid = 'callback_entries'::regclass`;
  return Object.entries(TRIGGERS)
    .filter(([name, enabled]) => !found.some((one) => one.name === name && one.enabled === enabled))
    .map(([name]) => name);
}

/** The longest wait for a lock, for example of a running restore. The next tick retries. */
const LOCK_WAIT_MS = 300;
const LOCK_NOT_AVAILABLE = "55P03";
/** The longest time to mark all entries; enough for a billion. */
const LONGEST_MARKING_MS = 2 * 3_600_000;

/**
 * If triggers are off, switches them on and marks every entry, because rows may have been written without marks. For
 * example, `pg_restore --disable-triggers` leaves the triggers in another state, so it is noticed here (decision 81).
 * @returns whether all entries were marked
 */
export async function watchEntries(sql: Sql): Promise<boolean> {
  const idle = await findIdleTriggers(sql);
  if (idle.length === 0) return false;
  const call = (text: string) =>
    sql.begin(async (tx) => {
      await tx.unsafe(`set local lock_timeout = ${LOCK_WAIT_MS}`);
      await allowStatementTime(tx, LONGEST_MARKING_MS);
      return await tx.unsafe<{ done: boolean }[]>(`select ${text} as done`);
    });
  try {
    // Two transactions: writers wait while triggers are switched on, but must not wait while a large ledger is marked.
    if (idle.some((name) => name !== SWITCHED_LAST)) await call("recon_watch_entries() is not null");
    const [marked] = await call("recon_mark_entries()");
    return marked?.done ?? false;
  } catch (error) {
    if ((error as { code?: string }).code === LOCK_NOT_AVAILABLE) return false;
    throw error;
  }
}
