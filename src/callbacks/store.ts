/** The built-in wallet in PostgreSQL: one request is one transaction, in two round trips. */

import { type Clock, monotonicMs, systemClock } from "../clock.ts";
import type { Sql } from "../db/client.ts";
import { Deadline, writeInTime } from "../db/deadline.ts";
import { OutcomeUnknown, openPipelinedPool, type PipelinedPool } from "../db/pipelined-pool.ts";
import { describeError } from "../errors.ts";
import type { RuleSettings } from "../ledger/bet-entry.ts";
import type { Signature } from "./access.ts";
import { type CallbackOutcome, judgeRequest, type RefusedCallback } from "./judge.ts";
import { writeOutcome } from "./outcome-store.ts";
import { askForPlayer, type LockedPlayer, playerOf } from "./player-store.ts";
import type { CallbackRequest } from "./request.ts";
import { rememberSignature } from "./signature-store.ts";

/** Two players sent requests with one id. The second to commit is judged again, and then sees the first. */
const UNIQUE_VIOLATION = "23505";

/** The longest search for the outcome of a request whose connection was lost during its commit. */
const LONGEST_SEARCH_MS = 60_000;
const LONGEST_TRY_MS = 10_000;
const SEARCH_EVERY_MS = 250;

/** The pipelined connections for requests, besides the pool. */
export function openWalletPool(sql: Sql): PipelinedPool {
  return openPipelinedPool(sql, [UNIQUE_VIOLATION]);
}

/** A request as it was received. */
export interface Received {
  readonly request: CallbackRequest;
  /** the body to store, without session tokens */
  readonly body: string;
  /** null: the server checks no signatures */
  readonly signature: Signature | null;
}

/**
 * Judges a request and applies it in one transaction: all items or none. Rejects where the request was certainly not
 * applied. Rejects with `OutcomeUnknown` where that is not certain (decision 126).
 * @param deadline after this time the request is not applied
 */
export async function applyRequest(
  pool: PipelinedPool,
  received: Received,
  settings: RuleSettings,
  clock: Clock,
  deadline: Deadline,
): Promise<CallbackOutcome> {
  const { request, signature } = received;
  try {
    return await pool.transact<CallbackOutcome>(
      askForPlayer(request, settings, signature),
      (answers) => {
        const player = playerOf(request, answers);
        const verdict = refuseSecondUse(request, player) ?? judgeRequest(request, player.state, settings);
        // Taken under the lock, so that a player's entries have the order in which they took effect.
        const judged = { ...received, player, receivedAt: clock.now() };
        const written = writeInTime(deadline, player.row, (put) => [
          ...writeOutcome(put, judged, verdict),
          ...(signature === null ? [] : [rememberSignature(put, request.callback, signature)]),
        ]);
        if (verdict.statusCode !== 0) return { result: verdict, write: [written] };
        const answeredAt = verdict.answeredAt ?? judged.receivedAt;
        return { result: { ...verdict, answeredAt }, write: [written] };
      },
      deadline,
    );
  } catch (error) {
    if (!(error instanceof OutcomeUnknown)) throw error;
    const verdict = await findOutcome(pool, request, settings, deadline);
    if (verdict === "unknown") throw error;
    if (verdict === null) throw new Error(`it was not applied: ${describeError(error)}`, { cause: error });
    return verdict;
  }
}

/**
 * Refuses a signature that was sent to another callback: a signature does not cover the address, so a captured body
 * could be sent to another one (decision 128).
 */
function refuseSecondUse({ callback }: CallbackRequest, { row }: LockedPlayer): RefusedCallback | null {
  const before = row["signedFor"] ?? callback;
  if (before === callback) return null;
  return {
    statusCode: 30002,
    reason: `this signature was sent to ${before} before: a signed body is valid for one callback only`,
    tombstones: { bets: new Set(), rounds: new Set() },
  };
}

/**
 * Finds the outcome of a request under the player's lock. The lock shows that the transaction which held it before
 * has ended, so its writes are visible (decision 126).
 * @returns the committed success; null: the request was not applied, and never will be
 */
async function findOutcome(
  pool: PipelinedPool,
  request: CallbackRequest,
  settings: RuleSettings,
  asker: Deadline,
): Promise<CallbackOutcome | null | "unknown"> {
  const untilMs = monotonicMs() + LONGEST_SEARCH_MS;
  while (monotonicMs() < untilMs && !asker.isAlone) {
    const deadline = new Deadline(LONGEST_TRY_MS);
    try {
      return await pool.transact(
        askForPlayer(request, settings, null),
        (answers) => {
          const { earlier } = playerOf(request, answers).state;
          const isOurs = earlier !== null && earlier.digest === request.digest;
          return { result: isOurs ? { ...earlier, statusCode: 0, changes: null } : null, write: [] };
        },
        deadline,
      );
    } catch {
      await systemClock.sleep(SEARCH_EVERY_MS);
    } finally {
      deadline.stop();
    }
  }
  return "unknown";
}
