/**
 * What one entry makes of one bet, and what it asks to be moved for it (docs/ledger.md#what-an-entry-does): the
 * rules, once for all.
 */

import { type Amount, ZERO } from "../money.ts";
import { type BetEntry, isSingleState, type RuleSettings, saidBy } from "./bet-entry.ts";
import { type BetState, beginBet } from "./bet-state.ts";

export interface Change {
  readonly bet: BetState;
  /** the signed change of the player's balance that is asked for; 0 where skipped */
  readonly asked: Amount;
  /** of the stake, what is taken from the player, and must be there before; not above 0: nothing */
  readonly taken: Amount;
  /** nothing of the bet was placed or settled before */
  readonly begins: boolean;
  /** what the entry says of the bet: an equal one says the same */
  readonly said: string;
}

type MoneyMove = Pick<Change, "bet" | "asked" | "taken">;

/** How one bet stands among those that its entry acts on. */
export interface Share {
  /** carries what cannot be shared */
  readonly isFirst: boolean;
  readonly isAlone: boolean;
  /** what all of them that are settled have been paid */
  readonly paid: Amount;
}

/**
 * Pure and total: says what an entry does where it was applied, whether or not `whyImpossible` objects.
 * @param before undefined: nothing is known of the bet
 * @param share null: the entry acts on this bet alone
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
      return take(entry, { ...bet, stake: betAmount }, betAmount.minus(bet.stake));
    case "settleBets": {
      const payout = share === null || share.isFirst ? (entry.payoutAmount ?? ZERO) : ZERO;
      return settle(bet, entry, payout, settings, said);
    }
    case "winRewards":
      return reward({ ...bet, rewardOnly: before === undefined || bet.rewardOnly }, entry, said);
    case "cancelBets":
      return give(entry, makeVoid(bet, entry), bet.debited);
    case "voidSettled": {
      const asked = bet.stake.minus(bet.settlement).minus(bet.reward);
      return give(entry, { ...makeVoid(bet, entry), payoutReturned: true }, asked);
    }
    case "rollback":
      return before === undefined
        ? // The end is older than the ledger; a payout shows that the bet was settled.
          give(entry, bet, (entry.payoutAmount ?? ZERO).neg())
        : rollBack(bet, entry, share);
    case "placeTips":
      return take(entry, { ...bet, tip: true, status: "settled", stake: betAmount }, betAmount);
    case "cancelTips":
      return give(entry, { ...makeVoid(bet, entry), tip: true }, betAmount);
    case "adjustBalance":
      return give(entry, bet, ZERO);
  }
}

/** Takes a part of the stake from the player, or gives it back where negative. */
function take(entry: BetEntry, bet: BetState, amount: Amount): MoneyMove {
  if (entry.skipBalanceUpdate) return { bet, asked: ZERO, taken: ZERO };
  const debited = { ...bet, debited: bet.debited.plus(amount), wasDebited: true };
  return { bet: debited, asked: amount.neg(), taken: amount };
}

/**
 * Gives the player what is no stake, or takes it where negative, even below zero: what the provider undoes is undone.
 */
function give(entry: BetEntry, bet: BetState, amount: Amount): MoneyMove {
  return { bet, asked: entry.skipBalanceUpdate ? ZERO : amount, taken: ZERO };
}

/** Only a rollback makes an ended bet run again; a bet of rewards alone has not begun before its placement. */
function place(bet: BetState, entry: BetEntry, stake: Amount): MoneyMove {
  const waiting = entry.status === "WAITING";
  const amount = bet.waiting && !waiting ? stake.minus(bet.debited) : stake;
  const status = bet.rewardOnly ? "open" : bet.status;
  return take(entry, { ...bet, status, rewardOnly: false, placed: true, waiting, stake }, amount);
}

/** What was said before and moves nothing adds nothing: it is a repeat. */
function settle(
  bet: BetState,
  entry: BetEntry,
  payout: Amount,
  settings: RuleSettings,
  said: string,
): MoneyMove {
  const { betAmount, skipBalanceUpdate } = entry;
  const namesStake = !bet.placed && betAmount !== null && (bet.status === "open" || bet.stake.eq(ZERO));
  const debits = !bet.placed && !bet.wasDebited && isSingleState(entry, settings);
  const stake = debits ? (betAmount ?? ZERO) : ZERO;
  const asked = skipBalanceUpdate ? ZERO : debits ? payout.minus(stake) : payout;
  const isSaid = bet.said.includes(said);
  const isRepeat = isSaid && (entry.moved ?? asked).eq(ZERO);
  const isDebited = debits && !skipBalanceUpdate && !isRepeat;
  const settled: BetState = {
    ...bet,
    status: "settled",
    rewardOnly: false,
    waiting: false,
    stake: namesStake ? betAmount : bet.stake,
    settlement: isRepeat ? bet.settlement : bet.settlement.plus(payout),
    debited: isDebited ? bet.debited.plus(stake) : bet.debited,
    wasDebited: bet.wasDebited || isDebited,
    endRound: entry.endRound ?? true,
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
  return give(entry, next, amount);
}

function makeVoid(bet: BetState, entry: BetEntry): BetState {
  return { ...bet, status: "void", debited: entry.skipBalanceUpdate ? bet.debited : ZERO };
}

/**
 * The bet runs again: what its end paid is taken back, and a new generation begins, in which everything is possible.
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
  return give(entry, running, amount.neg());
}
