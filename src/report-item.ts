/** The lines of a statement: what each bet, round or session adds to its row. Pure. */

import { z } from "zod";
import { AMOUNT, type AnswerOf, COUNT, DATE, listOf, NEXT, objectOf, TEXT } from "./answer.ts";
import { formatAmount, ZERO } from "./money.ts";
import { type Counted, formatKnown, NO_SUMS, type ShownSide, type SideSums } from "./report.ts";

export const EXPLAINED_BY = ["agreed", "mismatch", "pending", "rounding", "correction", "outside"] as const;
export type ExplainedBy = (typeof EXPLAINED_BY)[number];

const STATUS = z.nullable(
  TEXT.meta({ description: "null: of a session, of many bets added up, or not stored" }),
);
const ITEM_SIDE = objectOf({
  status: STATUS,
  /** how many bets the line stands for */
  bets: COUNT,
  stake: AMOUNT,
  payout: AMOUNT,
  /** what the side adds to the row's net */
  net: AMOUNT,
});

const REPORT_ITEM = objectOf({
  day: DATE,
  productId: TEXT,
  currency: TEXT,
  username: z.nullable(TEXT.meta({ description: "null: the sum of a product that nothing compares" })),
  betId: z.nullable(TEXT.meta({ description: "null: the provider does not have the bet" })),
  transactionId: z.nullable(TEXT.meta({ description: "null: the ledger does not have the bet" })),
  roundId: z.nullable(TEXT),
  /** null: the line adds nothing to this side */
  provider: z.nullable(ITEM_SIDE),
  ledger: z.nullable(
    ITEM_SIDE.extend({
      moved: AMOUNT.meta({ description: "of a line `outside`: what it adds to the row's outside" }),
      /** what the line adds to the row's; null: an older version closed the day */
      rewards: z.nullable(AMOUNT),
      tips: z.nullable(AMOUNT),
    }),
  ),
  difference: AMOUNT.meta({ description: "the part of the row's difference that explainedBy explains" }),
  explainedBy: z.nullable(
    z.enum(EXPLAINED_BY).meta({ description: "null: nothing explains it, so it is in the row's rest" }),
  ),
  mismatchId: z.nullable(TEXT),
});
export type ReportItem = AnswerOf<typeof REPORT_ITEM>;

export const REPORT_ITEMS = objectOf({ items: listOf(REPORT_ITEM), next: NEXT });

/** What lines are made of. */
export type ItemBet = Omit<Counted, "at">;

/**
 * The lines of what counts as one. If several things explain parts of one difference, each has a line, and only the first
 * has the two sides. So the differences with one `explainedBy` add up to the row's figure of that name.
 */
export function itemsOf(day: string, productId: string, bet: ItemBet): ReportItem[] {
  const { username, betId, transactionId, subject, currency, provider, ledger, moved, outside, shown } = bet;
  const names = {
    day,
    productId,
    currency,
    username: username === "" ? null : username,
    betId,
    transactionId,
    roundId: subject.startsWith("round:") ? subject.slice("round:".length) : null,
  };
  const rest = provider.net
    .minus(ledger.net)
    .minus(bet.mismatches)
    .minus(bet.adjustments)
    .minus(bet.pending)
    .minus(bet.rounding);
  const explained = [
    { explainedBy: "mismatch", amount: bet.mismatches },
    { explainedBy: "correction", amount: bet.adjustments },
    { explainedBy: "pending", amount: bet.pending },
    { explainedBy: "rounding", amount: bet.rounding },
    { explainedBy: null, amount: rest },
  ] as const;
  const parts = explained.filter(({ amount }) => !amount.eq(ZERO));
  const isOnlyOutside = !outside.eq(ZERO) && parts.length === 0 && isNone(provider, ledger) && moved.eq(ZERO);
  const apart = outside.eq(ZERO)
    ? []
    : [
        {
          ...names,
          provider: null,
          ledger: { ...sideOf(NO_SUMS, shown.ledger), moved: formatAmount(outside), rewards: "0", tips: "0" },
          difference: "0",
          explainedBy: "outside" as const,
          mismatchId: null,
        },
      ];
  if (isOnlyOutside) return apart;
  const lines =
    parts.length > 0 ? parts : [{ explainedBy: shown.verdict ?? "agreed", amount: ZERO } as const];
  return [
    ...lines.map(({ explainedBy, amount }, index) => ({
      ...names,
      provider: index > 0 || isAbsent(shown.provider, provider) ? null : sideOf(provider, shown.provider),
      ledger:
        index > 0 || (isAbsent(shown.ledger, ledger) && moved.eq(ZERO))
          ? null
          : {
              ...sideOf(ledger, shown.ledger),
              moved: formatAmount(moved),
              rewards: formatKnown(bet.rewards),
              tips: formatKnown(bet.tips),
            },
      difference: formatAmount(amount),
      explainedBy,
      mismatchId: explainedBy === "agreed" ? null : shown.mismatchId,
    })),
    ...apart,
  ];
}

function isNone(...sides: readonly SideSums[]): boolean {
  return sides.every(
    ({ bets, stake, payout, net }) => bets === 0 && [stake, payout, net].every((one) => one.eq(ZERO)),
  );
}

function isAbsent(side: ShownSide | null, sums: SideSums): boolean {
  return side === null && isNone(sums);
}

function sideOf({ bets, stake, payout, net }: SideSums, side: ShownSide | null) {
  return {
    status: side?.status ?? null,
    bets,
    stake: formatAmount(stake),
    payout: formatAmount(payout),
    net: formatAmount(net),
  };
}
