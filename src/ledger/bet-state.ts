/** The state of one bet: everything that decides about its next entry, in the fold and in the built-in wallet. */

import { type LedgerStatus, realRound } from "../bet.ts";
import { type Amount, ZERO } from "../money.ts";

/** A bet of one player at one product, as data that can be stored; never changed, only replaced. */
export interface BetState {
  readonly txnId: string;
  readonly currency: string;
  /** of the first entry that named a real one; null: none did */
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
    roundId: realRound(roundId),
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

/** A bet belongs to the round that an entry first names for it. */
export function nameRound(bet: BetState, roundId: string | null): BetState {
  if (bet.roundId !== null) return bet;
  const named = realRound(roundId);
  return named === null ? bet : { ...bet, roundId: named };
}
