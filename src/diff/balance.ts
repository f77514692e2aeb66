/** Finds requests whose balance changed by another amount than their items moved. */

import { realRound } from "../bet.ts";
import { type CallbackEntry, inLedgerOrder } from "../callback.ts";
import { formatInstant } from "../clock.ts";
import type { MismatchContent, NamedRequest } from "../mismatch.ts";
import { type Amount, formatAmount, formatMoney, sumAmounts, ZERO } from "../money.ts";
import { allowanceOf, differByAtMost, type Tolerance } from "./sums.ts";

/** One answer of the operator to a request. A repeated request may have several. */
export interface Answer {
  /** its items, in ledger order */
  readonly entries: readonly CallbackEntry[];
  /** the balances that the operator answered; null: unknown */
  readonly before: Amount | null;
  readonly after: Amount | null;
  /** what all items moved together; null: unknown */
  readonly moved: Amount | null;
}

/**
 * One mismatch for each request whose answer names another change of the balance than its items moved. A request
 * with an unknown balance or amount is skipped. Only requests of adjustBalance are checked in a session product,
 * because requests of rewards may have items elsewhere.
 * @param entries of one player, with all items of each request; if items are missing, the result is not certain
 * @param asked the amount that stands for a null `moved`, by entryId
 */
export function findBalances(
  entries: readonly CallbackEntry[],
  asked: ReadonlyMap<string, Amount>,
  tolerance: Tolerance,
): MismatchContent[] {
  const answers = answersIn(entries, asked);
  const repeats = findRepeats(answers, entries);
  const wrong = answers.filter(
    (answer) => contradicts(answer, tolerance) && !repeatsItsFirst(answer, repeats.get(answer) ?? []),
  );
  const requests = Map.groupBy(wrong, ({ entries: [first] }) => subjectOfRequest(first as CallbackEntry));
  return [...requests].map(([subject, own]) => toContent(subject, own));
}

/** Whether all of an answer is known, and its balances differ by another amount than it moved. */
export function contradicts({ entries, before, after, moved }: Answer, tolerance: Tolerance): boolean {
  if (before === null || after === null || moved === null) return false;
  const allowance = allowanceOf(tolerance, entries[0]?.currency ?? "", entries.length);
  return !differByAtMost(after.minus(before), moved, allowance);
}

/** The subject of a mismatch about a request. JSON, because a request id may hold any character. */
export function subjectOfRequest({ callback, requestId }: CallbackEntry): string {
  return `request:${JSON.stringify([callback, requestId])}`;
}

/**
 * The answers to all requests of a player. The items of an answer have one `occurred_at`, but a program may receive
 * or write them one after the other, and may write the balances to one of them only. An item that comes again
 * belongs to the next answer.
 */
export function answersIn(
  entries: readonly CallbackEntry[],
  asked: ReadonlyMap<string, Amount>,
): readonly Answer[] {
  const times = new Map<string, number>();
  const nameOf = (entry: CallbackEntry) => {
    const name = JSON.stringify([entry.productId, entry.currency, entry.occurredAt, subjectOfRequest(entry)]);
    const item = `${name} ${entry.txnId}`;
    const time = (times.get(item) ?? 0) + 1;
    times.set(item, time);
    return `${time} ${name}`;
  };
  return [...Map.groupBy([...entries].sort(inLedgerOrder), nameOf).values()].flatMap((items) => {
    const [befores, afters] = [knownOf(items, "balanceBefore"), knownOf(items, "balanceAfter")];
    const answered = befores.size < 2 && afters.size < 2 ? [items] : splitByBalances(items);
    return answered.map((own) => toAnswer(own, asked));
  });
}

function knownOf(items: readonly CallbackEntry[], side: "balanceBefore" | "balanceAfter"): Set<string> {
  return new Set(items.flatMap((item) => item[side]?.toFixed() ?? []));
}

function splitByBalances(items: readonly CallbackEntry[]): CallbackEntry[][] {
  const balancesOf = (one: CallbackEntry) => `${one.balanceBefore?.toFixed()} ${one.balanceAfter?.toFixed()}`;
  return [...Map.groupBy(items, balancesOf).values()];
}

