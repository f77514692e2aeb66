/** The state of one bet. The fold and the built-in wallet apply the rules to it. */

import { type LedgerStatus, realRound } from "../bet.ts";
import { type Amount, ZERO } from "../money.ts";

/** A bet of one player at one product. Immutable. */
export interface BetState {
  readonly txnId: string;
  readonly currency: string;
  /** the first real round that an entry named; null: no entry named one */
  readonly roundId: string | null;
  readonly status: LedgerStatus;
  readonly stake: Amount;
  /** the part of the stake that was debited and not given back; negative if more was given back */
  readonly debited: Amount;
  /** an entry asked for (part of) the stake and did not skip the balance */
  readonly wasDebited: boolean;
  readonly settlement: Amount;
  readonly reward: Amount;
  readonly placed: boolean;
  /** placed as WAITING and not yet accepted (§4.A2) */
  readonly waiting: boolean;
  readonly tip: boolean;
  /** winRewards are the only entries of the bet */
  readonly rewardOnly: boolean;
  /** the last settle was not partial: its `endRound` was not false */
  readonly endRound: boolean;
  /** the bet was settled before it became void, so its payout was taken back */
  readonly payoutReturned: boolean;
  /** the texts (`saidBy`) of the settles and rewards of the current generation, to recognise repeats */
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
