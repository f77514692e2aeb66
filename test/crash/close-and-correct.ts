/** Finds corrections and closes due days once, as the worker's job does. */

import { systemClock } from "../../src/clock.ts";
import { parseConfig } from "../../src/config-file.ts";
import { openDatabase } from "../../src/db/client.ts";
import { closeDueDays } from "../../src/flows/closing/close-days.ts";
import { findCorrections } from "../../src/flows/closing/find-corrections.ts";
import { silentLog } from "../../src/log.ts";

/** @param settings as in the config file */
export async function closeAndCorrect(url: string, settings: object): Promise<void> {
  const sql = openDatabase(url, 2);
  const context = { sql, config: parseConfig(settings), clock: systemClock, log: silentLog };
  const never = new AbortController().signal;
  await findCorrections(context, never);
  await closeDueDays(context, never);
  await sql.end({ timeout: 5 });
}
