/** Folds callback entries into ledger bets: what the ledger says about each bet. */

import type { LedgerBet } from "../bet.ts";
import { type CallbackEntry, inLedgerOrder } from "../callback.ts";
import type { Instant } from "../clock.ts";
import { type Amount, sumAmounts, ZERO } from "../money.ts";
import { applyEntry, type KnownBets } from "./apply-entry.ts";
import { isSingleState, type RuleSettings, roundActedOn } from "./bet-entry.ts";
import { type BetState, beginBet, nameRound } from "./bet-state.ts";
import type { Change } from "./change-bet.ts";

export interface FoldSettings extends RuleSettings {
  /** a bet whose first entry is not later ran when the ledger began: its placement is older; undefined: none did */
  readonly runningUntil?: Instant;
}

/** A bet while it is folded. */
interface Folding {
  readonly first: CallbackEntry;
  state: BetState;
  /** false: nothing that was said of it was possible, and nothing has begun */
  begun: boolean;
  /** a single-state settle placed it */
  singleState: boolean;
  /** how many amounts settlement and reward are the sum of */
  payouts: number;
  moved: Amount;
  /** how many entries `moved` is the sum of */
  movements: number;
  /** what the entries asked to be moved */
  asked: Amount;
  settledByRound: boolean;
  /** what entries have said, and whether that moved anything; begins again at each rollback of an ended state */
  readonly declared: Map<string, "moved" | "still to be moved">;
  lastEntryAt: Instant;
  lastReceivedAt: Instant;
}

/** The bets that an entry acts on; the first of them carries what cannot be shared. */
interface Scope {
  readonly targets: readonly Folding[];
  /** of each target; none: nothing is left to act on, and the first target only carries what was moved */
  readonly changes: readonly Change[];
  /** what the entry asks for is known */
  readonly isCertain: boolean;
}

/**
 * The bets of one player at one product, from all their entries in any order.
 * adjustBalance entries belong to no bet and are passed over.
 */
export function foldEntries(entries: readonly CallbackEntry[], settings: FoldSettings): LedgerBet[] {
  return foldAll(entries, settings).bets.map(toLedgerBet);
}

/**
 * What each entry asks the wallet to move, signed, by entryId: what a null `moved` stands for. A repeat asks for
 * nothing.
 * @param entries as of `foldEntries`; of adjustBalance a DEBIT takes its amount, a CREDIT gives it (§4.A8)
 * @returns empty where every entry says itself what moved; without those of which nobody can know
 */
export function askedByEntry(entries: readonly CallbackEntry[], settings: FoldSettings): Map<string, Amount> {
  if (entries.every((entry) => entry.moved !== null)) return new Map();
  return foldAll(entries, settings).asked;
}

function foldAll(entries: readonly CallbackEntry[], settings: FoldSettings) {
  const ledger = new FoldedBets();
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
    const { callback, requestId, txnId } = entry;
    const request = `${callback} ${requestId.length} ${requestId} ${txnId}`;
    const repeated = requests.get(request);
    const scope =
      repeated === undefined
        ? scopeOf(ledger, entry, settings)
        : { targets: repeated, changes: [], isCertain: true };
    requests.set(request, scope.targets);
    const amount = foldEntry(scope, entry, settings);
    if (isKnown(scope, entry)) asked.set(entry.entryId, amount);
  }
  return { bets: [...ledger.bets.values()], asked };
}

/** The bets as the rules see them. */
class FoldedBets implements KnownBets {
  /** by txn id, in the order in which they began */
  readonly bets = new Map<string, Folding>();
  /** by an id that only the end of a round was named by: the bet that carries what it said */
  readonly carriers = new Map<string, Folding>();

  get(txnId: string): BetState | undefined {
    return begunState(this.bets.get(txnId));
  }

  carrierOf(txnId: string): BetState | undefined {
    return begunState(this.carriers.get(txnId));
  }

  inRound(roundId: string, currency: string): BetState[] {
    const found: BetState[] = [];
    for (const { state, begun } of this.bets.values()) {
      if (begun && state.roundId === roundId && state.currency === currency && !state.tip) found.push(state);
    }
    return found;
  }
}

function begunState(bet: Folding | undefined): BetState | undefined {
  return bet?.begun ? bet.state : undefined;
}

/**
 * The rules are asked what the entry does. An entry that is not possible was answered with success all the same, so
 * it did what the rules say of it, but for a settle without a placement that says itself that it is not single-state.
 */
function scopeOf(ledger: FoldedBets, entry: CallbackEntry, settings: FoldSettings): Scope {
  const { bets, carriers } = ledger;
  const own = bets.get(entry.txnId);
  const round = roundActedOn(entry);
  // The bet that is named is one of the round, whatever round it was placed in.
  if (own !== undefined && round !== null) own.state = nameRound(own.state, round);
  const { impossible, changes } = applyEntry(ledger, entry, settings);
  const [first] = changes;
  if (impossible === "not-placed" && entry.singleState === false && !ranBefore(own, entry, settings)) {
    return { targets: [own ?? begin(bets, entry, false)], changes: [], isCertain: false };
  }
  if (first === undefined) {
    const bearer = own ?? bets.get(ledger.inRound(round ?? "", entry.currency)[0]?.txnId ?? "");
    return { targets: [bearer ?? begin(bets, entry, false)], changes, isCertain: true };
  }
  const targets = changes.map(({ bet }) => bets.get(bet.txnId) ?? begin(bets, entry, true));
  const [payee] = targets;
  if (round !== null && own === undefined && payee !== undefined && payee.first !== entry) {
    carriers.set(entry.txnId, payee);
  }
  return { targets, changes, isCertain: true };
}

