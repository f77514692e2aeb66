/** Applies a request in a transaction of its own, and finds the outcome of one whose connection was lost. */

import { type Clock, monotonicMs, systemClock } from "../clock.ts";
import { Deadline } from "../db/deadline.ts";
import type { PipelinedPool } from "../db/pipelined-pool.ts";
import type { CallbackOutcome } from "./judge.ts";
import type { LockedPlayer } from "./player-rows.ts";
import { askForPlayers, type LockedWallets } from "./player-store.ts";
import { judgeReceived, outcomeOf, type Received, writeJudged } from "./received.ts";

/** The longest search for the outcome of a request whose connection was lost during its commit. */
const LONGEST_SEARCH_MS = 60_000;
const LONGEST_TRY_MS = 10_000;
const SEARCH_EVERY_MS = 250;

/**
 * Applies a request in a transaction of its own.
 * @param locked whether it waits for wallets that somebody has locked
 * @returns "locked": it did not wait for them, and was not applied
 */
export async function applyAlone(
  pool: PipelinedPool,
  received: Received,
  clock: Clock,
  deadline: Deadline,
  locked: LockedWallets,
): Promise<CallbackOutcome | "locked"> {
  const asked = askForPlayers([received], locked, "listed");
  return await pool.transact<CallbackOutcome | "locked">(
    asked.statements,
    (answers) => {
      const [player] = asked.read(answers);
      if (player == null) return { result: "locked", write: [] };
      const judged = judgeReceived(received, player, clock);
      return { result: outcomeOf(judged), write: writeJudged([judged], deadline.leftMs(), "listed") };
    },
    deadline,
  );
}

/**
 * Finds the outcome of a request under the player's lock. The lock shows that the transaction which held it before
 * has ended, so its writes are visible (decision 126).
 * @param onPool gives the pool for one try
 * @returns the committed success; null: the request was not applied, and never will be
 */
export async function findOutcome(
  onPool: <Result>(work: (pool: PipelinedPool) => Promise<Result>) => Promise<Result>,
  received: Received,
  asker: Deadline,
): Promise<CallbackOutcome | null | "unknown"> {
  const { request } = received;
  const asked = askForPlayers([{ ...received, signature: null }], "wait", "listed");
  const untilMs = monotonicMs() + LONGEST_SEARCH_MS;
  while (monotonicMs() < untilMs && !asker.isAlone) {
    try {
      return await onPool(async (pool) => {
        const deadline = new Deadline(LONGEST_TRY_MS);
        const read = (answers: Parameters<typeof asked.read>[0]) => {
          const { earlier } = onlyOf(asked.read(answers)).state;
          const isOurs = earlier !== null && earlier.digest === request.digest;
          return {
            result: isOurs ? ({ ...earlier, statusCode: 0, changes: null } as const) : null,
            write: [],
          };
        };
        return await pool.transact(asked.statements, read, deadline).finally(() => deadline.stop());
      });
    } catch {
      await systemClock.sleep(SEARCH_EVERY_MS);
    }
  }
  return "unknown";
}

function onlyOf([player]: readonly (LockedPlayer | null)[]): LockedPlayer {
  if (player == null) throw new Error("the player of a request was not read");
  return player;
}
