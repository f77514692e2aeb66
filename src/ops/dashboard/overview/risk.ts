/** Adds up money at risk by currency, and formats it. */

import type { Risk } from "../../../mismatches/risk-store.ts";
import { formatMoney, parseAmount, sumAmounts } from "../../../money.ts";
import { groupDigits } from "../parts/show.ts";

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

/** "1 240.50 THB and 3.00 USDT". */
export function sayAmounts(amounts: readonly AtRisk[]): string {
  return amounts
    .map(({ currency, amount }) => `${groupDigits(amount)}${currency === null ? "" : ` ${currency}`}`)
    .join(" and ");
}
