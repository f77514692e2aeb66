/** Puts two days' statements beside each other. Pure. */

import type { ComparedRow, DayStatement, DaysCompared } from "../closed.ts";
import { type ReportRow, ROW_FIGURES } from "../report.ts";
import { rowOf } from "./changed-bets.ts";
import { totalsOf } from "./sum-rows.ts";

/** A line for each product and currency of either day. The change is the first day's figure minus the second one's. */
export function compareDays(day: DayStatement, against: DayStatement): DaysCompared {
  const [rows, others] = [day, against].map(
    (one) => new Map(one.rows.map((row) => [keyOf(row), row] as const)),
  );
  const keys = [...new Set([...(rows?.keys() ?? []), ...(others?.keys() ?? [])])];
  const compared = keys.flatMap((key) => compareRows(rows?.get(key) ?? null, others?.get(key) ?? null));
  return { ...named(day), against: named(against), rows: compared };
}

function named({ day, zone, from, to, closed }: DayStatement): DaysCompared["against"] {
  return { day, zone, from, to, closed };
}

function keyOf({ productId, currency }: ReportRow): string {
  return JSON.stringify([productId, currency]);
}

function compareRows(row: ReportRow | null, other: ReportRow | null): ComparedRow[] {
  const some = row ?? other;
  if (some === null) return [];
  const { productId, currency } = some;
  const isPair = row !== null && other !== null;
  const change = isPair ? figuresOf(rowOf({ productId, currency, before: other, after: row })) : null;
  return [
    {
      productId,
      currency,
      day: figuresOf(row),
      against: figuresOf(other),
      change: change === null ? null : withoutComplete(change),
    },
  ];
}

function figuresOf(row: ReportRow | null): ComparedRow["day"] {
  const [total] = row === null ? [] : totalsOf([row]);
  if (total === undefined) return null;
  const { currency, ...figures } = total;
  return figures;
}

function withoutComplete({ complete, ...figures }: NonNullable<ComparedRow["day"]>): ComparedRow["change"] {
  return figures;
}

type Figures = NonNullable<ComparedRow["change"]>;

/** The figures in the order in which a reader sees them. */
const SIDE_FIGURES = ["bets", "stake", "payout", "net", "ggr"] as const;

/** A figure of a row on both days; null: the day has no such row. */
export interface ComparedFigure {
  /** as in JSON and CSV: "provider.stake" */
  readonly name: string;
  /** decimal text, or a number of bets; also null: an older version closed the day and did not store it */
  readonly day: string | number | null;
  readonly against: string | number | null;
  readonly change: string | number | null;
}

/** The figures of a row, one by one. */
export function figuresOfRow({ day, against, change }: ComparedRow): ComparedFigure[] {
  const figure = (name: string, of: (figures: Figures) => string | number | null): ComparedFigure => ({
    name,
    day: day === null ? null : of(day),
    against: against === null ? null : of(against),
    change: change === null ? null : of(change),
  });
  return [
    ...(["provider", "ledger"] as const).flatMap((side) =>
      SIDE_FIGURES.map((name) => figure(`${side}.${name}`, (figures) => figures[side][name])),
    ),
    figure("ledger.moved", ({ ledger }) => ledger.moved),
    // The provider's are always unknown.
    figure("ledger.rewards", ({ ledger }) => ledger.rewards),
    figure("ledger.tips", ({ ledger }) => ledger.tips),
    ...ROW_FIGURES.map((name) => figure(name, (figures) => figures[name])),
  ];
}

/** "provider.ggr" → "provider's GGR" */
export function sayFigure(name: string): string {
  const [side, figure] = name.split(".");
  if (figure === undefined) return WORDS[name] ?? name;
  return `${side}'s ${figure === "ggr" ? "GGR" : figure}`;
}

const WORDS: Readonly<Record<string, string>> = {
  difference: "difference of net",
  adjustments: "adjustments by hand",
  outside: "outside the comparison",
};
