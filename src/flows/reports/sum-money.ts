/**
 * Adds up the money of the ledger, and the money of all statements, independently: an entry that no comparison looks at is in
 * the first sum alone.
 */

import { monotonicMs } from "../../clock.ts";
import { readClosedTime } from "../../closing/closed-day-store.ts";
import { readNewestMark } from "../../closing/correction-store.ts";
import { readClosedMoney } from "../../closing/sums-check-store.ts";
import type { ProductConfig } from "../../config-file.ts";
import type { Query } from "../../db/client.ts";
import { allowStatementTime, inSnapshot } from "../../db/transactions.ts";
import { entriesOutside, movedOutside } from "../../diff/outside.ts";
import { askedByAdjustments } from "../../diff/sessions.ts";
import { missingOf } from "../../health/money.ts";
import { foldEntries } from "../../ledger/fold.ts";
import { readPlayersWithoutMoved, sumMoved } from "../../ledger/store.ts";
import { type Amount, formatAmount, parseAmount, ZERO } from "../../money.ts";
import type { MoneySums, SumsSeen } from "../../money-outside.ts";
import type { TimeRange } from "../../window.ts";
import { readMoneyStates, writeMoneyState } from "../../work/work-store.ts";
import type { ComparisonContext } from "../compare/comparison-context.ts";
import type { FlowContext } from "../context.ts";
import { settingsOfMoney } from "../read/read-outside.ts";
import { openReport } from "./read-report.ts";
import { reportBets } from "./report-bets.ts";
import { reportSessions } from "./report-sessions.ts";

const DAY_MS = 24 * 3_600_000;
/** The longest time for all products: a snapshot that is held longer keeps dead rows. */
const LONGEST_MS = 300_000;

/** Records may be dated in year 1 or 9999, for "no date"; sessions have the dates that entries may have. */
const ALL_TIME: TimeRange = { from: Date.UTC(2000, 0, 1) - 1_999 * 365 * DAY_MS, to: Date.UTC(9999, 11, 30) };
const TIME_OF_SESSIONS: TimeRange = { from: Date.UTC(2009, 11, 31), to: Date.UTC(2999, 0, 1) };

/**
 * Adds up when a worker starts and once a day, and at each run while something is missing. Only an amount that is missing
 * twice in a row is an error: the first time, an entry of a closed day may be about to become a correction.
 */
export async function keepMoneySums(
  context: FlowContext,
  signal: AbortSignal,
  isStart: boolean,
): Promise<void> {
  const settings = settingsOfMoney(context.config);
  const before = (await readMoneyStates(context.sql, settings)).sums;
  const isEven = before?.content.sums.every((one) => missingOf(one).eq(ZERO)) ?? true;
  const now = context.clock.now();
  if (!isStart && before !== null && isEven && now - before.measuredAt < DAY_MS) return;
  const beganMs = monotonicMs();
  const content = await addUpMoney(context, signal, before?.content ?? null);
  if (signal.aborted) return;
  const tookMs = monotonicMs() - beganMs;
  await writeMoneyState(context.sql, "sums", settings, { measuredAt: now, tookMs, content });
}

/**
 * Both sums of every product that is compared, each product in one snapshot.
 * @param before the sums of the time before: products that were left then come first
 */
export async function addUpMoney(
  context: FlowContext,
  signal: AbortSignal,
  before: SumsSeen | null = null,
): Promise<SumsSeen> {
  const sums: MoneySums[] = [];
  const left: { productId: string; reason: string }[] = [];
  const wasLeft = new Set(before?.left.map(({ productId }) => productId));
  const compared = context.config.products.filter(({ walletMode }) => walletMode === "seamless");
  const endsAtMs = monotonicMs() + LONGEST_MS;
  for (const product of compared.toSorted(
    (a, b) => Number(wasLeft.has(b.productId)) - Number(wasLeft.has(a.productId)),
  )) {
    const found = await inSnapshot(context.sql, (tx) =>
      addUpProduct(context, tx, product, () => signal.aborted || monotonicMs() > endsAtMs),
    );
    if (typeof found === "string") {
      left.push({ productId: product.productId, reason: found });
      continue;
    }
    sums.push(
      ...found.map((one) => {
        const known = before?.sums.find(
          ({ productId, currency }) => productId === one.productId && currency === one.currency,
        );
        return { ...one, isConfirmed: known !== undefined && missingOf(known).eq(missingOf(one)) };
      }),
    );
  }
  return { sums, left };
}

