/**
 * Decides the answer to a callback request and the changes of the wallet. Pure: takes a player's state, and returns the
 * outcome. The ledger's rules say what an item does to its bets (decision 87); the wallet checks that the money is there.
 */

import { realRound } from "../bet.ts";
import type { Instant } from "../clock.ts";
import { applyEntry, type KnownBets } from "../ledger/apply-entry.ts";
import { isSingleState, type RuleSettings, roundActedOn } from "../ledger/bet-entry.ts";
import { type BetState, nameRound } from "../ledger/bet-state.ts";
import { type Amount, isTooLong, sumAmounts, ZERO } from "../money.ts";
import { CallbackRefusal, refusalOf, type StatusCode } from "./answer.ts";
import type { CallbackItem, CallbackRequest } from "./request.ts";

/** The state of a player when a request is judged. */
export interface PlayerState {
  /** in the currency of the request; null: the player has no wallet of this currency */
  readonly balance: Amount | null;
  /** an earlier success, of any player, with the same product, callback and request id; null: none */
  readonly earlier: EarlierRequest | null;
  /** the bets that the items name, by id or by round, in the order in which they began */
  readonly bets: readonly BetState[];
  /** bets and rounds that were cancelled before they arrived */
  readonly tombstones: Tombstones;
  /** the items' refIds that an earlier adjustBalance of this player used, including deleted ones */
  readonly usedRefs: ReadonlySet<string>;
  readonly deleted: DeletedBets;
}

/** Requests and bets that retention has deleted (decision 164). */
interface DeletedBets {
  /** requests before this time may have been deleted; null: none were deleted */
  readonly before: Instant | null;
  /** the items' txn ids whose bet was deleted */
  readonly txnIds: ReadonlySet<string>;
}

interface EarlierRequest {
  readonly digest: string;
  /** null: not read, because this callback is never answered as a replay */
  readonly answeredAt: Instant | null;
  readonly balanceBefore: Amount;
  readonly balanceAfter: Amount;
}

export interface AppliedCallback {
  readonly statusCode: 0;
  readonly balanceBefore: Amount;
  readonly balanceAfter: Amount;
  /** the time of the first answer if this is a replay; null: not a replay */
  readonly answeredAt: Instant | null;
  /** null: a replay, which changes nothing */
  readonly changes: WalletChanges | null;
}

interface WalletChanges {
  /** the new state of every changed bet; new bets in the order in which they began */
  readonly bets: readonly BetState[];
  /** the signed change of the balance for each item, in order */
  readonly moved: readonly Amount[];
}

export interface RefusedCallback {
  readonly statusCode: Exclude<StatusCode, 0>;
  /** for the log; names the item if a single item is refused */
  readonly reason: string;
  /** bets and rounds that were cancelled before they arrived; stored although the request fails */
  readonly tombstones: Tombstones;
}

export type CallbackOutcome = AppliedCallback | RefusedCallback;

/** Judges a request. A refused request changes nothing, except that it leaves tombstones for unknown bets that it cancels. */
export function judgeRequest(
  request: CallbackRequest,
  state: PlayerState,
  settings: RuleSettings,
): CallbackOutcome {
  const none: Tombstones = { bets: new Set(), rounds: new Set() };
  if (state.balance === null) {
    return { statusCode: 10001, reason: "the player has no wallet of this currency", tombstones: none };
  }
  if (state.earlier !== null) return judgeRepeat(request, state.earlier);
  if (state.deleted.before !== null && request.occurredAt < state.deleted.before) {
    return {
      statusCode: 30001,
      reason:
        "timestampMillis is older than the oldest request that is kept, so this request may have been applied before",
      tombstones: none,
    };
  }
  const draft = openDraft(state, state.balance);
  const moved: Amount[] = [];
  const { items } = request;
  for (const [index, item] of items.entries()) {
    try {
      if (items.findIndex(({ txnId }) => txnId === item.txnId) < index) refuseSecondItem();
      moved.push(judgeItem(draft, request, item, settings));
    } catch (error) {
      if (!(error instanceof CallbackRefusal)) throw error;
      const reason = `txns[${index}] ${JSON.stringify(item.txnId)}: ${error.message}`;
      return { statusCode: error.statusCode, reason, tombstones: tombstonesToSet(request, state) };
    }
  }
  const before = new Set(state.bets);
  const bets = [...draft.bets.values()].filter((bet) => !before.has(bet));
  const sums = bets.flatMap(({ debited, settlement, reward }) => [debited, settlement, reward]);
  if ([draft.balance, ...moved, ...sums].some(isTooLong)) {
    return {
      statusCode: 30001,
      reason: "the balance, or an amount of a bet, would have too many digits",
      tombstones: none,
    };
  }
  return {
    statusCode: 0,
    balanceBefore: state.balance,
    balanceAfter: draft.balance,
    answeredAt: null,
    changes: { bets, moved },
  };
}

/**
 * Refuses a second item with the same id: the ledger identifies an entry by callback, request and txn id, and would treat
 * the item as a repeat.
 */
function refuseSecondItem(): never {
  throw new CallbackRefusal(20002, "an earlier item has the same id");
}

function openDraft({ bets, tombstones, usedRefs, deleted }: PlayerState, balance: Amount): WalletDraft {
  return {
    balance,
    bets: new WalletBets(bets.map((bet) => [bet.txnId, bet])),
    tombstones,
    usedRefs: new Set(usedRefs),
    deletedTxnIds: deleted.txnIds,
  };
}

/**
 * Answers a request whose id was answered with success before (decision 28). A repeated adjustBalance is always refused
 * (§7.4).
 */
