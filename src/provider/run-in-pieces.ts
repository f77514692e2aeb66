/** Work in small pieces, one after the other in the whole process: whatever else waits comes in between. */

import { setImmediate as nextTurn } from "node:timers/promises";
import { monotonicMs } from "../clock.ts";

const LONGEST_TURN_MS = 20;

let last: Promise<unknown> = Promise.resolve();
let turnBeganAtMs = 0;

/**
 * Runs a piece when those before it are done. Rejects as it throws.
 * @param piece takes some milliseconds
 */
export async function runPiece(piece: () => void): Promise<void> {
  const done = last.then(async () => {
    if (monotonicMs() - turnBeganAtMs > LONGEST_TURN_MS) {
      await nextTurn();
      turnBeganAtMs = monotonicMs();
    }
    piece();
  });
  last = done.catch(() => {});
  await done;
}
