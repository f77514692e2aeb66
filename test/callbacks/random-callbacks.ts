/** Random requests with few ids, so they collide: all callbacks, with repeats, odd amounts and odd rounds. */

import fc from "fast-check";
import { CALLBACKS } from "../../src/callback.ts";
import { digits } from "./operator.ts";
import type { ModelItem, ModelRequest } from "./wallet-model.ts";

const AMOUNTS = [
  "0",
  "1",
  "2.5",
  "5",
  "10",
  "0.1",
  "1e1",
  "9.999999999999999999",
  "0.0000000000000000000000001",
];
const item = fc.record({
  id: fc.constantFrom("a", "b", "c", "d"),
  /** WAITING or OPEN for a placement, DEBIT or CREDIT for adjustBalance */
  isFirstStatus: fc.boolean(),
  roundId: fc.constantFrom("r1", "r1", "r1", "r2", "UNKNOWN", ""),
  betAmount: fc.constantFrom(...AMOUNTS),
  namesStake: fc.boolean(),
  payoutAmount: fc.constantFrom(...AMOUNTS),
  byRound: fc.boolean(),
  skip: fc.constantFrom(true, false, false, false, false),
  isEndRound: fc.constantFrom(true, true, false),
  settlementId: fc.constantFrom(null, null, "s1", "s2"),
  isSingleState: fc.constantFrom(null, null, true, false),
  /** transactionType that means BY_TRANSACTION; undefined leaves the field out */
  ownType: fc.constantFrom("BY_TRANSACTION", "BY_BET", "", null, undefined),
});

/** A request without player and request id. */
export const step = fc.record({
  callback: fc.constantFrom(...CALLBACKS, "placeBets", "placeBets", "settleBets", "rollback"),
  player: fc.constantFrom(0, 0, 1),
  productId: fc.constantFrom("P1", "P1", "S1"),
  currency: fc.constantFrom("THB", "THB", "THB", "THB", "USD"),
  items: fc.array(item, { minLength: 1, maxLength: 3 }),
  /** counted backwards, the earlier request that this one repeats: unchanged, or with one field of both changed */
  repeats: fc.option(
    fc.record({ back: fc.integer({ min: 1, max: 6 }), what: fc.constantFrom("all", "content", "id") }),
    { freq: 3 },
  ),
});
export type Step = typeof step extends fc.Arbitrary<infer Value> ? Value : never;

const ACTS_ON_ROUNDS = ["settleBets", "cancelBets", "voidSettled", "rollback"];
const NAMES_STAKE = ["placeBets", "adjustBets", "placeTips", "cancelTips", "cancelBets", "rollback"];

/** The requests of a run. Each run has its own names and ids. @param ids prefix of request ids */
export function toRequests(steps: readonly Step[], run: string, ids = run): ModelRequest[] {
  const requests: ModelRequest[] = [];
  for (const [index, one] of steps.entries()) {
    const earlier = one.repeats === null ? undefined : requests[requests.length - one.repeats.back];
    const fresh = toRequest(one, run, `${ids}-${index}`);
    if (earlier === undefined || one.repeats === null) requests.push(fresh);
    else if (one.repeats.what === "all") requests.push(earlier);
    else if (one.repeats.what === "content") requests.push({ ...earlier, requestId: fresh.requestId });
    else requests.push({ ...fresh, requestId: earlier.requestId });
  }
  return requests;
}

function toRequest(one: Step, run: string, requestId: string): ModelRequest {
  const { callback, productId, currency } = one;
  return {
    callback,
    requestId,
    productId,
    singleState: productId === "S1",
    username: `${run}-${one.player}`,
    currency,
    items: one.items.map((asked) => toItem(callback, asked)),
  };
}

const UNFLAGGED = { isEndRound: true, settlementId: null, isSingleState: null, ownType: undefined } as const;

