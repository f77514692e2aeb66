/** Adds up the bets of a day, of which only those are loaded that do not certainly agree. */

import { readDayParts } from "../../diff/agreed-rounds-store.ts";
import { type Contribution, NOTHING_COUNTED } from "../../report.ts";
import type { TimeRange } from "../../window.ts";
import type { ComparisonContext } from "../compare/comparison-context.ts";
import { reportActive } from "./report-bets.ts";

/**
 * Whether the database can add up bets of a day: the product's bets have placements, records name them by their betId,
 * and nothing of the day lies before the ledger.
 */
export function mayAddUp({ product, settings }: ComparisonContext, day: TimeRange): boolean {
  const { settlement, singleState, matchBy } = product;
  const isNamed = settlement === "bets" && !singleState && matchBy.includes("betId");
  return isNamed && day.from >= settings.ledgerStart;
}

/** What all bets of a day add up to. */
export async function* addUpBets(
  comparison: ComparisonContext,
  day: TimeRange,
): AsyncGenerator<Contribution> {
  const { tx, product } = comparison;
  const omitsLosses = product.lostBets === "omitted";
  for await (const { sums, marks } of readDayParts(tx, product.productId, day, omitsLosses)) {
    for (const { currency, bets, stake, payout } of sums) {
      const side = { bets, stake, payout, net: payout.minus(stake) };
      yield { ...NOTHING_COUNTED, currency, provider: side, ledger: side, moved: side.net };
    }
    if (marks.length === 0) continue;
    for await (const { counted } of reportActive(comparison, [day], marks)) yield* counted;
  }
}
