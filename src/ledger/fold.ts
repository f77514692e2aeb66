/** Folds callback entries into ledger bets, the ledger's account of each bet. */

import type { LedgerBet } from "../bet.ts";
import { CALLBACKS, type CallbackEntry, inLedgerOrder } from "../callback.ts";
import type { Instant } from "../clock.ts";
import { ReconError } from "../errors.ts";
import { type Amount, sumAmounts, ZERO } from "../money.ts";
import { applyEntry } from "./apply-entry.ts";
import { type RuleSettings, roundActedOn } from "./bet-entry.ts";
import { nameRound } from "./bet-state.ts";
import type { Change } from "./change-bet.ts";
import { findLatePlacements, inPossibleOrder } from "./entry-order.ts";
import {
  applyChange,
  countAmounts,
  FoldedBets,
  type FoldingBet,
  isNewDeclaration,
  shareMoved,
  toLedgerBet,
} from "./folded-bets.ts";

export interface FoldSettings extends RuleSettings {
  /**
   * a bet whose first entry is at this time or earlier was running when the ledger began, so its placement may be
   * missing; undefined: there are no such bets
   */
  readonly runningUntil?: Instant;
  /** a placement that skips the balance, and was never debited, has a stake of 0; the provider lists a nominal stake */
  readonly nominalStakes?: boolean;
}

/** The bets that an entry acts on. Money that cannot be split goes to the first bet. */
interface Scope {
  readonly targets: readonly FoldingBet[];
  /** one for each target; empty: the entry changes no bet, and the first target only gets the money that moved */
  readonly changes: readonly Change[];
  /** the amount that the entry asks for is known */
  readonly isCertain: boolean;
}

/**
 * Folds all entries of one player at one product, in any order, into ledger bets. adjustBalance entries belong to no
 * bet and are skipped.
 * @throws ReconError `bad-record` that names an entry with an unknown callback
 */
export function foldEntries(entries: readonly CallbackEntry[], settings: FoldSettings): LedgerBet[] {
  return foldAll(entries, settings).bets.map((bet) => toLedgerBet(bet, settings));
}

/**
 * The signed amount that each entry asks the wallet to move, by entryId. It replaces a null `moved`. A repeat asks
 * for 0.
 * @param entries as for `foldEntries`; an adjustBalance with DEBIT asks for a negative amount (§4.A8)
 * @returns empty if every entry has `moved`; entries whose amount is unknown are left out
 */
export function askedByEntry(entries: readonly CallbackEntry[], settings: FoldSettings): Map<string, Amount> {
  if (entries.every((entry) => entry.moved !== null)) return new Map();
  return foldAll(entries, settings).asked;
}

function foldAll(entries: readonly CallbackEntry[], settings: FoldSettings): Folded {
  for (const entry of entries) if (!KNOWN.has(entry.callback)) throw unknownCallback(entry);
  const inOrder = [...entries].sort(inLedgerOrder);
  const folded = foldInOrder(momentsOf(inOrder), settings);
  const early = findLatePlacements(inOrder, folded.bets, settings);
  if (early.size === 0) return folded;
  const timed = inOrder.map((entry) => ({ ...entry, ...early.get(entry), entry })).sort(inLedgerOrder);
  return foldInOrder(
    momentsOf(timed).map((moment) => moment.map(({ entry }) => entry)),
    settings,
  );
}

interface Folded {
  readonly bets: readonly FoldingBet[];
  readonly asked: Map<string, Amount>;
}

/** An entry that the fold has applied, with the bets that it acted on. */
interface FoldedEntry {
  readonly entry: CallbackEntry;
  readonly targets: readonly FoldingBet[];
  /** it declared something new, so it is no repeat */
  readonly counts: boolean;
}

/** Splits entries in ledger order into those with equal times. */
function momentsOf<Entry extends CallbackEntry>(inOrder: readonly Entry[]): Entry[][] {
  const moments: Entry[][] = [];
  let before: Entry | undefined;
  for (const entry of inOrder) {
    const isSame = before?.occurredAt === entry.occurredAt && before.receivedAt === entry.receivedAt;
    if (isSame) moments.at(-1)?.push(entry);
    else moments.push([entry]);
    before = entry;
  }
  return moments;
}

/** @param moments in order of time; the entries of each have equal times and are in ledger order */
function foldInOrder(moments: readonly (readonly CallbackEntry[])[], settings: FoldSettings): Folded {
  const ledger = new FoldedBets();
  const requests = new Map<string, FoldedEntry[]>();
  const references = new Set<string>();
  const asked = new Map<string, Amount>();
  const foldOne = (entry: CallbackEntry) => {
    if (entry.callback === "adjustBalance") {
      const amount = (entry.payoutAmount ?? ZERO).minus(entry.betAmount ?? ZERO);
      // A second adjustBalance with this reference and another amount is not a repeat.
      const reference = `${entry.status} ${amount.toFixed()} ${entry.txnId}`;
      const movesNothing = entry.skipBalanceUpdate || references.has(reference);
      asked.set(entry.entryId, movesNothing ? ZERO : amount);
      references.add(reference);
      return;
    }
    const { callback, requestId, txnId } = entry;
    const request = `${callback} ${requestId.length} ${requestId} ${txnId}`;
    const earlier = requests.get(request) ?? [];
    const before = earlier.find((folded) => haveSameContent(folded.entry, entry));
    // If the first of two copies was a repeat of an earlier request, the second copy counts, because it moved money.
    const isCopy = before !== undefined && (before.counts || !movedMoney(entry));
    const scope = isCopy
      ? { targets: before.targets, changes: [], isCertain: true }
      : scopeOf(ledger, entry, settings);
    const { amount, counts } = foldEntry(scope, entry, settings);
    const others = earlier.filter((folded) => folded !== before);
    if (!isCopy) requests.set(request, [...others, { entry, targets: scope.targets, counts }]);
    if (isKnown(scope, entry)) asked.set(entry.entryId, amount);
  };
  for (const moment of moments) {
    for (const entry of moment.length === 1 ? moment : inPossibleOrder(moment, ledger, settings))
      foldOne(entry);
  }
  return { bets: [...ledger.bets.values()], asked };
}

