/**
 * The heart of the built-in wallet: what a callback request is answered, and what it changes. Pure: the state of a
 * player goes in, an answer and the new state come out, so that every rule can be seen, and driven, without a server.
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

/** What is known of a player when a request of theirs is judged. */
export interface PlayerState {
  /** in the currency of the request; null: the player has no wallet of it */
  readonly balance: Amount | null;
  /** a request with this callback and id that was answered with success; null: there was none */
  readonly earlier: EarlierRequest | null;
  /** those the items name, by id or by round, in the order in which they began */
  readonly bets: readonly BetState[];
  /** what was cancelled before it arrived */
  readonly tombstones: Tombstones;
  /** of the items' refIds, those that an adjustBalance has taken */
  readonly takenRefs: ReadonlySet<string>;
}

interface EarlierRequest {
  readonly digest: string;
  /** null: not known, where it is no replay that asks */
  readonly answeredAt: Instant | null;
  readonly balanceBefore: Amount;
  readonly balanceAfter: Amount;
}

export interface AppliedCallback {
  readonly statusCode: 0;
  readonly balanceBefore: Amount;
  readonly balanceAfter: Amount;
  /** of a replay: when its first answer was given; null: now */
  readonly answeredAt: Instant | null;
  /** null: a replay, whose first answer is given again; nothing changes */
  readonly changes: WalletChanges | null;
}

interface WalletChanges {
  /** the new state of every bet that was touched, new ones in the order in which they began */
  readonly bets: readonly BetState[];
  /** the signed change of the balance made for each item, in their order */
  readonly moved: readonly Amount[];
}

export interface RefusedCallback {
  readonly statusCode: Exclude<StatusCode, 0>;
  /** names the item and says why, for the log */
  readonly reason: string;
  /** what was cancelled before it arrived: kept although the request fails */
  readonly tombstones: Tombstones;
}

export type CallbackOutcome = AppliedCallback | RefusedCallback;

/** Nothing of a request that fails is applied, but what it cancelled in vain is remembered. */
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
      return { statusCode: error.statusCode, reason, tombstones: tombstonesOf(request, state) };
    }
  }
  const before = new Set(state.bets);
  const bets = [...draft.bets.values()].filter((bet) => !before.has(bet));
  const sums = bets.flatMap(({ debited, settlement, reward }) => [debited, settlement, reward]);
  if ([draft.balance, ...moved, ...sums].some(isTooLong)) {
    return { statusCode: 30001, reason: "the balance would have too many digits", tombstones: none };
  }
  return {
    statusCode: 0,
    balanceBefore: state.balance,
    balanceAfter: draft.balance,
    answeredAt: null,
    changes: { bets, moved },
  };
}

/** The ledger knows an entry by its callback, request and txn id: it would take the second one for a repeat. */
function refuseSecondItem(): never {
  throw new CallbackRefusal(20002, "an item before it has the same id");
}

function openDraft({ bets, tombstones, takenRefs }: PlayerState, balance: Amount): WalletDraft {
  return {
    balance,
    bets: new WalletBets(bets.map((bet) => [bet.txnId, bet])),
    tombstones,
    takenRefs: new Set(takenRefs),
  };
}

/** A taken refId is refused whatever comes with it (§7.4). */
function judgeRepeat({ callback, digest }: CallbackRequest, earlier: EarlierRequest): CallbackOutcome {
  if (callback !== "adjustBalance" && digest === earlier.digest) {
    const { balanceBefore, balanceAfter, answeredAt } = earlier;
    return { statusCode: 0, balanceBefore, balanceAfter, answeredAt, changes: null };
  }
  const reason =
    callback === "adjustBalance"
      ? "this adjustBalance was taken before"
      : "another request with this id was answered before, with another player, currency or items";
  return { statusCode: 20002, reason, tombstones: { bets: new Set(), rounds: new Set() } };
}

/** Every bet and round of a cancel of which nothing is known. */
function tombstonesOf({ callback, items }: CallbackRequest, { bets }: PlayerState): Tombstones {
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

/** What a request names: its bets, the rounds it acts on as a whole, and every real round of its items. */
export function namesOf({ callback, items }: CallbackRequest) {
  const isReal = (round: string | null) => round !== null;
  return {
    txnIds: [...new Set(items.map(({ txnId }) => txnId))],
    roundsActedOn: [...new Set(items.map((item) => roundActedOn({ ...item, callback })).filter(isReal))],
    rounds: [...new Set(items.map(({ roundId }) => realRound(roundId)).filter(isReal))],
  };
}
