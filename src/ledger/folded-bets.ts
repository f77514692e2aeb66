/**
 * The bets while the fold applies their entries one by one. A bet has amounts for each of its currencies; the rest of its
 * state is shared. So a cancel in another currency asks for nothing that was never debited in it.
 */

import type { LedgerBet, MoneyInCurrency } from "../bet.ts";
import type { CallbackEntry } from "../callback.ts";
import type { Instant } from "../clock.ts";
import { type Amount, largerAmount, sumAmounts, ZERO } from "../money.ts";
import type { KnownBets } from "./apply-entry.ts";
import { beginsBet, isSingleState, type RuleSettings } from "./bet-entry.ts";
import { type BetState, beginBet } from "./bet-state.ts";
import type { Change } from "./change-bet.ts";

/** A bet while it is folded. */
export interface FoldingBet {
  readonly first: CallbackEntry;
  /** in the currency of the placement; before the placement, in the currency of the first entry */
  state: BetState;
  /** false: no entry of the bet has been possible yet, so the bet has not begun */
  begun: boolean;
  /** a single-state settle placed the bet */
  singleState: boolean;
  /** in the currency of `state` */
  largestStake: Amount;
  /** the number of amounts in settlement and reward */
  payouts: number;
  money: Money;
  /** what entries of other currencies declared and moved, by currency */
  readonly others: Map<string, Money & { amounts: Amounts }>;
  /** the number of entries in `moved` */
  movements: number;
  /** what partial settles (endRound false) of this generation have paid; null: there was no partial settle */
  paidInParts: Amount | null;
  settledByRound: boolean;
  /** the texts of `saidBy` in this generation, and whether the money of each has moved */
  readonly declared: Map<string, "moved" | "still to be moved">;
  lastEntryAt: Instant;
  lastReceivedAt: Instant;
}

/** `asked`: the sum of what the entries asked to move. */
type Money = Pick<MoneyInCurrency, "asked" | "moved">;

/** The part of a state that depends on the currency. The rest of the state holds for every currency. */
type Amounts = Pick<BetState, "stake" | "debited" | "wasDebited" | "settlement" | "reward" | "said">;

const NO_MONEY: Money = { asked: ZERO, moved: ZERO };
const NO_AMOUNTS: Amounts = {
  stake: ZERO,
  debited: ZERO,
  wasDebited: false,
  settlement: ZERO,
  reward: ZERO,
  said: [],
};

function amountsOf({ stake, debited, wasDebited, settlement, reward, said }: Amounts): Amounts {
  return { stake, debited, wasDebited, settlement, reward, said };
}

/** The bets folded so far, as the rules look them up. */
export class FoldedBets implements KnownBets {
  /** by txn id, in the order in which the bets began */
  readonly bets = new Map<string, FoldingBet>();
  /** by a txn id that only a BY_ROUND entry named: the bet that got the payout of that entry (decision 72) */
  readonly carriers = new Map<string, FoldingBet>();

  get(txnId: string): BetState | undefined {
    return begunState(this.bets.get(txnId));
  }

  carrierOf(txnId: string): BetState | undefined {
    return begunState(this.carriers.get(txnId));
  }

  inRound(roundId: string, currency: string): BetState[] {
    return this.#ofRound(roundId).filter((bet) => bet.currency === currency);
  }

