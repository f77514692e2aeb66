/** Applies a batch of requests in one transaction (decision 180). */

import type { Clock } from "../clock.ts";
import type { CommitGuard, Deadline } from "../db/deadline.ts";
import { OutcomeUnknown, type PipelinedPool } from "../db/pipelined-pool.ts";
import { formOf } from "../db/statement.ts";
import type { CallbackOutcome } from "./judge.ts";
import { askForPlayers } from "./player-store.ts";
import { judgeReceived, outcomeOf, type Received, writeJudged } from "./received.ts";

export interface InBatch {
  readonly received: Received;
  readonly deadline: Deadline;
}

/** "alone": it was not applied, and must be applied alone. "locked": it was not applied, because somebody has locked its wallet. */
type OutcomeInBatch = CallbackOutcome | "alone" | "locked" | OutcomeUnknown;

/** A request with less time is applied alone, because the first deadline of a batch is the deadline of all. */
const LEAST_LEFT_MS = 1_000;

/**
 * Applies requests in one transaction. What one of them cannot share is left to it alone: a locked wallet, a player or
 * request id that is in the batch already, a deadline that is nearly over.
 */
export async function applyTogether(
  pool: PipelinedPool,
  batch: readonly InBatch[],
  clock: Clock,
): Promise<readonly OutcomeInBatch[]> {
  const committing = new Set<Deadline>();
  let cancel = () => {};
  const guard: CommitGuard = {
    check: () => {},
    beginCommit: () => {},
    undoCommit: () => {
      for (const deadline of committing) deadline.undoCommit();
    },
    // One caller that hangs up cancels the writes of all; the others are then applied alone.
    onOver: (heard) => {
      cancel = heard;
      return () => {
        cancel = () => {};
      };
    },
  };
  const asked = askForPlayers(
    batch.map(({ received }) => received),
    "leave-out",
    formOf(batch),
  );
  try {
    return await pool.transact<readonly OutcomeInBatch[]>(
      asked.statements,
      (answers) => {
        const players = asked.read(answers);
        const isFirst = openClaims();
        const outcomes = batch.map(({ received, deadline }, place) => {
          const player = players[place] ?? null;
          if (player === null) return "locked";
          if (!isFirst(received) || deadline.leftMs() < LEAST_LEFT_MS || !begins(deadline)) return "alone";
          committing.add(deadline);
          deadline.onOver(() => cancel());
          return judgeReceived(received, player, clock);
        });
        const judged = outcomes.filter((one) => typeof one !== "string");
        const leftMs = Math.min(...[...committing].map((deadline) => deadline.leftMs()));
        return {
          result: outcomes.map((one) => (typeof one === "string" ? one : outcomeOf(one))),
          write: judged.length === 0 ? [] : writeJudged(judged, leftMs, formOf(batch)),
        };
      },
      guard,
      1,
    );
  } catch (error) {
    return batch.map(({ deadline }) =>
      error instanceof OutcomeUnknown && committing.has(deadline) ? error : "alone",
    );
  }
}

/** @returns whether nothing before has the same player, or the same request id at its product and callback */
function openClaims(): (received: Received) => boolean {
  const claimed = new Set<string>();
  return ({ request: { username, productId, callback, requestId } }) => {
    const keys = [JSON.stringify([username]), JSON.stringify([productId, callback, requestId])];
    if (keys.some((key) => claimed.has(key))) return false;
    for (const key of keys) claimed.add(key);
    return true;
  };
}

/** @returns false where the deadline is over */
function begins(deadline: Deadline): boolean {
  try {
    deadline.beginCommit();
    return true;
  } catch {
    return false;
  }
}
