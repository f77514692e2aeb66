/**
 * Compares part by part where one part would stop the comparison of all, and sets that part aside
 * (docs/operations.md#limits).
 */

import { isDataError, isLimitError } from "../../db/database-error.ts";
import { allowStatementTime, withinSavepoint } from "../../db/transactions.ts";
import { type DiffMark, putMarks } from "../../diff/store.ts";
import type { ComparisonContext, ComparisonResult } from "./comparison-context.ts";
import { setAside } from "./set-aside.ts";

/** The longest statement about a part that is compared by itself: all other parts wait for it. */
const LONGEST_OF_PART_MS = 60_000;
const LONGEST_ONE_BY_ONE_MS = 300_000;

export type Compare = (
  comparison: ComparisonContext,
  marks: readonly DiffMark[],
) => Promise<ComparisonResult>;

/**
 * Compares everything. Where the data make that fail, compares each half, so that in the end only the failing parts
 * are set aside.
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
  /** the time was not enough for all parts: the others are due as before */
  readonly isUnfinished: boolean;
}

/**
 * Compares each part by itself, after comparisons of all parts have failed again and again. A part has less time than
 * all parts together. A part that takes longer, or is too large for the server, is set aside, so that the others go on.
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
      await putMarks(
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
