/** Runs work in small pieces, one after the other in the whole process, so that other work gets time in between. */

import { setImmediate as afterOtherEvents } from "node:timers/promises";
import { monotonicMs } from "../clock.ts";

/** After pieces have run for this long, the other events of the process come first. */
const LONGEST_BLOCK_MS = 20;

let last: Promise<unknown> = Promise.resolve();
let blockBeganAtMs = 0;

/**
 * Runs a piece after all earlier ones. Rejects with the error of the piece.
 * @param piece takes some milliseconds
 */
export async function runPiece(piece: () => void): Promise<void> {
  const done = last.then(async () => {
    if (monotonicMs() - blockBeganAtMs > LONGEST_BLOCK_MS) {
      await afterOtherEvents();
      blockBeganAtMs = monotonicMs();
    }
    piece();
  });
  last = done.catch(() => {});
  await done;
}