function toAnswer(entries: readonly CallbackEntry[], asked: ReadonlyMap<string, Amount>): Answer {
  const first = (side: "balanceBefore" | "balanceAfter") =>
    entries.find((entry) => entry[side] !== null)?.[side] ?? null;
  const moved = entries
    .map((entry) => entry.moved ?? asked.get(entry.entryId) ?? null)
    .filter((amount) => amount !== null);
  return {
    entries,
    before: first("balanceBefore"),
    after: first("balanceAfter"),
    moved: moved.length < entries.length ? null : sumAmounts(moved),
  };
}

/**
 * The answers that moved nothing because all of their items had come before, under this request id or another, each with
 * the entries that took those items first. Such a replay may be answered with any older balance.
 * @param entries where to look for the first ones, in any order
 */
export function findRepeats(
  answers: readonly Answer[],
  entries: readonly CallbackEntry[],
): ReadonlyMap<Answer, readonly CallbackEntry[]> {
  const still = answers.filter(({ moved }) => moved?.eq(ZERO));
  if (still.length === 0) return new Map();
  const byItem = Map.groupBy(entries, keyOfItem);
  return new Map(
    still.flatMap((answer) => {
      const firsts = answer.entries.map((item) =>
        byItem.get(keyOfItem(item))?.filter((other) => isBefore(other, item)),
      );
      return firsts.every((found) => found !== undefined && found.length > 0)
        ? [[answer, firsts.flatMap((found) => found ?? [])] as const]
        : [];
    }),
  );
}

function keyOfItem({ productId, callback, txnId, currency, betAmount, payoutAmount }: CallbackEntry): string {
  const amounts = [betAmount, payoutAmount].map((amount) => amount?.toFixed() ?? null);
  return JSON.stringify([productId, callback, txnId, currency, ...amounts]);
}

/** If an item has two copies, the one that moved money is the first, even if it is dated later. */
function isBefore(other: CallbackEntry, item: CallbackEntry): boolean {
  if (other.entryId === item.entryId) return false;
  return (other.moved !== null && !other.moved.eq(ZERO)) || inLedgerOrder(other, item) < 0;
}

/** Whether an answer repeats both balances of the first answer. @param firsts from `findRepeats` */
export function repeatsItsFirst({ before, after }: Answer, firsts: readonly CallbackEntry[]): boolean {
  if (before === null || after === null) return firsts.length > 0;
  return firsts.some(
    ({ balanceBefore, balanceAfter }) => balanceBefore?.eq(before) && balanceAfter?.eq(after),
  );
}

function toContent(subject: string, wrong: readonly Answer[]): MismatchContent {
  const entries = wrong.flatMap((answer) => answer.entries);
  const [{ callback, currency, requestId }] = entries as [CallbackEntry];
  const changedBy = ({ before, after }: Answer) => (after ?? ZERO).minus(before ?? ZERO);
  const changed = sumAmounts(wrong.map(changedBy));
  const moved = sumAmounts(wrong.map((answer) => answer.moved ?? ZERO));
  return contentOfRequest(entries, {
    subject,
    moved,
    amountAtRisk: sumAmounts(
      wrong.map((answer) =>
        changedBy(answer)
          .minus(answer.moved ?? ZERO)
          .abs(),
      ),
    ),
    reason: `the balance changed by ${formatMoney(changed, currency)} with the ${callback} request ${requestId}, but the wallet moved ${formatMoney(moved, currency)} for it`,
  });
}

/** A `balance-differs` about the balances of one request. @param entries its items, at least one */
export function contentOfRequest(
  entries: readonly CallbackEntry[],
  about: Pick<MismatchContent, "subject" | "amountAtRisk" | "reason"> & {
    readonly moved: Amount;
    /** the request that left another balance */
    readonly previous?: readonly NamedRequest[];
  },
): MismatchContent {
  const { moved, previous, ...named } = about;
  const [first] = entries as [CallbackEntry];
  const times = entries.map((entry) => entry.occurredAt);
  const single = entries.length === 1;
  return {
    ...named,
    kind: "balance-differs",
    productId: first.productId,
    username: first.username,
    currency: first.currency,
    betId: null,
    transactionId: single ? first.txnId : null,
    roundId: single ? realRound(first.roundId) : null,
    transactionRef: null,
    provider: null,
    ledger: {
      txnId: single ? first.txnId : null,
      status: null,
      stake: "0",
      payout: "0",
      moved: formatAmount(moved),
      currency: first.currency,
      username: first.username,
      firstEntryAt: formatInstant(Math.min(...times)),
      lastEntryAt: formatInstant(Math.max(...times)),
      ...(previous && { previous }),
    },
    occurredAt: Math.min(...times),
  };
}