/** @returns a reason as a sentence: the sums cannot be compared now */
async function addUpProduct(
  context: FlowContext,
  tx: Query,
  product: ProductConfig,
  isOver: () => boolean,
): Promise<Omit<MoneySums, "isConfirmed">[] | string> {
  const { productId } = product;
  if (isOver()) return TOO_LONG;
  await allowStatementTime(tx, LONGEST_MS);
  if ((await readNewestMark(tx, [productId])) > 0) return "Changes of closed days are still to be stated.";
  const comparison = await openReport(context, tx, product);
  if (comparison === null) return "The ledger has no entry.";
  const { moved: ledger, unstated } = await sumMoved(tx, productId);
  if (unstated > 0) return "Entries without `moved` were deleted, so it is unknown what they moved.";
  for await (const entries of readPlayersWithoutMoved(tx, productId)) {
    if (entries === null) return "A player has too many entries without `moved`.";
    for (const [currency, amount] of askedOfPlayer(entries, product, comparison))
      add(ledger, currency, amount);
    if (isOver()) return TOO_LONG;
  }
  const closed = await readClosedTime(tx);
  const statements = new Map<string, Amount>();
  const outside = new Map<string, Amount>();
  for (const one of await readClosedMoney(tx, productId)) {
    add(statements, one.currency, parseAmount(one.moved, "moved"));
    add(outside, one.currency, parseAmount(one.outside, "outside"));
  }
  for await (const { currency, moved, outside: apart } of countOpen(comparison, closed)) {
    add(statements, currency, moved);
    add(outside, currency, apart);
    if (isOver()) return TOO_LONG;
  }
  const currencies = [...new Set([...ledger.keys(), ...statements.keys(), ...outside.keys()])].sort();
  const textOf = (amounts: ReadonlyMap<string, Amount>, currency: string) =>
    formatAmount(amounts.get(currency) ?? ZERO);
  return currencies.map((currency) => ({
    productId,
    currency,
    ledger: textOf(ledger, currency),
    statements: textOf(statements, currency),
    outside: textOf(outside, currency),
  }));
}

const TOO_LONG = `Adding up took longer than ${LONGEST_MS / 60_000} minutes; closed days need not be added up again.`;

function add(amounts: Map<string, Amount>, currency: string, amount: Amount): void {
  amounts.set(currency, (amounts.get(currency) ?? ZERO).plus(amount));
}

/** Everything that counts on days which are not closed. */
async function* countOpen(comparison: ComparisonContext, closed: TimeRange | null) {
  const { settlement } = comparison.product;
  const around = (all: TimeRange): TimeRange[] =>
    closed === null
      ? [all]
      : [
          { from: all.from, to: closed.from },
          { from: closed.to, to: all.to },
        ];
  if (settlement !== "session") for (const range of around(ALL_TIME)) yield* reportBets(comparison, range);
  if (settlement !== "bets")
    for (const range of around(TIME_OF_SESSIONS)) yield* reportSessions(comparison, range);
}

/** What all entries of a player without `moved` ask for, by currency. */
function askedOfPlayer(
  entries: Parameters<typeof foldEntries>[0],
  { settlement }: ProductConfig,
  { fold }: ComparisonContext,
): Map<string, Amount> {
  const asked = new Map<string, Amount>();
  const apart = new Set(entriesOutside(entries, settlement));
  for (const entry of apart) if (entry.moved === null) add(asked, entry.currency, movedOutside(entry));
  const others = entries.filter((entry) => !apart.has(entry));
  for (const bet of foldEntries(others, fold))
    for (const { currency, moved } of [bet, ...bet.others]) add(asked, currency, moved);
  for (const { currency, callback, moved } of others) {
    if (callback !== "adjustBalance" && moved !== null) add(asked, currency, moved.neg());
  }
  const adjustments = others.filter(({ callback }) => callback === "adjustBalance");
  for (const [entry, amount] of askedByAdjustments(adjustments))
    if (entry.moved === null) add(asked, entry.currency, amount);
  return asked;
}
