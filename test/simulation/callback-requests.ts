/** Turns the callbacks of a world into requests of the interface (§2.1, §4.A), with the required answer to each. */

import type { CallbackEntry, CallbackName } from "../../src/callback.ts";
import { type Amount, formatAmount, sumAmounts } from "../../src/money.ts";

/** One request of the provider: items of one callback that it sends together. */
export interface WorldRequest {
  readonly callback: CallbackName;
  readonly items: readonly CallbackEntry[];
  /** JSON text */
  readonly body: string;
  /**
   * taken: applied now; repeated: the same request once more, with the first answer; refused: the same content under another
   * request id
   */
  readonly answer: "taken" | "repeated" | "refused";
  /** the signed change of the balance; null: the world does not say it for every item */
  readonly moved: Amount | null;
}

/** @param entries of one player, in the order in which they happened */
export function requestsOf(entries: readonly CallbackEntry[]): WorldRequest[] {
  const requests = new Set<string>();
  const said = new Map<string, CallbackEntry>();
  return groupByRequest(entries).map((items): WorldRequest => {
    const [first] = items as [CallbackEntry];
    const name = JSON.stringify([first.productId, first.callback, first.requestId]);
    const isRepeated = requests.has(name);
    const isSaidBefore = items.every((item) => item.moved?.eq("0") && said.has(contentOf(item)));
    if (!isSaidBefore || isRepeated) requests.add(name);
    for (const item of items) {
      forgetRolledBack(said, item);
      said.set(contentOf(item), item);
    }
    return {
      callback: first.callback,
      items,
      body: writeBody(items, entries),
      answer: isRepeated ? "repeated" : isSaidBefore ? "refused" : "taken",
      moved: sumOf(items.map(({ moved }) => moved)),
    };
  });
}

/** A callback that ended a bet may come again after a rollback; a placement may not. */
function forgetRolledBack(said: Map<string, CallbackEntry>, item: CallbackEntry): void {
  for (const [content, before] of said) {
    if (before.callback !== "placeBets" && isRollbackOf(item, before)) said.delete(content);
  }
}

/** Items with one request id and one moment form one request; later ones repeat it. */
function groupByRequest(entries: readonly CallbackEntry[]): CallbackEntry[][] {
  const groups = new Map<string, CallbackEntry[]>();
  for (const entry of entries) {
    const { productId, callback, requestId, occurredAt } = entry;
    const name = JSON.stringify([productId, callback, requestId, occurredAt]);
    groups.set(name, [...(groups.get(name) ?? []), entry]);
  }
  return [...groups.values()];
}

function contentOf({ productId, callback, txnId, status, betAmount, payoutAmount }: CallbackEntry): string {
  return JSON.stringify([productId, callback, txnId, status, betAmount, payoutAmount]);
}

function sumOf(moved: readonly (Amount | null)[]): Amount | null {
  const known = moved.filter((amount) => amount !== null);
  return known.length === moved.length ? sumAmounts(known) : null;
}

/** Amounts are written digit by digit, because JavaScript numbers cannot hold all of them. */
export function writeBody(items: readonly CallbackEntry[], all: readonly CallbackEntry[]): string {
  const [{ requestId, occurredAt, productId, currency, username }] = items as readonly [CallbackEntry];
  const envelope = { id: requestId, timestampMillis: occurredAt, productId, currency, username };
  const txns = items.map((item) => writeItem(item, all)).join(",");
  return `${JSON.stringify(envelope).slice(0, -1)},"txns":[${txns}]}`;
}

function writeItem(item: CallbackEntry, all: readonly CallbackEntry[]): string {
  const { callback, txnId, status, roundId, transactionType, skipBalanceUpdate } = item;
  const bet = item.betAmount === null ? [] : [["betAmount", item.betAmount] as const];
  const payout = item.payoutAmount === null ? [] : [["payoutAmount", item.payoutAmount] as const];
  if (callback === "adjustBalance") {
    const amounts = [...bet, ...payout].map(([, amount]) => ["amount", amount] as const);
    return withAmounts({ refId: txnId, status }, amounts);
  }
  const fields = {
    id: txnId,
    status,
    roundId,
    gameCode: "odd-1",
    playInfo: "UNKNOWN",
    ...(transactionType === null ? {} : { transactionType }),
    ...(skipBalanceUpdate ? { skipBalanceUpdate } : {}),
    // Equal parts without ids of their own would be one part that is sent again (docs/callbacks.md#answers).
    ...(item.endRound === false || isFollowedByPart(item, all)
      ? { isEndRound: false, txnId: `part-${partOf(item, all)}` }
      : {}),
    ...(item.singleState === null ? {} : { isSingleState: item.singleState }),
  };
  return withAmounts(fields, [...bet, ...payout]);
}

function withAmounts(fields: object, amounts: readonly (readonly [string, Amount])[]): string {
  const written = amounts.map(([name, amount]) => `,"${name}":${formatAmount(amount)}`).join("");
  return `${JSON.stringify(fields).slice(0, -1)}${written}}`;
}

/** Whether another settle of the same bet follows, which only the world's later callbacks show. */
function isFollowedByPart(item: CallbackEntry, all: readonly CallbackEntry[]): boolean {
  if (item.callback !== "settleBets") return false;
  const later = all.slice(all.indexOf(item) + 1).filter(({ productId }) => productId === item.productId);
  const next = later.find((one) => isRollbackOf(one, item) || isPartOf(one, item));
  return next?.callback === "settleBets";
}

/** How many parts came before it; a settle that comes again without moving money is the part before. */
function partOf(item: CallbackEntry, all: readonly CallbackEntry[]): number {
  const before = all.slice(0, all.indexOf(item) + 1).filter((one) => isSettleOf(one, item));
  return before.filter((one, index) => index === 0 || isPartOf(one, before[index - 1] ?? one)).length;
}

function isSettleOf(one: CallbackEntry, { productId, txnId }: CallbackEntry): boolean {
  return one.callback === "settleBets" && one.productId === productId && one.txnId === txnId;
}

function isPartOf(later: CallbackEntry, item: CallbackEntry): boolean {
  if (later.callback !== "settleBets" || later.txnId !== item.txnId) return false;
  return !(later.moved?.eq("0") && contentOf(later) === contentOf(item));
}

function isRollbackOf(later: CallbackEntry, { txnId, roundId }: CallbackEntry): boolean {
  if (later.callback !== "rollback") return false;
  return later.txnId === txnId || (later.transactionType === "BY_ROUND" && later.roundId === roundId);
}