  #ofRound(roundId: string): BetState[] {
    const found: BetState[] = [];
    for (const { state, begun } of this.bets.values()) {
      if (begun && state.roundId === roundId && !state.tip) found.push(state);
    }
    return found;
  }

  /**
   * The bets with their amounts in the entry's currency. If no bet of a round has that currency, the round's bets of
   * other currencies are found, unless the entry can begin a bet of its own.
   */
  inCurrencyOf(entry: CallbackEntry, settings: RuleSettings): KnownBets {
    const { currency } = entry;
    const canBegin = beginsBet(entry, settings);
    const translated = new Map<string, BetState>();
    const inIt = (state: BetState): BetState => {
      if (state.currency === currency) return state;
      const amounts = this.bets.get(state.txnId)?.others.get(currency)?.amounts ?? NO_AMOUNTS;
      const known = translated.get(state.txnId) ?? { ...state, ...amounts, currency };
      translated.set(state.txnId, known);
      return known;
    };
    const ifAny = (state: BetState | undefined) => state && inIt(state);
    return {
      get: (txnId) => ifAny(this.get(txnId)),
      carrierOf: (txnId) => ifAny(this.carrierOf(txnId)),
      inRound: (roundId) => {
        const own = this.inRound(roundId, currency);
        return own.length > 0 || canBegin ? own : this.#ofRound(roundId).map(inIt);
      },
    };
  }

  begin(entry: CallbackEntry, begun: boolean): FoldingBet {
    const bet: FoldingBet = {
      first: entry,
      state: beginBet(entry.txnId, entry.currency, entry.roundId),
      begun,
      singleState: false,
      largestStake: ZERO,
      payouts: 0,
      money: NO_MONEY,
      others: new Map(),
      movements: 0,
      paidInParts: null,
      settledByRound: false,
      declared: new Map(),
      lastEntryAt: entry.occurredAt,
      lastReceivedAt: entry.receivedAt,
    };
    this.bets.set(entry.txnId, bet);
    return bet;
  }
}

function begunState(bet: FoldingBet | undefined): BetState | undefined {
  return bet?.begun ? bet.state : undefined;
}

/**
 * Whether an entry declares something new. If two entries of one generation are equal, the one that moved nothing is
 * the repeat, even if it comes first (decision 26). An adjustment that skips the balance never moves money, so it is
 * never a repeat: its amount says whether the stake changes. Equal settles that skip the balance count once, even in
 * parts, because a retry looks the same as a part.
 */
export function isNewDeclaration(
  { declared, state }: FoldingBet,
  entry: CallbackEntry,
  { asked, said: text }: Change,
): boolean {
  const { callback, skipBalanceUpdate, moved } = entry;
  if (callback === "rollback" || (callback === "adjustBets" && skipBalanceUpdate)) return true;
  const said = entry.currency === state.currency ? text : `${text} ${entry.currency}`;
  const movedNothing = moved?.eq(ZERO) ?? false;
  const before = declared.get(said);
  if (before !== undefined && movedNothing) return false;
  declared.set(said, movedNothing && !asked.eq(ZERO) && before === undefined ? "still to be moved" : "moved");
  return before !== "still to be moved";
}

/** Applies what an entry changes in one bet. */
export function applyChange(
  bet: FoldingBet,
  change: Change,
  entry: CallbackEntry,
  isAlone: boolean,
  settings: RuleSettings,
): void {
  if (entry.callback === "rollback" && bet.state.status !== "open") {
    bet.settledByRound = false;
    bet.paidInParts = null;
    bet.declared.clear();
  }
  // A bet with only rewards was void and now begins, so it can become void once more (decision 26).
  if (bet.state.rewardOnly && !change.bet.rewardOnly) clearDeclaredEnds(bet.declared);
  if (entry.callback === "settleBets") {
    bet.settledByRound ||= !isAlone || bet.first.txnId !== entry.txnId;
    bet.singleState ||= !bet.state.placed && isSingleState(entry, settings);
    if (entry.endRound === false && change.bet.status === "open") {
      const isInCurrency = change.bet.currency === bet.state.currency;
      const part = isInCurrency ? change.bet.settlement.minus(bet.state.settlement) : ZERO;
      bet.paidInParts = (bet.paidInParts ?? ZERO).plus(part);
    }
  }
  if (isPlacement(bet, entry, settings)) switchCurrency(bet, entry.currency);
  if (change.bet.currency === bet.state.currency) {
    bet.state = change.bet;
    bet.largestStake = largerAmount(bet.largestStake, change.bet.stake);
  } else {
    const money = bet.others.get(change.bet.currency) ?? NO_MONEY;
    bet.others.set(change.bet.currency, { ...money, amounts: amountsOf(change.bet) });
    bet.state = { ...change.bet, ...amountsOf(bet.state), currency: bet.state.currency };
  }
  bet.begun = true;
}

