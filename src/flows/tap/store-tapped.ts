/**
 * Turns the callbacks that the tap has recorded (docs/tap.md) into entries, whenever the database is available. Runs in a thread
 * with lower CPU priority that communicates with the tap by files, so its work or its crash never reaches a callback.
 */

import { readRecordedCallback } from "../../callbacks/entries-of-callback.ts";
import { systemClock } from "../../clock.ts";
import { openDatabase } from "../../db/client.ts";
import { openDatabaseClock } from "../../db/database-clock.ts";
import { migrateDatabase } from "../../db/migrate.ts";
import { reportRefusals, watchConnections } from "../../db/watch-connections.ts";
import { importLines } from "../../ledger/import-lines.ts";
import type { Log } from "../../log.ts";
import { type StoreProgress, storeJournal } from "../../tap/store-journal.ts";
import { MEASURE_EVERY_MS, openClockWatch } from "../alerts/watch-installation.ts";

/** The options of the storing thread. */
export interface StoringOrder {
  /** the journal's folder */
  readonly folder: string;
  readonly databaseUrl: string;
  readonly logLevel: string;
  /** texts that must not appear in the log */
  readonly secrets: readonly string[];
}

/** The state that the storing thread reports. */
export type StoringState = StoreProgress & {
  /** how far this machine's clock is ahead of the database's, in milliseconds; null: unknown */
  readonly aheadMs: number | null;
};

const CONNECTIONS = 2;

export function openStoring(
  { folder, databaseUrl }: Pick<StoringOrder, "folder" | "databaseUrl">,
  log: Log,
  onState: (state: StoringState) => void,
) {
  const sql = openDatabase(databaseUrl, CONNECTIONS);
  const unwatch = watchConnections([sql], reportRefusals(log));
  const clock = openDatabaseClock(sql, systemClock);
  const watchClock = openClockWatch({ sql, log }, clock, {
    name: "tap",
    consequence: "callbacks still get the database's time",
  });
  const timer = setInterval(watchClock, MEASURE_EVERY_MS);
  let isMigrated = false;
  let problem: string | null = null;
  return {
    run: async (stopped: AbortSignal, isLast: () => boolean) => {
      await watchClock();
      await storeJournal(
        {
          folder,
          clock: systemClock,
          store: async (lines) => {
            if (!isMigrated) await migrateDatabase(databaseUrl, log);
            isMigrated = true;
            const read = lines.map((text, index) => ({ line: index + 1, ...readRecordedCallback(text) }));
            const { rejected, ...counts } = await importLines(sql, read, { sameness: "replays" });
            return { ...counts, rejected: rejected.length };
          },
          onProgress: (progress) => {
            if (progress.problem !== null && problem === null) {
              log.error(
                { error: progress.problem },
                "the tap cannot store callbacks; they wait in its journal",
              );
            }
            if (progress.problem === null && problem !== null) log.info("the tap stores callbacks again");
            problem = progress.problem;
            if (progress.torn > 0) {
              log.warn(
                { torn: progress.torn },
                "the tap's journal has an incomplete line. If the process was killed, its callback was not answered yet; if the disk was full, the log counts it as not recorded",
              );
            }
            onState({ ...progress, aheadMs: clock.aheadMs() });
          },
        },
        stopped,
        isLast,
      );
    },
    close: async () => {
      clearInterval(timer);
      unwatch();
      await sql.end({ timeout: 1 });
    },
  };
}
