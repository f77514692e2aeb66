/** Folds callback entries into ledger bets: what the ledger says about each bet. */

import type { LedgerBet } from "../bet.ts";
import { realRound } from "../bet.ts";
import { type CallbackEntry, inLedgerOrder } from "../callback.ts";
import { type Amount, sumAmounts, ZERO } from "../money.ts";
import { beginBet, declareEntry, type Folding, type FoldSettings, type Share } from "./declare.ts";

interface Known {
  /** by txn id, in the order in which they began */
  readonly bets: Map<string, Folding>;
  /** by an id that only the end of a round was named by: the bet that carries what it said */
  readonly carriers: Map<string, Folding>;
}

/** The bets that an entry acts on; the first of them carries what cannot be shared. */
interface Scope {
  readonly targets: readonly Folding[];
  /** false: nothing is left to act on, and the first target only carries what was moved */
  readonly declares: boolean;
}

/**
 * The bets of one player at one product, from all their entries in any order.
 * adjustBalance entries belong to no bet and are passed over.
 */
export function foldEntries(entries: readonly CallbackEntry[], settings: FoldSettings): LedgerBet[] {
  return foldAll(entries, settings).bets.map(toLedgerBet);
}

/**
 * What each entry asks the wallet to move, signed, by entryId: what a null `moved` stands for. A repeat asks for nothing.
 * @param entries as of `foldEntries`; of adjustBalance a DEBIT takes its amount, a CREDIT gives it (§4.A8)
 * @returns empty where every entry says itself what moved; without those of which nobody can know
 */
export function askedByEntry(entries: readonly CallbackEntry[], settings: FoldSettings): Map<string, Amount> {
  if (entries.every((entry) => entry.moved !== null)) return new Map();
  return foldAll(entries, settings).asked;
}

function foldAll(entries: readonly CallbackEntry[], settings: FoldSettings) {
  const known: Known = { bets: new Map(), carriers: new Map() };
  const requests = new Map<string, readonly Folding[]>();
  const references = new Set<string>();
  const asked = new Map<string, Amount>();
  for (const entry of [...entries].sort(inLedgerOrder)) {
    if (entry.callback === "adjustBalance") {
      const amount = (entry.payoutAmount ?? ZERO).minus(entry.betAmount ?? ZERO);
      asked.set(entry.entryId, references.has(entry.txnId) ? ZERO : amount);
      references.add(entry.txnId);
      continue;
    }
    const request = JSON.stringify([entry.callback, entry.requestId, entry.txnId]);
    const repeated = requests.get(request);
    const scope =
      repeated === undefined ? scopeOf(known, entry, settings) : { targets: repeated, declares: false };
    requests.set(request, scope.targets);
    const amount = foldEntry(scope, entry, settings);
    if (isKnown(scope, entry, settings)) asked.set(entry.entryId, amount);
  }
  return { bets: [...known.bets.values()], asked };
}

/** What gives back, or takes the difference, asks for what the placement took: where it was never seen, nobody knows. */
function isKnown({ targets }: Scope, { callback }: CallbackEntry, { singleState }: FoldSettings): boolean {
  const stands = callback === "placeBets" || callback === "settleBets" || callback === "winRewards";
  return stands || singleState || targets.every((bet) => bet.placed || bet.tip);
}

/** @returns what the entry asks to be moved */
function foldEntry({ targets, declares }: Scope, entry: CallbackEntry, settings: FoldSettings): Amount {
  const share = shareOf(targets);
  const ends = targets.map((bet) => bet.status);
  const asked = targets.map((bet, index) =>
    declares ? declareOnce(bet, entry, { ...share, isFirst: index === 0 }, settings) : ZERO,
  );
  if (declares && entry.callback === "rollback" && targets.length > 1 && !entry.skipBalanceUpdate) {
    const whole = askedOfRound(entry, ends);
    asked[0] = (asked[0] ?? ZERO).plus(whole).minus(sumAmounts(asked));
  }
  shareMoved(targets, asked, entry.moved);
  for (const bet of targets) {
    bet.roundId ??= realRound(entry.roundId);
    bet.lastEntryAt = Math.max(bet.lastEntryAt, entry.occurredAt);
    bet.lastReceivedAt = Math.max(bet.lastReceivedAt, entry.receivedAt);
  }
  return sumAmounts(asked);
}

