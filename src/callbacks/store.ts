/** The built-in wallet in PostgreSQL: one request is one transaction of three statements, in two round trips. */

import type { Clock } from "../clock.ts";
import type { Sql } from "../db/client.ts";
import { type Lanes, openLanes } from "../db/lanes.ts";
import type { RuleSettings } from "../ledger/bet-entry.ts";
import { judgeRequest, type Verdict } from "./judge.ts";
import { writeFailure, writeSuccess } from "./outcome-store.ts";
import { askForPlayer, playerOf } from "./player-store.ts";
import type { CallbackRequest } from "./request.ts";

/** Two players' requests with one id: the second one to commit is judged again, and finds the first. */
const UNIQUE_VIOLATION = "23505";

/** The connections that requests are applied on, beside those of a pool. */
export function openWalletLanes(sql: Sql): Lanes {
  return openLanes(sql, [UNIQUE_VIOLATION]);
}

/**
 * Judges a request and applies it, in one transaction: all items or none.
 * @param body what is kept of it, without session tokens
 */
export async function applyRequest(
  lanes: Lanes,
  request: CallbackRequest,
  body: string,
  settings: RuleSettings,
  clock: Clock,
): Promise<Verdict> {
  return await lanes.transact<Verdict>(askForPlayer(request, settings), (answers) => {
    const player = playerOf(request, answers);
    const verdict = judgeRequest(request, player.state, settings);
    // Taken under the lock, so that a player's entries lie in the order in which they took effect.
    const judged = { request, body, player, receivedAt: clock.now() };
    if (verdict.statusCode !== 0) return { result: verdict, write: writeFailure(judged, verdict) };
    const answeredAt = verdict.answeredAt ?? judged.receivedAt;
    return { result: { ...verdict, answeredAt }, write: writeSuccess(judged, verdict) };
  });
}
