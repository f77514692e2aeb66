/** The change that one entry makes to one bet, and the money that it asks for (docs/ledger.md#what-an-entry-does). Pure. */

import { type Amount, ZERO } from "../money.ts";
import { type BetEntry, isSingleState, type RuleSettings, saidBy } from "./bet-entry.ts";
import { type BetState, beginBet } from "./bet-state.ts";

export interface Change {
  readonly bet: BetState;
  /** the signed change of the player's balance that the entry asks for; 0 if the entry skips the balance */
  readonly asked: Amount;
  /** the part of the stake to debit, which the balance must cover; 0 or less: there is no debit */
  readonly taken: Amount;
  /** the bet was neither placed nor settled before */
  readonly begins: boolean;
  /** the text of `saidBy` */
  readonly said: string;
}

type MoneyMove = Pick<Change, "bet" | "asked" | "taken">;

/** The position of one bet among the bets that its entry acts on. */
export interface Share {
  /** the bet gets the amounts that cannot be split */
  readonly isFirst: boolean;
  readonly isAlone: boolean;
  /** the sum of the payouts of all settled bets among them */
  readonly paid: Amount;
}

/**
 * Applies an entry to one bet, even if the entry is impossible. Never throws.
 * @param before undefined: the bet is unknown
 * @param share null: the entry acts on this bet only
 */
export function changeBet(
  before: BetState | undefined,
  entry: BetEntry,
  settings: RuleSettings,
  share: Share | null,
): Change {
  const said = saidBy(entry);
  const { bet, asked, taken } = moveBet(before, entry, settings, share, said);
  return { bet, asked, taken, begins: beginsWith(before, entry), said };
}

function beginsWith(before: BetState | undefined, { callback }: BetEntry): boolean {
  if (callback === "placeBets") return before === undefined;
  return callback === "settleBets" && (before === undefined || before.rewardOnly);
}

function moveBet(
  before: BetState | undefined,
  entry: BetEntry,
  settings: RuleSettings,
  share: Share | null,
  said: string,
): MoneyMove {
  const bet = before ?? beginBet(entry.txnId, entry.currency, entry.roundId);
  const betAmount = entry.betAmount ?? ZERO;
  switch (entry.callback) {
    case "placeBets":
      return place(bet, entry, betAmount);
    case "adjustBets":
      return debit(entry, { ...bet, stake: betAmount }, betAmount.minus(bet.stake));
    case "settleBets": {
      const payout = share === null || share.isFirst ? (entry.payoutAmount ?? ZERO) : ZERO;
      return settle(bet, entry, payout, settings, said);
    }
    case "winRewards":
      return reward({ ...bet, rewardOnly: before === undefined || bet.rewardOnly }, entry, said);
    case "cancelBets":
      return credit(entry, makeVoid(bet, entry), bet.debited);
    case "voidSettled": {
      const asked = bet.stake.minus(bet.settlement).minus(bet.reward);
      return credit(entry, { ...makeVoid(bet, entry), payoutReturned: true }, asked);
    }
    case "rollback":
      return before === undefined
        ? // The bet ended before the ledger began. The rollback takes back the payout that it names.
          credit(entry, bet, (entry.payoutAmount ?? ZERO).neg())
        : rollBack(bet, entry, share);
    case "placeTips":
      return debit(entry, { ...bet, tip: true, status: "settled", stake: betAmount }, betAmount);
    case "cancelTips":
      return credit(entry, { ...makeVoid(bet, entry), tip: true }, betAmount);
    case "adjustBalance":
      return credit(entry, bet, ZERO);
  }
}

/** Debits a part of the stake. A negative amount is given back. */
function debit(entry: BetEntry, bet: BetState, amount: Amount): MoneyMove {
  if (entry.skipBalanceUpdate) return { bet, asked: ZERO, taken: ZERO };
  const debited = { ...bet, debited: bet.debited.plus(amount), wasDebited: true };
  return { bet: debited, asked: amount.neg(), taken: amount };
}

/**
 * Credits an amount that is not a stake. A negative amount is debited, even if the balance falls below zero, because the
 * wallet must follow what the provider undoes.
 */
function credit(entry: BetEntry, bet: BetState, amount: Amount): MoneyMove {
  return { bet, asked: entry.skipBalanceUpdate ? ZERO : amount, taken: ZERO };
}

