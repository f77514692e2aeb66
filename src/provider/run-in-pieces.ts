/** Runs work in small pieces, one after the other in the whole process, so that other work gets time in between. */

import { setImmediate as nextTurn } from "node:timers/promises";
import { monotonicMs } from "../clock.ts";

const LONGEST_TURN_MS = 20;

let last: Promise<unknown> = Promise.resolve();
let turnBeganAtMs = 0;

/**
 * Runs a piece after all earlier ones. Rejects with the error of the piece.
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