/** Whether two entries of one request and bet have the same content. If not, the request id was reused. */
function haveSameContent(a: CallbackEntry, b: CallbackEntry): boolean {
  const isSame = (one: Amount | null, other: Amount | null) =>
    one === null || other === null ? one === other : one.eq(other);
  return (
    a.status === b.status &&
    a.currency === b.currency &&
    a.roundId === b.roundId &&
    a.transactionType === b.transactionType &&
    a.singleState === b.singleState &&
    a.endRound === b.endRound &&
    a.skipBalanceUpdate === b.skipBalanceUpdate &&
    isSame(a.betAmount, b.betAmount) &&
    isSame(a.payoutAmount, b.payoutAmount)
  );
}

const KNOWN: ReadonlySet<string> = new Set(CALLBACKS);

/** Such a row bypassed the triggers of the table, for example in a superuser's session in the replica role. */
function unknownCallback({ entryId, callback }: CallbackEntry): ReconError {
  return new ReconError(
    "bad-record",
    `entry "${entryId}" of callback_entries has the callback "${callback}", which is none of ${CALLBACKS.join(", ")}. Its bet cannot be compared: set ledger.rowsChange to "replace", then correct or delete the row`,
  );
}

function movedMoney({ moved }: CallbackEntry): boolean {
  return moved !== null && !moved.eq(ZERO);
}

/**
 * Asks the rules what the entry does. An impossible entry counts too, because the operator answered it with success.
 * One exception: a settle without a placement whose own flag says that it is not single-state (decision 87).
 */
function scopeOf(ledger: FoldedBets, entry: CallbackEntry, settings: FoldSettings): Scope {
  const { bets, carriers } = ledger;
  const own = bets.get(entry.txnId);
  const round = roundActedOn(entry);
  // The bet belongs to this round even if no earlier entry of the bet named a round.
  if (own !== undefined && round !== null) own.state = nameRound(own.state, round);
  const known = ledger.inCurrencyOf(entry, settings);
  const { impossible, changes } = applyEntry(known, entry, settings);
  const [first] = changes;
  if (impossible === "not-placed" && entry.singleState === false && !ranBefore(own, entry, settings)) {
    return { targets: [own ?? ledger.begin(entry, false)], changes: [], isCertain: false };
  }
  if (first === undefined) {
    const bearer = own ?? bets.get(known.inRound(round ?? "", entry.currency)[0]?.txnId ?? "");
    return { targets: [bearer ?? ledger.begin(entry, false)], changes, isCertain: true };
  }
  const targets = changes.map(({ bet }) => bets.get(bet.txnId) ?? ledger.begin(entry, true));
  const [payee] = targets;
  if (round !== null && own === undefined && payee !== undefined && payee.first !== entry) {
    carriers.set(entry.txnId, payee);
  }
  return { targets, changes, isCertain: true };
}

function ranBefore(
  own: FoldingBet | undefined,
  entry: CallbackEntry,
  { runningUntil }: FoldSettings,
): boolean {
  return runningUntil !== undefined && (own?.first ?? entry).occurredAt <= runningUntil;
}

/**
 * Whether the amount that an entry asks for is known. A cancel, for example, gives back the stake, so its amount is
 * unknown if the ledger lacks the placement.
 */
function isKnown({ targets, isCertain }: Scope, { callback }: CallbackEntry): boolean {
  if (!isCertain) return false;
  const namesAmount = callback === "placeBets" || callback === "settleBets" || callback === "winRewards";
  return namesAmount || targets.every(({ state, singleState }) => state.placed || singleState || state.tip);
}

/** @returns the amount that the entry asks to move, and whether it is new (an entry that changes no bet counts as new) */
function foldEntry({ targets, changes }: Scope, entry: CallbackEntry, settings: FoldSettings) {
  let counts = changes.length === 0;
  const asked = targets.map((bet, index) => {
    const change = changes[index];
    if (change === undefined || !isNewDeclaration(bet, entry, change)) return ZERO;
    counts = true;
    applyChange(bet, change, entry, targets.length === 1, settings);
    return change.asked;
  });
  shareMoved(targets, asked, entry);
  for (const bet of targets) {
    countAmounts(bet, entry);
    bet.state = nameRound(bet.state, entry.roundId);
    bet.lastEntryAt = Math.max(bet.lastEntryAt, entry.occurredAt);
    bet.lastReceivedAt = Math.max(bet.lastReceivedAt, entry.receivedAt);
  }
  return { amount: sumAmounts(asked), counts };
}
