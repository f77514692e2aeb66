/** One comparison of bets: loads what the marks touch, judges it, and writes the judgements. */

import type { DiffMark } from "../../diff/store.ts";
import { writeWideRound } from "../../diff/wide-store.ts";
import type { ComparisonContext, ComparisonResult } from "./comparison-context.ts";
import { findVerdicts, judgeBets } from "./judge-bets.ts";
import { judgeRipeness } from "./judge-ripeness.ts";
import { judgeWideRounds } from "./judge-wide-rounds.ts";
import { loadBets } from "./load-bets.ts";
import { loadWhatDecides } from "./load-what-decides.ts";
import { noteCompared } from "./set-aside.ts";
import { type JudgedPart, writeJudgements } from "./write-judgements.ts";

/** The data that decides whether a verdict is ripe depends on the verdict, so it is loaded after finding the verdicts. */
export async function compareMarkedBets(
  comparison: ComparisonContext,
  marks: readonly DiffMark[],
): Promise<ComparisonResult> {
  const loaded = await loadBets(comparison, marks);

  const found = findVerdicts(loaded, comparison);
  const { known, stale } = await loadWhatDecides(comparison, found.candidates);
  const ripeness = judgeRipeness(found.candidates, known, stale, comparison);
  const judgements = judgeBets(loaded, found, { ripeness, ofDeleted: known.ofDeleted }, comparison);
  const keptRounds = judgements.map((one) => judgeWideRounds(one, loaded, comparison));

  const { tx, product } = comparison;
  for (const round of keptRounds.flatMap(({ rounds }) => rounds))
    await writeWideRound(tx, product.productId, round);
  const wantsFetch = await writeJudgements(
    comparison,
    judgements.map(
      ({ assessment: { username }, seen, subjects, waits }, index): JudgedPart => ({
        username,
        subjects,
        seen,
        waits,
        marks: keptRounds[index]?.marks ?? [],
      }),
    ),
  );
  // Loading may have taken more marks of the same rounds. Their parts were compared too.
  if (loaded.marks.length > marks.length) await noteCompared(comparison, loaded.marks);
  return { compared: judgements.length, wantsFetch, stale };
}
