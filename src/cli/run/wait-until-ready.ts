/** Waits at the start of a long-running command for the database and Redis, which may start later. */

import { type Clock, showDuration } from "../../clock.ts";
import { ReconError } from "../../errors.ts";
import type { Log } from "../../log.ts";

/** The longest wait of a start for the database and Redis. */
export const LONGEST_WAIT_MS = 60_000;
const TRY_EVERY_MS = 500;
const REPORT_EVERY_MS = 10_000;

/**
 * Repeats `check` until it resolves, and logs what the command waits for.
 * @param what begins a sentence: "the database"
 * @param check must end by itself, even if the server does not answer
 * @param longestMs 0: does not wait
 * @throws ReconError the last error: at once if waiting cannot help, otherwise after `longestMs`
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
      const message = `${failure.message} recon gave up after ${showDuration(longestMs)}.`;
      throw new ReconError(failure.code, message, { cause: failure });
    }
    if (failure.message !== reported.message || clock.now() - reported.at >= REPORT_EVERY_MS) {
      reported = { message: failure.message, at: clock.now() };
      log.warn({ code: failure.code }, `${failure.message} recon waits for ${showDuration(leftMs)} more.`);
    }
    await clock.sleep(Math.min(TRY_EVERY_MS, leftMs));
  }
  if (reported.message !== "") log.info(`${what} answers now`);
}

/** @returns the error; null: the check succeeded. Waiting does not help against other errors than ReconError. */
async function tryOnce(check: () => Promise<void>): Promise<ReconError | null> {
  try {
    await check();
    return null;
  } catch (error) {
    if (error instanceof ReconError) return error;
    throw error;
  }
}
