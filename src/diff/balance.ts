/** Finds requests where the balance changed by another amount than their items moved. */

import { realRound } from "../bet.ts";
import type { CallbackEntry } from "../callback.ts";
import { formatInstant } from "../clock.ts";
import type { Finding } from "../mismatch.ts";
import { type Amount, formatAmount, formatMoney, sumAmounts, ZERO } from "../money.ts";
import { allowanceOf, differByAtMost, type Tolerance } from "./tolerance.ts";

/** One answer of the operator to a request. A repeated request may have several. */
interface AnsweredBalance {
  readonly entries: readonly CallbackEntry[];
  readonly changed: Amount;
  readonly moved: Amount;
}

/**
 * One finding for each request whose answer names another change of the balance than its items moved. A request with
 * an unknown balance or an unknown amount is skipped, because nothing is guessed.
 * @param entries of one player, with all items of each request; with items missing, the finding is not certain
 * @param asked the amount that stands for a null `moved`, by entryId
 */
export function findBalances(
  entries: readonly CallbackEntry[],
  asked: ReadonlyMap<string, Amount>,
  tolerance: Tolerance,
): Finding[] {
  const movedFor = (entry: CallbackEntry) => entry.moved ?? asked.get(entry.entryId) ?? null;
  const requests = Map.groupBy(entries, subjectOfRequest);
  return [...requests].flatMap(([subject, items]) => {
    const wrong = answersTo(items, movedFor).filter((answer) => !isAsMoved(answer, tolerance));
    return wrong.length === 0 ? [] : [toFinding(subject, wrong)];
  });
}

function isAsMoved({ entries, changed, moved }: AnsweredBalance, tolerance: Tolerance): boolean {
  return differByAtMost(changed, moved, allowanceOf(tolerance, entries[0]?.currency ?? "", entries.length));
}

/** The subject of a finding about a request. JSON, because a request id may hold any character. */
export function subjectOfRequest({ callback, requestId }: CallbackEntry): string {
  return `request:${JSON.stringify([callback, requestId])}`;
}

/**
 * The answers to one request. A replay moved nothing and repeats the first answer with its balances, so it does not
 * count.
 */
function answersTo(
  items: readonly CallbackEntry[],
  movedFor: (entry: CallbackEntry) => Amount | null,
): AnsweredBalance[] {
  const answers: AnsweredBalance[] = [];
  for (const entries of Map.groupBy(items, answerOf).values()) {
    const [{ balanceBefore = null, balanceAfter = null } = {}] = entries;
    const moved = entries.map(movedFor).filter((amount) => amount !== null);
    if (balanceBefore === null || balanceAfter === null || moved.length < entries.length) continue;
    answers.push({ entries, changed: balanceAfter.minus(balanceBefore), moved: sumAmounts(moved) });
  }
  const isReplay = (answer: AnsweredBalance) =>
    answer.entries.every((entry) => movedFor(entry)?.eq(ZERO)) &&
    answers.some(
      (other) => other !== answer && other.changed.eq(answer.changed) && other.moved.eq(other.changed),
    );
  return answers.filter((answer) => !isReplay(answer));
}

function answerOf({ occurredAt, receivedAt, balanceBefore, balanceAfter }: CallbackEntry): string {
  return JSON.stringify([occurredAt, receivedAt, balanceBefore?.toFixed(), balanceAfter?.toFixed()]);
}

function toFinding(subject: string, wrong: readonly AnsweredBalance[]): Finding {
  const entries = wrong.flatMap((answer) => answer.entries);
  const [{ callback, currency, requestId }] = entries as [CallbackEntry];
  const changed = sumAmounts(wrong.map((answer) => answer.changed));
  const moved = sumAmounts(wrong.map((answer) => answer.moved));
  return findingOfRequest(entries, {
    subject,
    moved,
    amountAtRisk: sumAmounts(wrong.map((answer) => answer.changed.minus(answer.moved).abs())),
    reason: `the balance changed by ${formatMoney(changed, currency)} with the ${callback} request ${requestId}, but the wallet moved ${formatMoney(moved, currency)} for it`,
  });
}

/** A `balance-differs` about the balances of one request. @param entries its items, at least one */
export function findingOfRequest(
  entries: readonly CallbackEntry[],
  about: Pick<Finding, "subject" | "amountAtRisk" | "reason"> & { readonly moved: Amount },
): Finding {
  const { moved, ...named } = about;
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
    },
    occurredAt: Math.min(...times),
  };
}
