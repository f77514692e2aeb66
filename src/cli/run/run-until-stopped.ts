/** Runs a command until a stop signal: waits for the database, starts, and ends in bounded time. */

import { stderr } from "node:process";
import { systemClock } from "../../clock.ts";
import type { Need } from "../../config.ts";
import { describeError } from "../../errors.ts";
import { endsInTime } from "../../in-time.ts";
import type { Log } from "../../log.ts";
import { type Announce, LONGEST_WAIT_MS, type OpenRecon, openRecon } from "./open.ts";

/**
 * Resolves at the first SIGINT or SIGTERM. Later signals have no effect, because npm repeats the terminal's Ctrl-C.
 */
export function stopSignal(): Promise<void> {
  return new Promise((resolve) => {
    for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => resolve());
  });
}

/** A part that the command opens at the start and closes at the end. */
export interface Part {
  /** begins a sentence: "the ops server" */
  readonly name: string;
  /** the longest wait for closing; the end of the process closes the rest */
  readonly longestMs: number;
  close(): Promise<void> | void;
}

/** The longest end of all parts together: service managers kill a process ten seconds after the signal. */
const LONGEST_END_MS = 9_000;
/** The time that each part has at least, however late it is. */
const SHORTEST_MS = 100;
/** The time after which the process exits, even with open handles. */
const LEFT_OVER_MS = 300;

/**
 * @param title of the command: "the worker"
 * @param start opens the other parts in order and adds each to `opened`; they close in the reverse order
 * @param announce says what the start is doing
 */
export function runUntilStopped(
  title: string,
  needs: readonly Need[],
  start: (recon: OpenRecon, opened: Part[]) => Promise<void>,
  announce?: Announce,
): () => Promise<void> {
  return async () =>
    await runParts(title, async (opened, useLog) => {
      const recon = await openRecon(needs, LONGEST_WAIT_MS, undefined, announce);
      useLog(recon.context.log);
      opened.push({ name: "the database", longestMs: 1_500, close: () => recon.close() });
      await start(recon, opened);
    });
}

/**
 * Runs parts until a stop signal.
 * @param begin opens the parts in order and adds each to `opened`
 */
export async function runParts(
  title: string,
  begin: (opened: Part[], useLog: (log: Log) => void) => Promise<void>,
): Promise<void> {
  // From here on a signal does not end the process at once, not even during the start.
  const stopped = stopSignal();
  const opened: Part[] = [];
  let log: Log | null = null;
  let isUp = false;
  const beginAll = async () => {
    await begin(opened, (used) => {
      log = used;
    });
    isUp = true;
  };
  try {
    await Promise.race([beginAll(), stopped]);
    await stopped;
    writeLine(log, isUp ? `${title} ends` : `${title} was stopped before its start was complete`);
  } finally {
    await closeAll(log, opened);
    exitSoon();
  }
}

function writeLine(log: Log | null, line: string): void {
  if (log === null) stderr.write(`recon: ${line}\n`);
  else log.info(line);
}

/** Closes the parts in the reverse order of the start. No part can block the others. */
async function closeAll(log: Log | null, opened: readonly Part[]): Promise<void> {
  const until = systemClock.now() + LONGEST_END_MS;
  for (const { name, longestMs, close } of opened.toReversed()) {
    const leftMs = Math.max(Math.min(longestMs, until - systemClock.now()), SHORTEST_MS);
    try {
      if (await endsInTime((async () => await close())(), leftMs)) continue;
      log?.warn(`${name} did not end in ${leftMs / 1000} s and is cut off; nothing is lost`);
    } catch (error) {
      log?.warn({ error: describeError(error) }, `${name} did not end cleanly`);
    }
  }
}

/**
 * An abandoned start or part may still hold the process. Nothing that they wait for matters now.
 */
function exitSoon(): void {
  setTimeout(() => process.exit(), LEFT_OVER_MS).unref();
}
