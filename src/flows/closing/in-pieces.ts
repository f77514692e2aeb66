/** Corrects marks in pieces that can be loaded. */

import { type ClosingMark, writeMarkAgain } from "../../closing/correction-store.ts";
import { ReconError } from "../../errors.ts";
import type { ComparisonContext } from "../compare/comparison-context.ts";

const MARKS_AT_ONCE = 500;

/**
 * If some marks are too many for one transaction, each is taken alone. A mark that cannot be loaded alone is retried later.
 * @returns the number of corrections
 */
export async function inPieces(
  { tx, context }: ComparisonContext,
  marks: readonly ClosingMark[],
  correct: (piece: readonly ClosingMark[]) => Promise<number>,
): Promise<number> {
  const sorted = [...marks].sort((a, b) => (a.username < b.username ? -1 : 1));
  let corrections = 0;
  for (let from = 0; from < sorted.length; from += MARKS_AT_ONCE) {
    const piece = sorted.slice(from, from + MARKS_AT_ONCE);
    try {
      corrections += await correct(piece);
    } catch (error) {
      if (!(error instanceof ReconError)) throw error;
      for (const mark of piece) {
        try {
          corrections += await correct([mark]);
        } catch (alone) {
          if (!(alone instanceof ReconError)) throw alone;
          await writeMarkAgain(tx, mark);
          context.log.warn(
            { productId: mark.productId, code: alone.code },
            `a change of a closed day cannot be stated yet, and is tried again: ${alone.message}`,
          );
        }
      }
    }
  }
  return corrections;
}
