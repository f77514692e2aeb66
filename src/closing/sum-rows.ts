/** The sums of several statements' rows. Pure. */

import { parseAmount } from "../money.ts";
import { addUp, type ReportRow, type ReportSide, type SideSums, type Totals, toRows } from "../report.ts";

/** One row for each product and currency, in this order. Complete where all rows are. */
export function sumRows(rows: readonly ReportRow[]): ReportRow[] {
  const byProduct = [...Map.groupBy(rows, ({ productId }) => productId)].sort(([a], [b]) => (a < b ? -1 : 1));
  return byProduct.flatMap(([productId, own]) => {
    const totals: Totals = new Map();
    for (const row of own) {
      const { currency, mismatches, adjustments, pending, rounding } = row;
      addUp(totals, {
        currency,
        provider: toSums(row.provider),
        ledger: toSums(row.ledger),
        mismatches: parseAmount(mismatches, "mismatches"),
        adjustments: parseAmount(adjustments, "adjustments"),
        pending: parseAmount(pending, "pending"),
        rounding: parseAmount(rounding, "rounding"),
      });
    }
    return toRows(
      productId,
      totals,
      own.every(({ complete }) => complete),
    );
  });
}

/** A side of a row, as amounts. */
export function toSums({ bets, stake, payout, net }: ReportSide): SideSums {
  return {
    bets,
    stake: parseAmount(stake, "stake"),
    payout: parseAmount(payout, "payout"),
    net: parseAmount(net, "net"),
  };
}
