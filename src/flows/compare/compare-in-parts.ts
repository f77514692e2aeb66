/**
 * The parts of a comparison. A comparison that reaches a limit, or fails because of its data, is repeated in halves, never
 * cut. A part that fails alone is set aside, and the others are compared without it (docs/operations.md#limits). One mark
 * stands for the whole round; new changes of the round add no mark and load nothing.
 */

import { formatInstant } from "../../clock.ts";
import { isDataError, isLimitError } from "../../db/database-error.ts";
import { allowStatementTime, withinSavepoint } from "../../db/transactions.ts";
import { type DiffMark, distinctMarks, writeMarks } from "../../diff/mark-store.ts";
import {
  deleteSetAside,
  nextAttempt,
  readTooLarge,
  type SetAside,
  writeSetAside,
} from "../../diff/set-aside-store.ts";
import { describeError, ReconError } from "../../errors.ts";
import type { ComparisonContext, ComparisonResult } from "./comparison-context.ts";

/** The longest statement about a part that is compared by itself, because all other parts wait for it. */
const LONGEST_OF_PART_MS = 60_000;
const LONGEST_ONE_BY_ONE_MS = 300_000;

export type Compare = (
  comparison: ComparisonContext,
  marks: readonly DiffMark[],
) => Promise<ComparisonResult>;

/**
 * Compares everything. If the data make that fail, it compares each half, until only the failing parts are left and
 * set aside. Costs nothing without failures.
 */
export async function compareInParts(
  comparison: ComparisonContext,
  parts: readonly (readonly DiffMark[])[],
  compare: Compare,
): Promise<ComparisonResult> {
  try {
    return await withinSavepoint(comparison.tx, (tx) => compare({ ...comparison, tx }, parts.flat()));
  } catch (error) {
    if (!isDataError(error)) throw error;
    if (parts.length > 1) {
      const middle = Math.ceil(parts.length / 2);
      const first = await compareInParts(comparison, parts.slice(0, middle), compare);
      const second = await compareInParts(comparison, parts.slice(middle), compare);
      return {
        compared: first.compared + second.compared,
        wantsFetch: first.wantsFetch || second.wantsFetch,
        stale: joinStale([first.stale, second.stale]),
      };
    }
    await setAside(comparison, parts.flat(), error);
    return { compared: 0, wantsFetch: false, stale: new Set() };
  }
}

/** The result of comparing parts one by one. */
export interface ComparedOneByOne extends ComparisonResult {
  /** the marks of the parts that were compared, and not set aside */
  readonly comparedMarks: readonly DiffMark[];
  /** there was not enough time for all parts: the others are due as before */
  readonly isUnfinished: boolean;
}

/**
 * Compares each part by itself, after comparisons of all parts have failed repeatedly. A part has less time than all
 * parts together. A part that takes longer, or is too large for the server, is set aside, so it no longer stops the
 * others. Halving instead would ask for everything again nine times.
 */
export async function compareOneByOne(
  comparison: ComparisonContext,
  parts: readonly (readonly DiffMark[])[],
  compare: Compare,
): Promise<ComparedOneByOne> {
  const { context, tx, product, now } = comparison;
  const startedAt = context.clock.now();
  let count = 0;
  let wantsFetch = false;
  const stale: ComparisonResult["stale"][] = [];
  const comparedMarks: DiffMark[] = [];
  if (parts.length > 0) await allowStatementTime(tx, LONGEST_OF_PART_MS);
  for (const [index, part] of parts.entries()) {
    if (context.clock.now() - startedAt >= LONGEST_ONE_BY_ONE_MS) {
      const left = parts.slice(index).flat();
      await writeMarks(
        tx,
        product.productId,
        left.map((mark) => ({ ...mark, dueAt: now })),
      );
      return { compared: count, wantsFetch, stale: joinStale(stale), comparedMarks, isUnfinished: true };
    }
    try {
      const one = await withinSavepoint(tx, (within) => compare({ ...comparison, tx: within }, part));
      count += one.compared;
      wantsFetch ||= one.wantsFetch;
      stale.push(one.stale);
      comparedMarks.push(...part);
    } catch (error) {
      if (!isDataError(error) && !isLimitError(error)) throw error;
      await setAside(comparison, part, error);
    }
  }
  return { compared: count, wantsFetch, stale: joinStale(stale), comparedMarks, isUnfinished: false };
}

function joinStale(sides: readonly ComparisonResult["stale"][]): ComparisonResult["stale"] {
  return new Set(sides.flatMap((of) => [...of]));
}

/** The wait before a part that was set aside is compared again. */
const RETRY_MS = 3_600_000;