function isPlacement(
  { state, singleState }: FoldingBet,
  entry: CallbackEntry,
  settings: RuleSettings,
): boolean {
  if (state.placed || state.tip) return false;
  const { callback } = entry;
  if (callback === "placeBets" || callback === "placeTips") return true;
  return callback === "settleBets" && singleState && isSingleState(entry, settings) && !state.wasDebited;
}

/** A bet has the currency of its placement, even if an entry in another currency came first. */
function switchCurrency(bet: FoldingBet, currency: string): void {
  const { state, money, others } = bet;
  if (state.currency === currency) return;
  const { amounts, ...own } = others.get(currency) ?? { ...NO_MONEY, amounts: NO_AMOUNTS };
  others.set(state.currency, { ...money, amounts: amountsOf(state) });
  others.delete(currency);
  bet.state = { ...state, ...amounts, currency };
  bet.largestStake = amounts.stake;
  bet.money = own;
}

function clearDeclaredEnds(declared: FoldingBet["declared"]): void {
  for (const said of declared.keys()) {
    if (said.startsWith("cancelBets ") || said.startsWith("voidSettled ")) declared.delete(said);
  }
}

/**
 * Gives each bet its part of the money that the wallet moved. If the wallet moved more or less than the entry asked
 * for, the difference goes to the first bet.
 */
export function shareMoved(
  bets: readonly FoldingBet[],
  asked: readonly Amount[],
  { currency, moved }: CallbackEntry,
): void {
  const rest = moved === null ? ZERO : moved.minus(sumAmounts(asked));
  for (const [index, bet] of bets.entries()) {
    const own = asked[index] ?? ZERO;
    const add = (money: Money): Money => ({
      asked: money.asked.plus(own),
      moved: money.moved.plus(index === 0 ? own.plus(rest) : own),
    });
    if (currency === bet.state.currency) bet.money = add(bet.money);
    else {
      const { amounts, ...money } = bet.others.get(currency) ?? { ...NO_MONEY, amounts: NO_AMOUNTS };
      bet.others.set(currency, { ...add(money), amounts });
    }
  }
}

/** Counts the amounts in a bet's sums, because the tolerance applies to each amount (decision 99). */
export function countAmounts(bet: FoldingBet, { callback }: CallbackEntry): void {
  bet.movements += 1;
  if (callback === "settleBets" || callback === "winRewards") bet.payouts += 1;
  if (callback === "rollback") bet.payouts = 0;
}

export function toLedgerBet(
  { first, state, ...bet }: FoldingBet,
  { nominalStakes = false }: { readonly nominalStakes?: boolean },
): LedgerBet {
  const placed = state.placed || bet.singleState;
  const isNominal = nominalStakes && placed && !state.wasDebited;
  return {
    productId: first.productId,
    username: first.username,
    currency: state.currency,
    txnId: first.txnId,
    roundId: state.roundId,
    status: state.status,
    stake: isNominal ? ZERO : state.stake,
    largestStake: isNominal ? ZERO : bet.largestStake,
    payout: state.settlement.plus(state.reward),
    reward: state.reward,
    payouts: Math.max(1, bet.payouts),
    moved: bet.money.moved,
    movements: bet.movements,
    asked: bet.money.asked,
    others: [...bet.others].map(([currency, { asked, moved, amounts }]) => ({
      currency,
      stake: amounts.stake,
      payout: amounts.settlement.plus(amounts.reward),
      reward: amounts.reward,
      asked,
      moved,
    })),
    paidInParts: bet.paidInParts,
    waiting: state.waiting && state.status === "open",
    placed,
    rewardOnly: state.rewardOnly,
    tip: state.tip,
    settledByRound: bet.settledByRound,
    firstEntryAt: first.occurredAt,
    lastEntryAt: bet.lastEntryAt,
    lastReceivedAt: bet.lastReceivedAt,
  };
}
