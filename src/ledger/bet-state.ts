/** The state of one bet, as the rules need it, for the fold and the built-in wallet. */

import { type LedgerStatus, realRound } from "../bet.ts";
import { type Amount, ZERO } from "../money.ts";

/** A bet of one player at one product. Never changed, only replaced. */
export interface BetState {
  readonly txnId: string;
  readonly currency: string;
  /** the round of the first entry that named a real one; null: no entry did */
  readonly roundId: string | null;
  readonly status: LedgerStatus;
  readonly stake: Amount;
  /** the part of the stake that was taken from the player and not given back; negative where more was given back */
  readonly debited: Amount;
  /** an entry asked for a part of the stake and did not skip the balance */
  readonly wasDebited: boolean;
  readonly settlement: Amount;
  readonly reward: Amount;
  readonly placed: boolean;
  /** placed as WAITING and not yet taken (§4.A2) */
  readonly waiting: boolean;
  readonly tip: boolean;
  /** the bet has no entries but winRewards */
  readonly rewardOnly: boolean;
  /** the last settle said that no further settle follows */
  readonly endRound: boolean;
  /** the bet was settled when it became void, so its payout was taken back */
  readonly payoutReturned: boolean;
  /** the settles and rewards of the present generation, by which repeats are recognised */
  readonly said: readonly string[];
}

/** A new bet: open, with no money moved yet. */
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

/** Adds a round to a bet that has none. A bet keeps the first real round that an entry names. */
export function nameRound(bet: BetState, roundId: string | null): BetState {
  if (bet.roundId !== null) return bet;
  const named = realRound(roundId);
  return named === null ? bet : { ...bet, roundId: named };
}