/**
 * Divides the marks into parts that are compared separately: the sessions of a player, a round, or a bet without
 * one.
 */
export function partsOf({ product }: ComparisonContext, marks: readonly DiffMark[]): DiffMark[][] {
  const keyOf = keyOfPart(product.settlement);
  return [...Map.groupBy(distinctMarks(marks), (mark) => JSON.stringify(keyOf(mark))).values()];
}

function keyOfPart(settlement: ComparisonContext["product"]["settlement"]): (mark: DiffMark) => SetAside {
  if (settlement === "session") return ({ username }) => ({ username, subject: "sessions" });
  return ({ username, roundId, betRef }) => ({
    username,
    subject: roundId === null ? `bet:${betRef}` : `round:${roundId}`,
  });
}

/**
 * Removes the marks of parts that were set aside for their size, because each mark would load the part in vain. The
 * next attempt compares the whole part: a stored mark stands for a round or a bet, and marks of sessions are
 * rescheduled.
 * @returns the marks to compare together, and the parts that took too long before and are compared one by one
 */
export async function skipSetAside(
  comparison: ComparisonContext,
  marks: readonly DiffMark[],
): Promise<{ readonly together: readonly DiffMark[]; readonly slow: DiffMark[][] }> {
  const { tx, product, now } = comparison;
  const aside = await readTooLarge(tx, product.productId, now);
  if (aside.length === 0) return { together: marks, slow: [] };
  const known = new Map(aside.map((one) => [JSON.stringify(keyed(one)), one]));
  const keyOf = keyOfPart(product.settlement);
  const asideOf = (mark: DiffMark) => known.get(JSON.stringify(keyed(keyOf(mark))));
  const isLeft = (mark: DiffMark) => asideOf(mark)?.waits === true;
  const waiting = product.settlement === "session" ? distinctMarks(marks.filter(isLeft)) : [];
  await writeMarks(
    tx,
    product.productId,
    waiting.map((mark) => ({ ...mark, dueAt: now + RETRY_MS })),
  );
  const own = marks.filter((mark) => !isLeft(mark));
  const isSlow = (mark: DiffMark) => asideOf(mark)?.isSlow === true;
  return {
    together: own.filter((mark) => !isSlow(mark)),
    slow: partsOf(comparison, own.filter(isSlow)),
  };
}

function keyed({ username, subject }: SetAside): [string, string] {
  return [username, subject];
}

/** Notes that the parts of these marks were compared, except those that this comparison has set aside. */
export async function endSetAside(comparison: ComparisonContext, marks: readonly DiffMark[]): Promise<void> {
  const { tx, product, now } = comparison;
  const compared = marks.map(keyOfPart(product.settlement));
  await deleteSetAside(tx, product.productId, compared, now + RETRY_MS);
}

async function setAside(
  comparison: ComparisonContext,
  marks: readonly DiffMark[],
  error: unknown,
): Promise<void> {
  const { context, tx, product, now } = comparison;
  const [first] = marks;
  if (first === undefined) return;
  const { productId, settlement } = product;
  const { username, roundId: round, betRef: bet } = first;
  const part = keyOfPart(settlement)(first);
  const code = codeOf(error);
  const reason = code === "too-slow" ? describeSlow(productId, part, error) : describeError(error);
  const retryAt =
    code === "too-slow" ? await nextAttempt(tx, productId, part, now, RETRY_MS) : now + RETRY_MS;
  context.log.error(
    { productId, username, round, bet, error: reason, retryAt: formatInstant(retryAt) },
    "cannot compare this part: it is set aside and retried later",
  );
  await writeSetAside(tx, productId, part, { code, reason, now, retryAt });
  // One mark without a bet stands for the whole of a round that is too large.
  const isRound = code !== "unusable" && settlement !== "session" && round !== null;
  const again = isRound ? [{ ...first, betRef: null }] : marks;
  await writeMarks(
    tx,
    productId,
    again.map((mark) => ({ ...mark, dueAt: retryAt })),
  );
}

function codeOf(error: unknown): string {
  if (error instanceof ReconError && (error.code === "round-too-wide" || error.code === "session-too-long"))
    return error.code;
  return isLimitError(error) ? "too-slow" : "unusable";
}

function describeSlow(productId: string, { username, subject }: SetAside, error: unknown): string {
  const what = subject === "sessions" ? "the sessions" : subject.replace(":", " ");
  return `${productId}: ${what} of player ${username} took the database too long, or was too large for it (${describeError(error)}). Check what the database is busy with (pg_stat_activity). The worker retries within a day.`;
}
