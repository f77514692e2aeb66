/** Folds callback entries into ledger bets: what the ledger says about each bet. */

import type { LedgerBet, LedgerStatus } from "../bet.ts";
import { realRound } from "../bet.ts";
import { type CallbackEntry, inLedgerOrder } from "../callback.ts";
import type { Instant } from "../clock.ts";
import { type Amount, sumAmounts, ZERO } from "../money.ts";

/** A bet while it is folded. */
interface Folding {
  readonly first: CallbackEntry;
  roundId: string | null;
  status: LedgerStatus;
  stake: Amount;
  settlement: Amount;
  reward: Amount;
  /** of the stake, what was taken from the player and not given back */
  debited: Amount;
  moved: Amount;
  placed: boolean;
  waiting: boolean;
  tip: boolean;
  rewardOnly: boolean;
  settledByRound: boolean;
  /** begins again at each rollback of an ended state */
  declared: Set<string>;
  lastEntryAt: Instant;
  lastReceivedAt: Instant;
}

export interface FoldSettings {
  /** a settle without a placement debits its betAmount as well */
  readonly singleState: boolean;
}

/**
 * The bets of one player at one product, from all their entries in any order.
 * adjustBalance entries belong to no bet and are passed over.
 */
export function foldEntries(entries: readonly CallbackEntry[], settings: FoldSettings): LedgerBet[] {
  const bets = new Map<string, Folding>();
  const requests = new Map<string, readonly Folding[]>();
  for (const entry of [...entries].sort(inLedgerOrder)) {
    if (entry.callback === "adjustBalance") continue;
    const request = JSON.stringify([entry.callback, entry.requestId, entry.txnId]);
    const repeated = requests.get(request);
    const targets = repeated ?? actedOn(bets, entry);
    requests.set(request, targets);
    foldEntry(targets, entry, repeated !== undefined, settings);
  }
  return [...bets.values()].map(toLedgerBet);
}

function foldEntry(
  targets: readonly Folding[],
  entry: CallbackEntry,
  isRepeat: boolean,
  settings: FoldSettings,
): void {
  const share = shareOf(targets);
  const asked = targets.map((bet) => {
    const declares = !isRepeat && !repeatsWithoutMoney(bet, entry);
    if (!declares) return ZERO;
    const amount = declare(bet, entry, { ...share, isFirst: bet === targets[0] }, settings);
    return entry.skipBalanceUpdate ? ZERO : amount;
  });
  shareMoved(targets, asked, entry.moved);
  for (const bet of targets) {
    bet.roundId ??= realRound(entry.roundId);
    bet.lastEntryAt = Math.max(bet.lastEntryAt, entry.occurredAt);
    bet.lastReceivedAt = Math.max(bet.lastReceivedAt, entry.receivedAt);
  }
}

/** The bets an entry acts on; the first of them carries what cannot be shared. */
function actedOn(bets: Map<string, Folding>, entry: CallbackEntry): Folding[] {
  const own = bets.get(entry.txnId);
  const round = realRound(entry.roundId);
  if (entry.transactionType === "BY_ROUND" && round !== null) {
    const inRound = [...bets.values()].filter((bet) => bet.roundId === round && isActedOnByRound(bet, entry));
    if (inRound.length > 0)
      return own !== undefined && inRound.includes(own)
        ? [own, ...inRound.filter((bet) => bet !== own)]
        : inRound;
  }
  if (own !== undefined) return [own];
  const begun = begin(entry);
  bets.set(entry.txnId, begun);
  return [begun];
}

function isActedOnByRound(bet: Folding, entry: CallbackEntry): boolean {
  if (entry.callback === "settleBets" || entry.callback === "cancelBets") return bet.status === "open";
  if (entry.callback === "rollback") return bet.status !== "open" && !bet.tip && !bet.rewardOnly;
  return bet.first.txnId === entry.txnId;
}

/** How one bet stands among those that its entry acts on. */
interface Share {
  /** carries what cannot be shared */
  readonly isFirst: boolean;
  readonly isAlone: boolean;
  /** what all of them together have been paid */
  readonly paid: Amount;
}

function shareOf(targets: readonly Folding[]): Omit<Share, "isFirst"> {
  const paid = sumAmounts(targets.map((bet) => bet.settlement.plus(bet.reward)));
  return { isAlone: targets.length === 1, paid };
}

function begin(entry: CallbackEntry): Folding {
  return {
    first: entry,
    roundId: realRound(entry.roundId),
    status: "open",
    stake: ZERO,
    settlement: ZERO,
    reward: ZERO,
    debited: ZERO,
    moved: ZERO,
    placed: false,
    waiting: false,
    tip: false,
    rewardOnly: entry.callback === "winRewards",
    settledByRound: false,
    declared: new Set(),
    lastEntryAt: entry.occurredAt,
    lastReceivedAt: entry.receivedAt,
  };
}

/** An equal entry of the same generation that moved no money declares nothing new. */
function repeatsWithoutMoney(bet: Folding, entry: CallbackEntry): boolean {
  const said = JSON.stringify([
    entry.callback,
    entry.status,
    entry.betAmount?.toFixed() ?? null,
    entry.payoutAmount?.toFixed() ?? null,
  ]);
  if (bet.declared.has(said)) return entry.moved?.eq(ZERO) ?? false;
  bet.declared.add(said);
  return false;
}