function scopeOf({ bets, carriers }: Known, entry: CallbackEntry, settings: FoldSettings): Scope {
  const own = bets.get(entry.txnId);
  const round = realRound(entry.roundId);
  if (entry.transactionType === "BY_ROUND" && round !== null && actsOnRounds(entry)) {
    const { currency } = entry;
    // The bet that is named is one of the round, whatever round it was placed in.
    if (own !== undefined) own.roundId ??= round;
    const inRound = [...bets.values()].filter(
      (bet) => bet.roundId === round && bet.first.currency === currency && !bet.tip,
    );
    const targets = inRound.filter((bet) => isActedOn(bet, own, entry));
    const first = targets.find((bet) => bet === own) ?? targets[0];
    if (first !== undefined) {
      if (own === undefined) carriers.set(entry.txnId, first);
      return { targets: [first, ...targets.filter((bet) => bet !== first)], declares: true };
    }
    const carrier = own ?? inRound[0];
    if (carrier !== undefined && entry.callback !== "settleBets")
      return { targets: [carrier], declares: false };
  }
  const found = own ?? (beginsBet(entry, settings) ? undefined : carriers.get(entry.txnId));
  if (found !== undefined) return { targets: [found], declares: true };
  const begun = beginBet(entry);
  bets.set(entry.txnId, begun);
  return { targets: [begun], declares: true };
}

/** Where its id is no bet yet; every other callback speaks of one that is known. */
function beginsBet({ callback }: CallbackEntry, { singleState }: FoldSettings): boolean {
  if (callback === "settleBets") return singleState;
  return callback === "placeBets" || callback === "winRewards" || callback === "placeTips";
}

function actsOnRounds({ callback }: CallbackEntry): boolean {
  return callback === "settleBets" || callback === "cancelBets" || callback === "rollback";
}

/** Of a round that is settled, the payout belongs to the bet that is named, although it may have ended before. */
function isActedOn(bet: Folding, own: Folding | undefined, entry: CallbackEntry): boolean {
  if (entry.callback === "rollback") return bet.status !== "open" && !bet.rewardOnly;
  if (bet.status === "open") return true;
  return entry.callback === "settleBets" && bet === own && bet.status === "settled";
}

function shareOf(targets: readonly Folding[]): Omit<Share, "isFirst"> {
  const settled = targets.filter((bet) => bet.status === "settled");
  const paid = sumAmounts(settled.map((bet) => bet.settlement.plus(bet.reward)));
  return { isAlone: targets.length === 1, paid };
}

/** What a rollback of several bets asks for all of them: its amounts are those of the round. */
function askedOfRound(entry: CallbackEntry, ends: readonly string[]): Amount {
  const ofSettled = ends.includes("settled") ? (entry.payoutAmount ?? ZERO) : ZERO;
  const ofVoid = ends.includes("void") ? (entry.betAmount ?? ZERO) : ZERO;
  return ofSettled.plus(ofVoid).neg();
}

/**
 * Of equal entries of one generation, one that moved nothing declares nothing new, whichever of them comes first.
 * A rollback begins a generation. @returns what the entry asks to be moved for the bet
 */
function declareOnce(bet: Folding, entry: CallbackEntry, share: Share, settings: FoldSettings): Amount {
  if (entry.callback === "rollback") return declareEntry(bet, entry, share, settings);
  const said = JSON.stringify([
    entry.callback,
    entry.status,
    entry.betAmount?.toFixed() ?? null,
    entry.payoutAmount?.toFixed() ?? null,
  ]);
  const movedNothing = entry.moved?.eq(ZERO) ?? false;
  const before = bet.declared.get(said);
  if (before !== undefined && movedNothing) return ZERO;
  bet.declared.set(said, "moved");
  if (before === "still to be moved") return ZERO;
  const asked = declareEntry(bet, entry, share, settings);
  if (movedNothing && !asked.eq(ZERO)) bet.declared.set(said, "still to be moved");
  return asked;
}

/** Each bet gets its part of what the wallet moved; what is over or short goes to the first. */
function shareMoved(bets: readonly Folding[], asked: readonly Amount[], moved: Amount | null): void {
  const rest = moved === null ? ZERO : moved.minus(sumAmounts(asked));
  for (const [index, bet] of bets.entries()) {
    const own = asked[index] ?? ZERO;
    bet.asked = bet.asked.plus(own);
    bet.moved = bet.moved.plus(index === 0 ? own.plus(rest) : own);
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
    asked: bet.asked,
    waiting: bet.waiting && bet.status === "open",
    placed: bet.placed,
    rewardOnly: bet.rewardOnly,
    tip: bet.tip,
    settledByRound: bet.settledByRound,
    firstEntryAt: first.occurredAt,
    lastEntryAt: bet.lastEntryAt,
    lastReceivedAt: bet.lastReceivedAt,
  };
}
