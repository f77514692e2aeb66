/** What one callback entry declares about one bet, and what it asks to be moved for it. */

import type { LedgerStatus } from "../bet.ts";
import { realRound } from "../bet.ts";
import type { CallbackEntry } from "../callback.ts";
import type { Instant } from "../clock.ts";
import { type Amount, ZERO } from "../money.ts";

export interface FoldSettings {
  /** a settle without a placement debits its betAmount as well */
  readonly singleState: boolean;
}

/** A bet while it is folded. */
export interface Folding {
  readonly first: CallbackEntry;
  roundId: string | null;
  status: LedgerStatus;
  stake: Amount;
  settlement: Amount;
  reward: Amount;
  /** of the stake, what entries asked to be taken from the player and not to be given back */
  debited: Amount;
  /** an entry that was not skipped has asked for the stake */
  wasDebited: boolean;
  /** it was settled when it became void: its payout was taken back with that */
  payoutReturned: boolean;
  moved: Amount;
  /** what the entries asked to be moved */
  asked: Amount;
  placed: boolean;
  waiting: boolean;
  tip: boolean;
  rewardOnly: boolean;
  settledByRound: boolean;
  /** what entries have said, and whether that moved anything; begins again at each rollback of an ended state */
  declared: Map<string, "moved" | "still to be moved">;
  lastEntryAt: Instant;
  lastReceivedAt: Instant;
}

/** How one bet stands among those that its entry acts on. */
export interface Share {
  /** carries what cannot be shared */
  readonly isFirst: boolean;
  readonly isAlone: boolean;
  /** what all of them that are settled have been paid */
  readonly paid: Amount;
}

/** A bet of which nothing is known but that this is its first entry. */
export function beginBet(entry: CallbackEntry): Folding {
  return {
    first: entry,
    roundId: realRound(entry.roundId),
    status: "open",
    stake: ZERO,
    settlement: ZERO,
    reward: ZERO,
    debited: ZERO,
    wasDebited: false,
    payoutReturned: false,
    moved: ZERO,
    asked: ZERO,
    placed: false,
    waiting: false,
    tip: false,
    rewardOnly: entry.callback === "winRewards",
    settledByRound: false,
    declared: new Map(),
    lastEntryAt: entry.occurredAt,
    lastReceivedAt: entry.receivedAt,
  };
}

/** Applies what an entry declares to a bet. @returns what it asks to be moved for this bet, signed; 0 where skipped */
export function declareEntry(
  bet: Folding,
  entry: CallbackEntry,
  share: Share,
  settings: FoldSettings,
): Amount {
  const asked = declare(bet, entry, share, settings);
  return entry.skipBalanceUpdate ? ZERO : asked;
}

function declare(bet: Folding, entry: CallbackEntry, share: Share, settings: FoldSettings): Amount {
  const betAmount = entry.betAmount ?? ZERO;
  const payoutAmount = share.isFirst ? (entry.payoutAmount ?? ZERO) : ZERO;
  switch (entry.callback) {
    case "placeBets":
      return declarePlacement(bet, entry, betAmount);
    case "adjustBets":
      return declareStake(bet, entry, betAmount);
    case "settleBets":
      bet.settledByRound ||= !share.isAlone || bet.first.txnId !== entry.txnId;
      return declareSettlement(bet, entry, payoutAmount, settings);
    case "winRewards":
      bet.reward = bet.reward.plus(payoutAmount);
      if (bet.rewardOnly && bet.status === "open") bet.status = "settled";
      return payoutAmount;
    case "cancelBets":
      return declareVoid(bet, entry, bet.debited);
    case "voidSettled": {
      const asked = bet.stake.minus(bet.settlement).minus(bet.reward);
      bet.payoutReturned = true;
      return declareVoid(bet, entry, asked);
    }
    case "rollback":
      return declareRollback(bet, entry, share);
    case "placeTips":
      Object.assign(bet, { tip: true, status: "settled", stake: betAmount });
      return betAmount.neg();
    case "cancelTips":
      bet.tip = true;
      return declareVoid(bet, entry, betAmount);
    case "adjustBalance":
      return ZERO;
  }
}

/** Only a rollback makes an ended bet run again; a bet of rewards alone has not begun before its placement. */
function declarePlacement(bet: Folding, entry: CallbackEntry, betAmount: Amount): Amount {
  const confirmsWaiting = bet.waiting && entry.status !== "WAITING";
  const asked = (confirmsWaiting ? betAmount.minus(bet.debited) : betAmount).neg();
  if (bet.rewardOnly) bet.status = "open";
  bet.rewardOnly = false;
  bet.placed = true;
  bet.waiting = entry.status === "WAITING";
  bet.stake = betAmount;
  debit(bet, entry, asked);
  return asked;
}

function declareStake(bet: Folding, entry: CallbackEntry, betAmount: Amount): Amount {
  const asked = bet.stake.minus(betAmount);
  bet.stake = betAmount;
  debit(bet, entry, asked);
  return asked;
}

function declareSettlement(
  bet: Folding,
  entry: CallbackEntry,
  payoutAmount: Amount,
  settings: FoldSettings,
): Amount {
  const namesStake = !bet.placed && (bet.status === "open" || bet.stake.eq(ZERO));
  if (namesStake && entry.betAmount !== null) bet.stake = entry.betAmount;
  const debits = settings.singleState && !bet.placed && !bet.wasDebited;
  bet.rewardOnly = false;
  bet.waiting = false;
  bet.status = "settled";
  bet.settlement = bet.settlement.plus(payoutAmount);
  if (!debits) return payoutAmount;
  const betAmount = entry.betAmount ?? ZERO;
  debit(bet, entry, betAmount.neg());
  return payoutAmount.minus(betAmount);
}

function declareVoid(bet: Folding, entry: CallbackEntry, asked: Amount): Amount {
  bet.status = "void";
  if (!entry.skipBalanceUpdate) bet.debited = ZERO;
  return asked;
}

/** The bet runs again: what the ended state paid is taken back, and a new generation begins. */
function declareRollback(bet: Folding, entry: CallbackEntry, share: Share): Amount {
  const payoutAmount = entry.payoutAmount ?? ZERO;
  // Its end is older than the ledger; a payout tells that it was settled.
  if (bet.first === entry) return payoutAmount.neg();
  if (bet.status === "open") return ZERO;
  const wasVoid = bet.status === "void";
  const takesReward = wasVoid ? bet.payoutReturned : payoutAmount.eq(share.paid);
  const ownPayout = takesReward ? bet.settlement.plus(bet.reward) : bet.settlement;
  const [ofEntry, own] = wasVoid ? [entry.betAmount ?? ZERO, bet.stake] : [payoutAmount, ownPayout];
  const asked = (share.isAlone ? ofEntry : own).neg();
  if (wasVoid) debit(bet, entry, asked);
  if (takesReward) bet.reward = ZERO;
  bet.settlement = ZERO;
  bet.payoutReturned = false;
  bet.status = "open";
  bet.waiting = false;
  bet.settledByRound = false;
  bet.declared = new Map();
  return asked;
}

/** @param asked signed: negative is taken from the player */
function debit(bet: Folding, entry: CallbackEntry, asked: Amount): void {
  if (entry.skipBalanceUpdate) return;
  bet.debited = bet.debited.minus(asked);
  bet.wasDebited = true;
}
