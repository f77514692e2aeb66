/** Deletes old bets in small batches until none is left. */

import { systemClock } from "../../src/clock.ts";
import { parseConfig } from "../../src/config-file.ts";
import { openDatabase } from "../../src/db/client.ts";
import { dropClosed } from "../../src/flows/retention/drop-closed.ts";
import { silentLog } from "../../src/log.ts";

/** @param settings as in the config file */
export async function deleteOld(url: string, settings: object): Promise<void> {
  const sql = openDatabase(url, 5);
  const context = { sql, config: parseConfig(settings), clock: systemClock, log: silentLog };
  await dropClosed(context, new AbortController().signal, { rows: 7, batches: 1_000 });
  await sql.end({ timeout: 5 });
}
