/** How a bet stands after it was settled, made void or rolled back; what that moves is judged elsewhere. */

import { type Amount, ZERO } from "../money.ts";
import type { BetState } from "./bet-state.ts";
import type { CallbackItem } from "./request.ts";

/** @param said what this settle said, so that a repeat is known */
export function settled(bet: BetState, item: CallbackItem, payout: Amount, said: string): BetState {
  const namesStake = !bet.placed && (bet.status === "open" || bet.stake.eq("0")) && item.betAmount !== null;
  return {
    ...bet,
    status: "settled",
    rewardOnly: false,
    waiting: false,
    stake: namesStake ? item.betAmount : bet.stake,
    settlement: bet.settlement.plus(payout),
    endRound: item.isEndRound,
    said: bet.said.includes(said) ? bet.said : [...bet.said, said],
  };
}

export function voided(bet: BetState, item: CallbackItem): BetState {
  return { ...bet, status: "void", debited: item.skipBalanceUpdate ? bet.debited : ZERO };
}

/** What a rollback says of one bet. */
interface RollbackPart {
  /** of a void bet: what is taken again */
  readonly stake: Amount;
  /** of a settled bet: its reward is taken back with its settlement */
  readonly takesReward: boolean;
}

/** The bet runs again, and a new generation begins, in which everything is possible once more. */
export function rolledBack(bet: BetState, item: CallbackItem, part: RollbackPart): BetState {
  const wasVoid = bet.status === "void";
  const takesAgain = wasVoid && !item.skipBalanceUpdate;
  return {
    ...bet,
    status: "open",
    waiting: false,
    settlement: ZERO,
    reward: (wasVoid ? bet.payoutReturned : part.takesReward) ? ZERO : bet.reward,
    debited: takesAgain ? bet.debited.plus(part.stake) : bet.debited,
    wasDebited: bet.wasDebited || takesAgain,
    endRound: true,
    payoutReturned: false,
    said: [],
  };
}
