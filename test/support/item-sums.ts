/** What the lines of a statement add up to, row by row: the check that a reader makes in a spreadsheet. */

import { formatAmount, parseAmount } from "../../src/money.ts";
import type { ReportRow } from "../../src/report.ts";
import type { ReportItem } from "../../src/report-item.ts";

type Figures = Record<string, string>;

const FIGURE_OF = {
  mismatch: "mismatches",
  correction: "adjustments",
  pending: "pending",
  rounding: "rounding",
  agreed: "agreed",
  nothing: "rest",
} as const;

/** The figures of the rows, by product and currency; rows that count nothing are left out. */
export function figuresOfRows(rows: readonly ReportRow[]): Record<string, Figures> {
  const sums = new Map<string, Figures>();
  for (const { productId, currency, provider, ledger, complete, ...figures } of rows)
    add(sums, `${productId} ${currency}`, {
      ...named("provider", provider),
      ...named("ledger", ledger),
      ...figures,
    });
  return withoutNothing(sums);
}

/** The same from lines. */
export function figuresOfItems(items: readonly ReportItem[]): Record<string, Figures> {
  const sums = new Map<string, Figures>();
  for (const { productId, currency, provider, ledger, difference, explainedBy } of items) {
    const own = (figures: Figures) => add(sums, `${productId} ${currency}`, figures);
    if (explainedBy === "outside") {
      own({ outside: ledger?.moved ?? "none" });
      continue;
    }
    own({
      ...named("provider", provider ?? {}),
      ...named("ledger", ledger ?? {}),
      difference,
      [FIGURE_OF[explainedBy ?? "nothing"]]: difference,
    });
  }
  return withoutNothing(sums);
}

function named(side: string, values: object): Figures {
  // The provider's rewards and tips are unknown.
  const figures = Object.entries(values).filter(([name, value]) => name !== "status" && value !== null);
  return Object.fromEntries(figures.map(([name, value]) => [`${side}.${name}`, String(value)]));
}

function add(sums: Map<string, Figures>, row: string, figures: Figures): void {
  const sum = sums.get(row) ?? {};
  for (const [name, text] of Object.entries(figures))
    sum[name] = formatAmount(parseAmount(sum[name] ?? "0", name).plus(parseAmount(text, name)));
  sums.set(row, sum);
}

function withoutNothing(sums: Map<string, Figures>): Record<string, Figures> {
  const rows = [...sums].map(([row, figures]) => {
    const some = Object.entries(figures).filter(([, text]) => text !== "0");
    return [row, Object.fromEntries(some)] as const;
  });
  return Object.fromEntries(rows.filter(([, figures]) => Object.keys(figures).length > 0));
}