/** Places a bet. A bet with only rewards so far begins with its placement. An ended bet stays ended (decision 26). */
function place(bet: BetState, entry: BetEntry, stake: Amount): MoneyMove {
  const waiting = entry.status === "WAITING";
  const amount = bet.waiting && !waiting ? stake.minus(bet.debited) : stake;
  const status = bet.rewardOnly ? "open" : bet.status;
  return debit(entry, { ...bet, status, rewardOnly: false, placed: true, waiting, stake }, amount);
}

/**
 * Settles a bet, or pays a part of it: after a partial settle (endRound false) the bet stays open. An equal settle that
 * moves nothing is a repeat, and changes no amount.
 */
function settle(
  bet: BetState,
  entry: BetEntry,
  payout: Amount,
  settings: RuleSettings,
  said: string,
): MoneyMove {
  const { betAmount, skipBalanceUpdate } = entry;
  const isLast = entry.endRound ?? true;
  const isRunning = bet.status === "open" || bet.rewardOnly;
  // Only the first part of a single-state bet must name its stake.
  const isFirstPart = isRunning && bet.endRound;
  const namesStake = !bet.placed && betAmount !== null && (isFirstPart || bet.stake.eq(ZERO));
  const debits = !bet.placed && !bet.wasDebited && isSingleState(entry, settings);
  const stake = debits ? (betAmount ?? ZERO) : ZERO;
  const asked = skipBalanceUpdate ? ZERO : debits ? payout.minus(stake) : payout;
  const isSaid = bet.said.includes(said);
  const isRepeat = isSaid && (entry.moved ?? asked).eq(ZERO);
  const isDebited = debits && !skipBalanceUpdate && !isRepeat;
  const settled: BetState = {
    ...bet,
    status: isLast || !isRunning ? "settled" : "open",
    rewardOnly: false,
    waiting: false,
    stake: namesStake ? betAmount : bet.stake,
    settlement: isRepeat ? bet.settlement : bet.settlement.plus(payout),
    debited: isDebited ? bet.debited.plus(stake) : bet.debited,
    wasDebited: bet.wasDebited || isDebited,
    endRound: isLast,
    said: isSaid ? bet.said : [...bet.said, said],
  };
  return {
    bet: settled,
    asked: isRepeat ? ZERO : asked,
    taken: isDebited ? stake : ZERO,
  };
}

function reward(bet: BetState, entry: BetEntry, said: string): MoneyMove {
  const amount = entry.payoutAmount ?? ZERO;
  const status = bet.rewardOnly && bet.status === "open" ? "settled" : bet.status;
  const next = {
    ...bet,
    status,
    reward: bet.reward.plus(amount),
    said: bet.said.includes(said) ? bet.said : [...bet.said, said],
  };
  return credit(entry, next, amount);
}

function makeVoid(bet: BetState, entry: BetEntry): BetState {
  return { ...bet, status: "void", debited: entry.skipBalanceUpdate ? bet.debited : ZERO };
}

/**
 * Reopens an ended bet: takes back the payout, and begins a new generation. No entry of the new generation is a repeat
 * of an earlier one.
 */
function rollBack(bet: BetState, entry: BetEntry, share: Share | null): MoneyMove {
  if (bet.status === "open") return { bet, asked: ZERO, taken: ZERO };
  const wasVoid = bet.status === "void";
  const payoutAmount = entry.payoutAmount ?? ZERO;
  const both = bet.settlement.plus(bet.reward);
  const takesReward = wasVoid ? bet.payoutReturned : payoutAmount.eq(share?.paid ?? both);
  const isAlone = share === null || share.isAlone;
  const ofEntry = wasVoid ? (entry.betAmount ?? ZERO) : payoutAmount;
  const amount = isAlone ? ofEntry : wasVoid ? bet.stake : takesReward ? both : bet.settlement;
  const takesStake = wasVoid && !entry.skipBalanceUpdate;
  const running: BetState = {
    ...bet,
    status: "open",
    waiting: false,
    settlement: ZERO,
    reward: takesReward ? ZERO : bet.reward,
    debited: takesStake ? bet.debited.plus(amount) : bet.debited,
    wasDebited: bet.wasDebited || takesStake,
    endRound: true,
    payoutReturned: false,
    said: [],
  };
  return credit(entry, running, amount.neg());
}