function toItem(callback: string, asked: Step["items"][number]): ModelItem {
  const skip = asked.skip && callback !== "adjustBalance";
  const first = asked.isFirstStatus;
  const byRound = asked.byRound && ACTS_ON_ROUNDS.includes(callback);
  if (callback === "adjustBalance") {
    const status = first ? "DEBIT" : "CREDIT";
    const [betAmount, payoutAmount] = first ? [asked.betAmount, null] : [null, asked.betAmount];
    return { ...UNFLAGGED, id: asked.id, status, roundId: "", betAmount, payoutAmount, byRound, skip };
  }
  const named = NAMES_STAKE.includes(callback) || (asked.namesStake && callback !== "winRewards");
  return {
    id: callback.endsWith("Tips") && asked.namesStake ? `tip-${asked.id}` : asked.id,
    status: statusOf(callback, first),
    roundId: asked.roundId,
    betAmount: named ? asked.betAmount : null,
    payoutAmount:
      named && NAMES_STAKE.includes(callback) && callback !== "rollback" ? null : asked.payoutAmount,
    byRound,
    skip,
    isEndRound: asked.isEndRound,
    settlementId: callback === "settleBets" ? asked.settlementId : null,
    isSingleState: callback === "settleBets" ? asked.isSingleState : null,
    ownType: asked.ownType,
  };
}

/** One of the allowed values of an item's status. */
function statusOf(callback: string, first: boolean): string {
  if (callback === "placeBets") return first ? "WAITING" : "OPEN";
  if (callback === "cancelBets") return first ? "REJECT" : "REFUND";
  if (callback === "rollback") return "ROLLBACK";
  if (callback.endsWith("Tips")) return callback === "placeTips" ? "TIPS" : "REFUND";
  return callback === "adjustBets" ? "OPEN" : "SETTLED";
}

/** The request in the fields of the interface. @param at its `timestampMillis` */
export function toWire(request: ModelRequest, at: number): object {
  const { requestId, productId, currency, username, callback } = request;
  return {
    id: requestId,
    timestampMillis: at,
    productId,
    currency,
    username,
    txns: request.items.map((one) =>
      callback === "adjustBalance" ? adjustmentToWire(one) : itemToWire(one),
    ),
  };
}

/** What makes a request malformed. */
export const SPOILED = ["no-player", "no-items", "unknown-product", "wrong-amount", "not-json"] as const;

/** The body of a request that may be malformed. @param spoil null: it is not */
export function toSpoiled(wire: object, spoil: (typeof SPOILED)[number] | null): unknown {
  const { txns } = wire as { readonly txns: readonly object[] };
  if (spoil === "no-player") return { ...wire, username: "" };
  if (spoil === "no-items") return { ...wire, txns: [] };
  if (spoil === "unknown-product") return { ...wire, productId: "X1" };
  if (spoil === "wrong-amount") {
    const wrong = { betAmount: "1", payoutAmount: "1", amount: "1" };
    return { ...wire, txns: txns.map((item) => ({ ...item, ...wrong })) };
  }
  return spoil === "not-json" ? "{" : wire;
}

function adjustmentToWire({ id, status, betAmount, payoutAmount }: ModelItem): object {
  return { refId: id, status, amount: digits(betAmount ?? payoutAmount ?? "0") };
}

function itemToWire({
  id,
  status,
  roundId,
  betAmount,
  payoutAmount,
  byRound,
  skip,
  isEndRound,
  settlementId,
  isSingleState,
  ownType,
}: ModelItem): object {
  return {
    id,
    status,
    roundId,
    gameCode: "G1",
    playInfo: "UNKNOWN",
    ...(betAmount === null ? {} : { betAmount: digits(betAmount) }),
    ...(payoutAmount === null ? {} : { payoutAmount: digits(payoutAmount) }),
    transactionType: byRound ? "BY_ROUND" : ownType,
    skipBalanceUpdate: skip,
    isEndRound,
    ...(settlementId === null ? {} : { txnId: settlementId }),
    ...(isSingleState === null ? {} : { isSingleState }),
  };
}
