/** Adds up money at risk by currency. */

import type { Risk } from "../../../mismatches/risk-store.ts";
import { formatMoney, parseAmount, sumAmounts } from "../../../money.ts";

export interface AtRisk {
  readonly currency: string | null;
  /** decimal text above 0 */
  readonly amount: string;
}

/** The number of mismatches, and the money at risk in each currency with any. */
export function addUpRisk(risk: readonly Risk[]): { readonly count: number; readonly amounts: AtRisk[] } {
  const count = risk.reduce((sum, one) => sum + one.count, 0);
  const amounts = [...Map.groupBy(risk, ({ currency }) => currency)].flatMap(
    ([currency, parts]): AtRisk[] => {
      const sum = sumAmounts(parts.map(({ amount }) => parseAmount(amount, "amountAtRisk")));
      return sum.eq("0") ? [] : [{ currency, amount: formatMoney(sum, "").trim() }];
    },
  );
  return { count, amounts };
}
