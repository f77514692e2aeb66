/** A request from its arrival to the statement that writes its outcome. */

import type { Clock } from "../clock.ts";
import { writeInTime } from "../db/deadline.ts";
import type { RowForm, SqlStatement } from "../db/statement.ts";
import { type CallbackOutcome, judgeRequest, type RefusedCallback } from "./judge.ts";
import { type JudgedCallback, writeOutcomes } from "./outcome-store.ts";
import type { LockedPlayer } from "./player-rows.ts";
import type { Question } from "./player-store.ts";

/** A request as it was received. */
export interface Received extends Question {
  /** the body to store, without session tokens */
  readonly body: string;
}

/** Judges a request under the player's lock, so that a player's entries have the order in which they took effect. */
export function judgeReceived(received: Received, player: LockedPlayer, clock: Clock): JudgedCallback {
  const { request, settings } = received;
  const verdict = refuseSecondUse(received, player) ?? judgeRequest(request, player.state, settings);
  return { ...received, player, receivedAt: clock.now(), verdict };
}

/** The outcome with the time that its answer names. */
export function outcomeOf({ verdict, receivedAt }: JudgedCallback): CallbackOutcome {
  return verdict.statusCode === 0 ? { ...verdict, answeredAt: verdict.answeredAt ?? receivedAt } : verdict;
}

/** The statements that write the outcomes of requests within the time that is left. @param judged at least one */
export function writeJudged(
  judged: readonly JudgedCallback[],
  leftMs: number,
  form: RowForm,
): readonly SqlStatement[] {
  return writeInTime(leftMs, judged[0]?.player.row ?? {}, (put) => writeOutcomes(put, judged, form));
}

/**
 * Refuses a signature that was sent to another callback: a signature does not cover the address, so a captured body
 * could be sent to another one (decision 128).
 */
function refuseSecondUse(
  { request: { callback } }: Received,
  { signedFor }: LockedPlayer,
): RefusedCallback | null {
  if (signedFor === null || signedFor === callback) return null;
  return {
    statusCode: 30002,
    reason: `this signature was sent to ${signedFor} before: a signed body is valid for one callback only`,
    tombstones: { bets: new Set(), rounds: new Set() },
  };
}
