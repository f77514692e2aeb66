/** Makes entries of what the tap has recorded (docs/tap.md), whenever the database can take them. */

import { readRecordedCallback } from "../../callbacks/entries-of-callback.ts";
import { systemClock } from "../../clock.ts";
import { openDatabase } from "../../db/client.ts";
import { openDatabaseClock } from "../../db/database-clock.ts";
import { migrateDatabase } from "../../db/migrate.ts";
import { reportRefusals, watchConnections } from "../../db/watch-connections.ts";
import { takeLines } from "../../ledger/take-lines.ts";
import type { Log } from "../../log.ts";
import { type StoreProgress, storeJournal } from "../../tap/store-journal.ts";
import { MEASURE_EVERY_MS, openClockWatch } from "../alerts/watch-clock.ts";

/** What the thread that stores needs to know. */
export interface StoringOrder {
  /** the journal's folder */
  readonly folder: string;
  readonly databaseUrl: string;
  readonly logLevel: string;
  /** texts that no line of the log may show */
  readonly secrets: readonly string[];
}

/** What the thread that stores reports. */
export type StoringState = StoreProgress & {
  /** by how much this machine's clock is ahead of the database's, in milliseconds; null: not known */
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
            const { rejected, ...counts } = await takeLines(sql, read, { sameness: "replays" });
            return { ...counts, rejected: rejected.length };
          },
          onProgress: (progress) => {
            if (progress.problem !== null && problem === null) {
              log.error(
                { error: progress.problem },
                "the tap stores nothing; what it records waits in its journal",
              );
            }
            if (progress.problem === null && problem !== null) log.info("the tap stores again");
            problem = progress.problem;
            if (progress.torn > 0) {
              log.warn(
                { torn: progress.torn },
                "the journal of the tap has a line that was cut off. A kill cut it before its answer was given; a full disk cut what the log counts as not recorded",
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