function begin(bets: Map<string, Folding>, entry: CallbackEntry, begun: boolean): Folding {
  const bet: Folding = {
    first: entry,
    state: beginBet(entry.txnId, entry.currency, entry.roundId),
    begun,
    singleState: false,
    payouts: 0,
    moved: ZERO,
    movements: 0,
    asked: ZERO,
    settledByRound: false,
    declared: new Map(),
    lastEntryAt: entry.occurredAt,
    lastReceivedAt: entry.receivedAt,
  };
  bets.set(entry.txnId, bet);
  return bet;
}

function ranBefore(own: Folding | undefined, entry: CallbackEntry, { runningUntil }: FoldSettings): boolean {
  return runningUntil !== undefined && (own?.first ?? entry).occurredAt <= runningUntil;
}

/**
 * An entry that gives back the stake, or takes a difference, depends on the placement: without the placement the
 * amount is unknown.
 */
function isKnown({ targets, isCertain }: Scope, { callback }: CallbackEntry): boolean {
  if (!isCertain) return false;
  const stands = callback === "placeBets" || callback === "settleBets" || callback === "winRewards";
  return stands || targets.every(({ state, singleState }) => state.placed || singleState || state.tip);
}

/** @returns what the entry asks to be moved */
function foldEntry({ targets, changes }: Scope, entry: CallbackEntry, settings: FoldSettings): Amount {
  const asked = targets.map((bet, index) => {
    const change = changes[index];
    if (change === undefined || !declaresAnew(bet, entry, change)) return ZERO;
    adopt(bet, change, entry, targets.length === 1, settings);
    return change.asked;
  });
  shareMoved(targets, asked, entry.moved);
  for (const bet of targets) {
    countAmounts(bet, entry);
    bet.state = nameRound(bet.state, entry.roundId);
    bet.lastEntryAt = Math.max(bet.lastEntryAt, entry.occurredAt);
    bet.lastReceivedAt = Math.max(bet.lastReceivedAt, entry.receivedAt);
  }
  return sumAmounts(asked);
}

/**
 * Of equal entries of one generation, an entry that moved nothing declares nothing new, whichever of them comes first. An
 * adjustment that skips the balance never moves anything: its amount decides whether it declares something new.
 */
function declaresAnew({ declared }: Folding, entry: CallbackEntry, { asked, said }: Change): boolean {
  const { callback, skipBalanceUpdate, moved } = entry;
  if (callback === "rollback" || (callback === "adjustBets" && skipBalanceUpdate)) return true;
  const movedNothing = moved?.eq(ZERO) ?? false;
  const before = declared.get(said);
  if (before !== undefined && movedNothing) return false;
  declared.set(said, movedNothing && !asked.eq(ZERO) && before === undefined ? "still to be moved" : "moved");
  return before !== "still to be moved";
}

function adopt(
  bet: Folding,
  change: Change,
  entry: CallbackEntry,
  isAlone: boolean,
  settings: FoldSettings,
): void {
  if (entry.callback === "rollback" && bet.state.status !== "open") {
    bet.settledByRound = false;
    bet.declared.clear();
  }
  if (entry.callback === "settleBets") {
    bet.settledByRound ||= !isAlone || bet.first.txnId !== entry.txnId;
    bet.singleState ||= !bet.state.placed && isSingleState(entry, settings);
  }
  bet.state = change.bet;
  bet.begun = true;
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

/** A tolerance holds for each amount: of a sum it must be known how many there are. */
function countAmounts(bet: Folding, { callback }: CallbackEntry): void {
  bet.movements += 1;
  if (callback === "settleBets" || callback === "winRewards") bet.payouts += 1;
  if (callback === "rollback") bet.payouts = 0;
}

function toLedgerBet({ first, state, ...bet }: Folding): LedgerBet {
  return {
    productId: first.productId,
    username: first.username,
    currency: first.currency,
    txnId: first.txnId,
    roundId: state.roundId,
    status: state.status,
    stake: state.stake,
    payout: state.settlement.plus(state.reward),
    payouts: Math.max(1, bet.payouts),
    moved: bet.moved,
    movements: bet.movements,
    asked: bet.asked,
    waiting: state.waiting && state.status === "open",
    placed: state.placed || bet.singleState,
    rewardOnly: state.rewardOnly,
    tip: state.tip,
    settledByRound: bet.settledByRound,
    firstEntryAt: first.occurredAt,
    lastEntryAt: bet.lastEntryAt,
    lastReceivedAt: bet.lastReceivedAt,
  };
}