function judgeRepeat({ callback, digest }: CallbackRequest, earlier: EarlierRequest): CallbackOutcome {
  if (callback !== "adjustBalance" && digest === earlier.digest) {
    const { balanceBefore, balanceAfter, answeredAt } = earlier;
    return { statusCode: 0, balanceBefore, balanceAfter, answeredAt, changes: null };
  }
  const reason =
    callback === "adjustBalance"
      ? "this adjustBalance was already applied"
      : "a request with this id but another player, currency or other items was answered before";
  return { statusCode: 20002, reason, tombstones: { bets: new Set(), rounds: new Set() } };
}

/** @returns the unknown bets and rounds that a cancelBets names */
function tombstonesToSet({ callback, items }: CallbackRequest, { bets }: PlayerState): Tombstones {
  const found = { bets: new Set<string>(), rounds: new Set<string>() };
  for (const item of callback === "cancelBets" ? items : []) {
    const round = roundActedOn({ ...item, callback });
    if (!bets.some((bet) => bet.txnId === item.txnId || (round !== null && bet.roundId === round))) {
      found.bets.add(item.txnId);
      if (round !== null) found.rounds.add(round);
    }
  }
  return found;
}

/** The ids in a request: its bets, the rounds that it acts on as a whole, and every real round of its items. */
export function namesOf({ callback, items }: CallbackRequest) {
  const isReal = (round: string | null) => round !== null;
  return {
    txnIds: [...new Set(items.map(({ txnId }) => txnId))],
    roundsActedOn: [...new Set(items.map((item) => roundActedOn({ ...item, callback })).filter(isReal))],
    rounds: [...new Set(items.map(({ roundId }) => realRound(roundId)).filter(isReal))],
  };
}

/**
 * Applies an item to the draft.
 * @returns the signed change of the balance
 * @throws CallbackRefusal if the item must not be applied; the caller must then discard the draft
 */
function judgeItem(
  draft: WalletDraft,
  { callback, currency }: CallbackRequest,
  item: CallbackItem,
  settings: RuleSettings,
): Amount {
  if (callback === "adjustBalance") return judgeBalance(draft, item);
  const own = draft.bets.get(item.txnId);
  if (own !== undefined) draft.bets.set(item.txnId, nameRound(own, item.roundId));
  const entry = { ...item, callback, currency, moved: null };
  const { impossible, changes } = applyEntry(draft.bets, entry, settings);
  if (impossible !== null) throw refusalOf(impossible);
  if (own === undefined) refuseDeleted(draft, item);
  for (const { bet, asked, taken, begins } of changes) {
    if (begins) refuseTombstone(draft, item);
    refuseShortage(draft, taken);
    draft.balance = draft.balance.plus(asked);
    draft.bets.set(bet.txnId, bet);
  }
  return sumAmounts(changes.map(({ asked }) => asked));
}

/** Applies an adjustBalance to the draft (§4.A8). */
function judgeBalance(draft: WalletDraft, item: CallbackItem): Amount {
  if (draft.usedRefs.has(item.txnId)) throw new CallbackRefusal(20002, "this refId was already used");
  draft.usedRefs.add(item.txnId);
  const moved = (item.payoutAmount ?? ZERO).minus(item.betAmount ?? ZERO);
  refuseShortage(draft, moved.neg());
  draft.balance = draft.balance.plus(moved);
  return moved;
}

/** A player's wallet while the items of one request are judged: each item sees the changes of the items before it. */
interface WalletDraft {
  balance: Amount;
  readonly bets: WalletBets;
  readonly tombstones: Tombstones;
  readonly usedRefs: Set<string>;
  /** ids of bets that retention has deleted */
  readonly deletedTxnIds: ReadonlySet<string>;
}

/** Bets and rounds that were cancelled before they arrived. */
interface Tombstones {
  readonly bets: ReadonlySet<string>;
  /** real rounds */
  readonly rounds: ReadonlySet<string>;
}

/** The bets of a wallet for the ledger's rules: by txn id, in the order in which they began. */
class WalletBets extends Map<string, BetState> implements KnownBets {
  inRound(roundId: string, currency: string): BetState[] {
    return [...this.values()].filter(
      (bet) => bet.roundId === roundId && bet.currency === currency && !bet.tip,
    );
  }

  /** The wallet never pays a bet under another bet's id. */
  carrierOf(): undefined {
    return undefined;
  }
}

/** Refuses an amount above the balance. An amount of 0 is always allowed, even with a negative balance. */
function refuseShortage({ balance }: WalletDraft, amount: Amount): void {
  if (amount.gt("0") && balance.lt(amount)) {
    throw new CallbackRefusal(
      10002,
      `the balance of ${balance.toFixed()} is less than the ${amount.toFixed()} to take`,
    );
  }
}

/** Whether a request can begin a bet that may have been cancelled before it arrived. */
export function readsTombstones({ callback, items }: CallbackRequest, settings: RuleSettings): boolean {
  if (callback === "placeBets") return true;
  return callback === "settleBets" && items.some((item) => isSingleState(item, settings));
}

function refuseTombstone({ tombstones }: WalletDraft, item: CallbackItem): void {
  const round = realRound(item.roundId);
  if (tombstones.bets.has(item.txnId) || (round !== null && tombstones.rounds.has(round))) {
    throw new CallbackRefusal(20003, "the bet was cancelled before it arrived");
  }
}

/** Refuses to begin a deleted bet again, because its money has moved (decision 164). */
function refuseDeleted({ deletedTxnIds }: WalletDraft, { txnId }: CallbackItem): void {
  if (deletedTxnIds.has(txnId))
    throw new CallbackRefusal(20002, "a bet with this id ended long ago, and was deleted");
}
