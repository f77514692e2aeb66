/** How a bet stands for the built-in wallet: all that the next callback for it is judged by. */

import type { LedgerStatus } from "../bet.ts";
import { type Amount, ZERO } from "../money.ts";

/** A bet of one player at one product; never changed, only replaced. */
export interface BetState {
  readonly txnId: string;
  readonly currency: string;
  /** of the first callback that named a real one; null: none did */
  readonly roundId: string | null;
  readonly status: LedgerStatus;
  readonly stake: Amount;
  /** of the stake, what was taken from the player and not given back; negative where more was given */
  readonly debited: Amount;
  /** some of the stake was once asked for, and not skipped */
  readonly wasDebited: boolean;
  readonly settlement: Amount;
  readonly reward: Amount;
  readonly placed: boolean;
  /** placed as WAITING and not yet taken (§4.A2) */
  readonly waiting: boolean;
  readonly tip: boolean;
  /** made of winRewards alone */
  readonly rewardOnly: boolean;
  /** its last settle said that no other follows */
  readonly endRound: boolean;
  /** it was settled when it became void: its payout was taken back with that */
  readonly payoutReturned: boolean;
  /** the settles and rewards of the present generation, by which repeats are known */
  readonly said: readonly string[];
}

/** A bet that begins, open and with nothing moved yet. */
export function beginBet(txnId: string, currency: string, roundId: string | null): BetState {
  return {
    txnId,
    currency,
    roundId,
    status: "open",
    stake: ZERO,
    debited: ZERO,
    wasDebited: false,
    settlement: ZERO,
    reward: ZERO,
    placed: false,
    waiting: false,
    tip: false,
    rewardOnly: false,
    endRound: true,
    payoutReturned: false,
    said: [],
  };
}
