/**
 * Decides the answer to a callback request and the changes of the wallet. Pure: takes a player's state, and returns
 * the outcome.
 */

import { realRound } from "../bet.ts";
import type { Instant } from "../clock.ts";
import { type RuleSettings, roundActedOn } from "../ledger/bet-entry.ts";
import type { BetState } from "../ledger/bet-state.ts";
import { type Amount, isTooLong } from "../money.ts";
import { judgeItem } from "./judge-item.ts";
import type { CallbackRequest } from "./request.ts";
import { CallbackRefusal, type StatusCode } from "./status-code.ts";
import { type Tombstones, WalletBets, type WalletDraft } from "./wallet-draft.ts";

/** The state of a player in which a request is judged. */
export interface PlayerState {
  /** in the currency of the request; null: the player has no wallet of this currency */
  readonly balance: Amount | null;
  /** an earlier success, of any player, with the same product, callback and request id; null: none */
  readonly earlier: EarlierRequest | null;
  /** the bets that the items name, by id or by round, in the order of their beginnings */
  readonly bets: readonly BetState[];
  /** bets and rounds that were cancelled before they arrived */
  readonly tombstones: Tombstones;
  /** those txn ids of the items that an earlier adjustBalance of this player used (its refId), deleted ones too */
  readonly takenRefs: ReadonlySet<string>;
  readonly deleted: DeletedBets;
}

/** What the wallet knows of requests and bets that retention has deleted (decision 164). */
interface DeletedBets {
  /** requests of earlier time may have been deleted; null: none were */
  readonly before: Instant | null;
  /** those txn ids of the items whose bet was deleted */
  readonly txnIds: ReadonlySet<string>;
}

interface EarlierRequest {
  readonly digest: string;
  /** null: not read, because this callback has no replays */
  readonly answeredAt: Instant | null;
  readonly balanceBefore: Amount;
  readonly balanceAfter: Amount;
}

export interface AppliedCallback {
  readonly statusCode: 0;
  readonly balanceBefore: Amount;
  readonly balanceAfter: Amount;
  /** of a replay: the time of the first answer; null: not a replay */
  readonly answeredAt: Instant | null;
  /** null: a replay, which changes nothing */
  readonly changes: WalletChanges | null;
}

interface WalletChanges {
  /** the new state of every changed bet, new bets in the order of their beginnings */
  readonly bets: readonly BetState[];
  /** the signed change of the balance for each item, in order */
  readonly moved: readonly Amount[];
}

export interface RefusedCallback {
  readonly statusCode: Exclude<StatusCode, 0>;
  /** for the log; names the item where one item is refused */
  readonly reason: string;
  /** bets and rounds that were cancelled before they arrived: kept although the request fails */
  readonly tombstones: Tombstones;
}

export type CallbackOutcome = AppliedCallback | RefusedCallback;

/** Judges a request. A refused request changes nothing, but leaves tombstones for unknown bets that it cancels. */
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
        "timestampMillis is older than the requests that are kept, so this one may have been applied before",
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
 * Refuses a second item with the same id: the ledger identifies an entry by callback, request and txn id, and would
 * take the item for a repeat.
 */
function refuseSecondItem(): never {
  throw new CallbackRefusal(20002, "an earlier item has the same id");
}

function openDraft({ bets, tombstones, takenRefs, deleted }: PlayerState, balance: Amount): WalletDraft {
  return {
    balance,
    bets: new WalletBets(bets.map((bet) => [bet.txnId, bet])),
    tombstones,
    takenRefs: new Set(takenRefs),
    deletedTxnIds: deleted.txnIds,
  };
}

/** Answers a request whose id was answered with success before. A repeated adjustBalance is always refused (§7.4). */
function judgeRepeat({ callback, digest }: CallbackRequest, earlier: EarlierRequest): CallbackOutcome {
  if (callback !== "adjustBalance" && digest === earlier.digest) {
    const { balanceBefore, balanceAfter, answeredAt } = earlier;
    return { statusCode: 0, balanceBefore, balanceAfter, answeredAt, changes: null };
  }
  const reason =
    callback === "adjustBalance"
      ? "this adjustBalance was applied before"
      : "another request with this id was answered before, with another player, currency or items";
  return { statusCode: 20002, reason, tombstones: { bets: new Set(), rounds: new Set() } };
}

/** The unknown bets and rounds that a cancelBets names. */
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

/** The names in a request: its bets, the rounds that it acts on as a whole, and every real round of its items. */
export function namesOf({ callback, items }: CallbackRequest) {
  const isReal = (round: string | null) => round !== null;
  return {
    txnIds: [...new Set(items.map(({ txnId }) => txnId))],
    roundsActedOn: [...new Set(items.map((item) => roundActedOn({ ...item, callback })).filter(isReal))],
    rounds: [...new Set(items.map(({ roundId }) => realRound(roundId)).filter(isReal))],
  };
}