/** Applies what an entry declares to a bet. @returns what it asks to be moved, signed */
function declare(bet: Folding, entry: CallbackEntry, share: Share, settings: FoldSettings): Amount {
  const betAmount = entry.betAmount ?? ZERO;
  const payoutAmount = share.isFirst ? (entry.payoutAmount ?? ZERO) : ZERO;
  switch (entry.callback) {
    case "placeBets":
      return declarePlacement(bet, entry, betAmount);
    case "adjustBets":
      return declareStake(bet, entry, betAmount);
    case "settleBets":
      bet.settledByRound = !share.isAlone;
      return declareSettlement(bet, entry, betAmount, payoutAmount, settings);
    case "winRewards":
      bet.reward = bet.reward.plus(payoutAmount);
      if (bet.rewardOnly) bet.status = "settled";
      return payoutAmount;
    case "cancelBets":
      return declareVoid(bet, bet.debited);
    case "voidSettled":
      return declareVoid(bet, bet.stake.minus(bet.settlement).minus(bet.reward));
    case "rollback":
      return declareRollback(bet, entry, share);
    case "placeTips":
      Object.assign(bet, { tip: true, status: "settled", stake: betAmount });
      return betAmount.neg();
    case "cancelTips":
      Object.assign(bet, { tip: true });
      return declareVoid(bet, betAmount);
    case "adjustBalance":
      return ZERO;
  }
}

function declarePlacement(bet: Folding, entry: CallbackEntry, betAmount: Amount): Amount {
  const confirmsWaiting = bet.waiting && entry.status !== "WAITING";
  const asked = (confirmsWaiting ? betAmount.minus(bet.debited) : betAmount).neg();
  bet.stake = betAmount;
  bet.placed = true;
  bet.rewardOnly = false;
  bet.waiting = entry.status === "WAITING";
  if (!entry.skipBalanceUpdate) bet.debited = bet.debited.minus(asked);
  return asked;
}

function declareStake(bet: Folding, entry: CallbackEntry, betAmount: Amount): Amount {
  const asked = bet.stake.minus(betAmount);
  bet.stake = betAmount;
  if (!entry.skipBalanceUpdate) bet.debited = bet.debited.minus(asked);
  return asked;
}

function declareSettlement(
  bet: Folding,
  entry: CallbackEntry,
  betAmount: Amount,
  payoutAmount: Amount,
  settings: FoldSettings,
): Amount {
  const neverDebited = !bet.placed && bet.status === "open";
  if (neverDebited) bet.stake = betAmount;
  bet.rewardOnly = false;
  bet.status = "settled";
  bet.settlement = bet.settlement.plus(payoutAmount);
  if (!neverDebited || !settings.singleState) return payoutAmount;
  if (!entry.skipBalanceUpdate) bet.debited = betAmount;
  return payoutAmount.minus(betAmount);
}

function declareVoid(bet: Folding, asked: Amount): Amount {
  bet.status = "void";
  bet.debited = ZERO;
  return asked;
}

/** The bet runs again: what the ended state paid is taken back, and a new generation begins. */
function declareRollback(bet: Folding, entry: CallbackEntry, share: Share): Amount {
  if (bet.status === "open") return ZERO;
  const payoutAmount = entry.payoutAmount ?? ZERO;
  const takesReward = payoutAmount.eq(share.paid);
  const ownPayout = takesReward ? bet.settlement.plus(bet.reward) : bet.settlement;
  const [ofEntry, own] =
    bet.status === "void" ? [entry.betAmount ?? ZERO, bet.stake] : [payoutAmount, ownPayout];
  const asked = share.isAlone ? ofEntry : own;
  if (bet.status === "void") bet.debited = asked;
  if (takesReward) bet.reward = ZERO;
  bet.settlement = ZERO;
  bet.status = "open";
  bet.settledByRound = false;
  bet.declared = new Set();
  return asked.neg();
}

/** Each bet gets its part of what the wallet moved; what is over or short goes to the first. */
function shareMoved(bets: readonly Folding[], asked: readonly Amount[], moved: Amount | null): void {
  const rest = moved === null ? ZERO : moved.minus(sumAmounts(asked));
  for (const [index, bet] of bets.entries()) {
    const part = (asked[index] ?? ZERO).plus(index === 0 ? rest : ZERO);
    bet.moved = bet.moved.plus(part);
  }
}

function toLedgerBet(bet: Folding): LedgerBet {
  const { first } = bet;
  return {
    productId: first.productId,
    username: first.username,
    currency: first.currency,
    txnId: first.txnId,
    roundId: bet.roundId,
    status: bet.status,
    stake: bet.stake,
    payout: bet.settlement.plus(bet.reward),
    moved: bet.moved,
    placed: bet.placed,
    rewardOnly: bet.rewardOnly,
    tip: bet.tip,
    settledByRound: bet.settledByRound,
    firstEntryAt: first.occurredAt,
    lastEntryAt: bet.lastEntryAt,
    lastReceivedAt: bet.lastReceivedAt,
  };
}
