/** Reschedules the marks of unfinished judgements, and plans the fetches that they need. */

import { type DiffMark, putMarks } from "../../diff/store.ts";
import type { Wait } from "./await-ripeness.ts";
import type { ComparisonContext } from "./comparison-context.ts";
import { planConfirmFetches } from "./confirm-fetches.ts";

/** Marks with their waits: they are due again when the first wait is over; without waits they are done. */
export interface WaitingPart {
  readonly marks: readonly DiffMark[];
  readonly waits: readonly Wait[];
}

/** @returns whether confirm fetches were planned, so that the product should be pulled */
export async function rescheduleMarks(
  comparison: ComparisonContext,
  parts: readonly WaitingPart[],
): Promise<boolean> {
  const asked = parts.flatMap(({ waits }) => waits.flatMap((wait) => ("fetch" in wait ? wait.fetch : [])));
  const { wantsFetch, seenAt } = await planConfirmFetches(comparison, asked);
  const endOf = (wait: Wait) =>
    "until" in wait ? wait.until : wait.fetch.length === 0 ? null : seenAt(wait.fetch);
  const again = parts.flatMap(({ marks, waits }) => {
    const ends = waits.map(endOf).filter((end) => end !== null);
    if (ends.length === 0) return [];
    const dueAt = ends.reduce((first, end) => Math.min(first, end));
    return distinctMarks(marks).map((mark) => ({ ...mark, dueAt }));
  });
  await putMarks(comparison.tx, comparison.product.productId, again);
  return wantsFetch;
}

export function distinctMarks(marks: readonly DiffMark[]): DiffMark[] {
  const byText = marks.map(
    (mark) => [JSON.stringify([mark.username, mark.roundId, mark.betRef]), mark] as const,
  );
  return [...new Map(byText).values()];
}
