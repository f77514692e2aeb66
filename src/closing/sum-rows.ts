/** The sums of several statements' rows. Pure. */

import type { ReportTotal } from "../closed.ts";
import { type Amount, formatAmount, parseAmount } from "../money.ts";
import {
  addUp,
  type Contribution,
  eachPart,
  type ReportRow,
  type ReportSide,
  type SideSums,
  type Totals,
  toRows,
} from "../report.ts";

/** One row for each product and currency, in this order. Complete if all rows are. */
export function sumRows(rows: readonly ReportRow[]): ReportRow[] {
  const byProduct = [...Map.groupBy(rows, ({ productId }) => productId)].sort(([a], [b]) => (a < b ? -1 : 1));
  return byProduct.flatMap(([productId, own]) => {
    const totals: Totals = new Map();
    for (const row of own) addUp(totals, toContribution(row, row.currency));
    return toRows(
      productId,
      totals,
      own.every(({ complete }) => complete),
    );
  });
}

/** The sums of all products, one for each currency. Complete if all rows of the currency are. */
export function totalsOf(rows: readonly ReportRow[]): ReportTotal[] {
  const byCurrency = [...Map.groupBy(rows, ({ currency }) => currency)].sort(([a], [b]) => (a < b ? -1 : 1));
  return byCurrency.flatMap(([, own]) => {
    const [sum] = sumRows(own.map((row) => ({ ...row, productId: "" })));
    if (sum === undefined) return [];
    const { productId, provider, ledger, ...figures } = sum;
    const ggr = ggrOf(provider);
    return [{ ...figures, provider: { ...provider, ggr }, ledger: { ...ledger, ggr: ggrOf(ledger) }, ggr }];
  });
}

/** What the operator won: stake − payout. */
export function ggrOf({ stake, payout }: Pick<ReportSide, "stake" | "payout">): string {
  return formatAmount(parseAmount(stake, "stake").minus(parseAmount(payout, "payout")));
}

/** The figures of a stored row or correction, as their text. */
type Figures = Pick<
  ReportRow,
  "provider" | "ledger" | "mismatches" | "adjustments" | "pending" | "rounding" | "outside"
>;

/**
 * The amounts of a row or a correction. Older versions stored neither `moved` nor `outside`: what moved was then the
 * net, and nothing was known to be outside. Their rewards and tips are unknown.
 */
export function toContribution(row: Figures, currency: string): Contribution {
  const stored: {
    readonly ledger: { readonly net: string; readonly moved?: string } & Partial<OfWhich>;
    readonly outside?: string;
  } = row;
  const text = { ...row, moved: stored.ledger.moved ?? stored.ledger.net, outside: stored.outside ?? "0" };
  return {
    currency,
    provider: toSums(row.provider),
    ledger: toSums(row.ledger),
    ...eachPart((part) => parseAmount(text[part], part)),
    rewards: parseKnown(stored.ledger.rewards, "rewards"),
    tips: parseKnown(stored.ledger.tips, "tips"),
  };
}

type OfWhich = Pick<ReportSide, "rewards" | "tips">;

function parseKnown(text: string | null | undefined, field: keyof OfWhich): Amount | null {
  return text == null ? null : parseAmount(text, field);
}

/** A stored row, or a stored side of a correction, as it is shown: what an older version did not store is null. */
export function withUnknown<Sides extends Pick<ReportRow, "provider" | "ledger">>(stored: Sides): Sides {
  const ofWhich = ({ rewards = null, tips = null }: Partial<OfWhich>): OfWhich => ({ rewards, tips });
  const { provider, ledger } = stored;
  return {
    ...stored,
    provider: { ...provider, ...ofWhich(provider) },
    ledger: { ...ledger, ...ofWhich(ledger) },
  };
}

/** A side of a row, as amounts. */
function toSums({ bets, stake, payout, net }: ReportSide): SideSums {
  return {
    bets,
    stake: parseAmount(stake, "stake"),
    payout: parseAmount(payout, "payout"),
    net: parseAmount(net, "net"),
  };
}
