/** Waits for a condition instead of for a time: returns at once if the condition holds, and is patient on a slow machine. */

import { setTimeout as pause } from "node:timers/promises";
import { describeError } from "../../src/errors.ts";

const LOOK_EVERY_MS = 25;
/** What takes long to see is looked at less often, so that the processor is free for what is waited for. */
const REST_PER_LOOK = 9;
const LONGEST_REST_MS = 400;
/** What has not happened by then never happens, however busy the machine is. */
const LONGEST_WAIT_MS = 180_000;

/**
 * Calls `look` again and again until it returns something truthy, and returns that. A `look` that throws is called again; the
 * last failure is the cause of the error at the deadline.
 * @param what completes the sentence "it did not happen that …"
 */
export async function eventually<Seen>(
  what: string,
  look: () => Seen | Promise<Seen>,
  withinMs = LONGEST_WAIT_MS,
): Promise<Exclude<Awaited<Seen>, false | null | undefined>> {
  const deadline = performance.now() + withinMs;
  for (;;) {
    const lookedAt = performance.now();
    let failure: unknown;
    try {
      const seen = await look();
      if (seen) return seen as Exclude<Awaited<Seen>, false | null | undefined>;
    } catch (error) {
      failure = error;
    }
    const now = performance.now();
    if (now > deadline) {
      const reason = failure === undefined ? "" : ` (${describeError(failure)})`;
      throw new Error(`within ${withinMs / 1000} s it did not happen that ${what}${reason}`, {
        cause: failure,
      });
    }
    const restMs = (now - lookedAt) * REST_PER_LOOK;
    await pause(Math.min(Math.max(LOOK_EVERY_MS, restMs), LONGEST_REST_MS));
  }
}
