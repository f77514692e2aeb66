/** One comparison of bets: loads what the marks touch, judges it, and writes the results. */

import { writeLargeRound } from "../../diff/large-round-store.ts";
import type { DiffMark } from "../../diff/mark-store.ts";
import { endSetAside } from "./compare-in-parts.ts";
import type { ComparisonContext, ComparisonResult } from "./comparison-context.ts";
import { findDifferences, judgeBets } from "./judge-bets.ts";
import { judgeConfirmation } from "./judge-confirmation.ts";
import { judgeLargeRounds } from "./judge-large-rounds.ts";
import { loadBets } from "./load-bets.ts";
import { loadConfirmationFacts } from "./load-confirmation-facts.ts";
import { type PartResult, writeResults } from "./write-results.ts";

/**
 * The facts that confirm a difference depend on the difference, so they are loaded after all differences are found.
 */
export async function compareMarkedBets(
  comparison: ComparisonContext,
  marks: readonly DiffMark[],
): Promise<ComparisonResult> {
  const loaded = await loadBets(comparison, marks);

  const found = findDifferences(loaded, comparison);
  const { known, stale } = await loadConfirmationFacts(comparison, found.checks);
  const unconfirmed = judgeConfirmation(found.checks, known, stale, comparison);
  const results = judgeBets(loaded, found, { unconfirmed, ofDeleted: known.ofDeleted }, comparison);
  const keptRounds = results.map((one) => judgeLargeRounds(one, loaded, comparison));

  const { tx, product } = comparison;
  for (const round of keptRounds.flatMap(({ rounds }) => rounds))
    await writeLargeRound(tx, product.productId, round);
  const wantsFetch = await writeResults(
    comparison,
    results.map(
      ({ assessment: { username }, seen, subjects, waits }, index): PartResult => ({
        username,
        subjects,
        seen,
        waits,
        marks: keptRounds[index]?.marks ?? [],
      }),
    ),
  );
  // Loading may have taken more marks of the same rounds. Their parts were compared too.
  if (loaded.marks.length > marks.length) await endSetAside(comparison, loaded.marks);
  return { compared: results.length, wantsFetch, stale };
}
