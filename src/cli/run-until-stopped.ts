/** The frame of a command that runs until it is told to end: waits for its database, starts, and ends in time. */

import { stderr } from "node:process";
import { systemClock } from "../clock.ts";
import type { Need } from "../config.ts";
import { describeError } from "../errors.ts";
import { endsInTime } from "../in-time.ts";
import type { Log } from "../log.ts";
import { type OpenRecon, openRecon } from "./open.ts";
import { stopSignal } from "./stop-signal.ts";

/** What a command has opened, and closes again when it ends. */
export interface Part {
  /** begins a sentence: "the ops server" */
  readonly name: string;
  /** what is not closed by then is left to the end of the process */
  readonly longestMs: number;
  close(): Promise<void> | void;
}

/** So long a start waits for what is not up yet. */
export const LONGEST_WAIT_MS = 60_000;
/** All parts together: whoever told it to end kills it after ten seconds. */
const LONGEST_END_MS = 9_000;
/** However late it is: a part that closes at once does so. */
const SHORTEST_MS = 100;
/** So long what else is open may hold a process that has closed everything. */
const LEFT_OVER_MS = 300;

/**
 * @param title of the command: "the worker"
 * @param start opens everything else, in order; what it adds to `opened` is closed in the reverse order
 */
export function runUntilStopped(
  title: string,
  needs: readonly Need[],
  start: (recon: OpenRecon, opened: Part[]) => Promise<void>,
): () => Promise<void> {
  return async () => {
    // From here on the signal does not end the process, also where it comes in the middle of the start.
    const stopped = stopSignal();
    const opened: Part[] = [];
    let log: Log | null = null;
    let isUp = false;
    const begin = async () => {
      const recon = await openRecon(needs, LONGEST_WAIT_MS);
      log = recon.context.log;
      opened.push({ name: "the database", longestMs: 1_500, close: () => recon.close() });
      await start(recon, opened);
      isUp = true;
    };
    try {
      await Promise.race([begin(), stopped]);
      await stopped;
      writeLine(log, isUp ? `${title} ends` : `${title} ends before it was up: it was told to`);
    } finally {
      await closeAll(log, opened);
      exitSoon();
    }
  };
}

function writeLine(log: Log | null, line: string): void {
  if (log === null) stderr.write(`recon: ${line}\n`);
  else log.info(line);
}

/** Closes in the reverse order of the start; none can hold up the others. */
async function closeAll(log: Log | null, opened: readonly Part[]): Promise<void> {
  const until = systemClock.now() + LONGEST_END_MS;
  for (const { name, longestMs, close } of opened.toReversed()) {
    const leftMs = Math.max(Math.min(longestMs, until - systemClock.now()), SHORTEST_MS);
    try {
      if (await endsInTime((async () => await close())(), leftMs)) continue;
      log?.warn(`${name} did not end in ${leftMs / 1000} s and is cut off; nothing is lost by it`);
    } catch (error) {
      log?.warn({ error: describeError(error) }, `${name} did not end cleanly`);
    }
  }
}

/** A start that was given up, or what was cut off, may still hold the process: nothing that it waits for matters now. */
function exitSoon(): void {
  setTimeout(() => process.exit(), LEFT_OVER_MS).unref();
}
