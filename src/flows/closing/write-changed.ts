/** Writes what changed in closed days as corrections, and the bets as they are counted from then on. */

import type { ChangedBet } from "../../closing/changed-bets.ts";
import { deleteClosedBets, writeClosedBets } from "../../closing/closed-bet-store.ts";
import { sayDecisions } from "../../closing/correction-reason.ts";
import { readCorrectionTime, writeCorrections } from "../../closing/correction-store.ts";
import type { Query } from "../../db/client.ts";
import { readDecisionsSinceClosing } from "../../mismatches/decision-store.ts";
import type { ComparisonContext } from "../compare/comparison-context.ts";

/** @returns the number of corrections */
export async function writeChanged(
  { tx, product: { productId } }: ComparisonContext,
  changed: readonly ChangedBet[],
): Promise<number> {
  if (changed.length === 0) return 0;
  await deleteClosedBets(
    tx,
    productId,
    changed.flatMap(({ replaced }) => replaced),
  );
  await writeClosedBets(
    tx,
    productId,
    changed.flatMap(({ now }) => now ?? []),
  );
  const at = await readCorrectionTime(tx);
  const reasons = await withDecisions(tx, productId, changed);
  await writeCorrections(
    tx,
    changed.map(({ correction }, index) => ({
      ...correction,
      reason: reasons[index] ?? correction.reason,
      productId,
    })),
    at,
  );
  return changed.length;
}

/** The reasons, which begin with what people decided where nothing else changed. */
async function withDecisions(
  tx: Query,
  productId: string,
  changed: readonly ChangedBet[],
): Promise<string[]> {
  const decided = changed.filter((one) => one.isDecision);
  const decisions = await readDecisionsSinceClosing(
    tx,
    productId,
    decided.map(({ now, correction }) => ({ subject: "", betRef: "", ...now, ...correction })),
  );
  return changed.map((one) => {
    const said = sayDecisions(decisions[decided.indexOf(one)] ?? []);
    return [...said, one.correction.reason].join(" ");
  });
}
