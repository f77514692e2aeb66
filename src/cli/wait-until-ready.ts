/** Waits, when a long-running command starts, for what may come up later than itself: the database, Redis. */

import { type Clock, showDuration } from "../clock.ts";
import { ReconError } from "../errors.ts";
import type { Log } from "../log.ts";

const TRY_EVERY_MS = 500;
const REPORT_EVERY_MS = 10_000;

/**
 * Asks until `check` resolves, and tells in the log what it waits for.
 * @param what begins a sentence: "the database"
 * @param check must end by itself, also where nobody answers
 * @param longestMs 0: does not wait
 * @throws ReconError that of the last try: at once where waiting cannot help, else after `longestMs`
 */
export async function waitUntilReady(
  what: string,
  check: () => Promise<void>,
  { clock, log }: { readonly clock: Clock; readonly log: Log },
  longestMs: number,
): Promise<void> {
  const begunAt = clock.now();
  let reported = { message: "", at: 0 };
  for (;;) {
    const failure = await tryOnce(check);
    if (failure === null) break;
    const leftMs = longestMs - (clock.now() - begunAt);
    if (!failure.retryable || longestMs === 0) throw failure;
    if (leftMs <= 0) {
      const message = `${failure.message} It was waited for, for ${showDuration(longestMs)}.`;
      throw new ReconError(failure.code, message, { cause: failure });
    }
    if (failure.message !== reported.message || clock.now() - reported.at >= REPORT_EVERY_MS) {
      reported = { message: failure.message, at: clock.now() };
      log.warn({ code: failure.code }, `${failure.message} It is waited for, ${showDuration(leftMs)} more.`);
    }
    await clock.sleep(Math.min(TRY_EVERY_MS, leftMs));
  }
  if (reported.message !== "") log.info(`${what} answers now`);
}

/** @returns what it failed with; null: nothing. What is no ReconError is nothing to wait for. */
async function tryOnce(check: () => Promise<void>): Promise<ReconError | null> {
  try {
    await check();
    return null;
  } catch (error) {
    if (error instanceof ReconError) return error;
    throw error;
  }
}
