/** The two sides of a comparison: the ledger's bets and the provider's records. */

import { groupBy, type ListedRecord, named, sum } from "./facts.ts";
import type { Bet } from "./history.ts";

export interface Rec extends Omit<ListedRecord, "stake" | "payout"> {
  readonly stake: bigint;
  readonly payout: bigint;
}
export type Thing = Bet | Rec;

export const isBet = (one: Thing): one is Bet => "txn" in one;
export const isRec = (one: Thing): one is Rec => !isBet(one);
export const roundOf = (one: Thing) => (isBet(one) ? one.round : named(one.roundId));
export const isRunning = ({ betStatus }: Rec) => betStatus === "OPEN" || betStatus === "UNSETTLED";
export const liveOf = (recs: readonly Rec[]) => recs.filter(({ betStatus }) => betStatus !== "VOID");
export const stakesOf = (values: readonly Thing[]) => sum(values.map(({ stake }) => stake));
export const payoutsOf = (values: readonly Rec[]) => sum(values.map(({ payout }) => payout));
export const paidOf = (values: readonly Bet[]) =>
  sum(values.map(({ settlement, reward }) => settlement + reward));
export const movedOf = (values: readonly Bet[]) =>
  sum(values.map(({ moved, currency }) => moved[currency] ?? 0n));
export const firstOf = ({ rows }: Bet) => Math.min(...rows.map(({ occurred_at }) => occurred_at));

/** The rounds of these bets and records, each currency apart: currencies are never added. */
export function partsOf(things: readonly Thing[]): Thing[][] {
  const inRounds = things.filter((one) => roundOf(one) !== null);
  return groupBy(inRounds, (one) => JSON.stringify([roundOf(one), one.currency]));
}

/** Of records that are steps of one bet the last one counts. */
export function lastSteps(
  recs: readonly Rec[],
  bets: readonly Bet[],
  fits: (rec: Rec, bet: Bet) => boolean,
): Rec[] {
  return groupBy(recs, ({ betId, currency, stake }) => JSON.stringify([betId, currency, `${stake}`])).flatMap(
    (steps) => {
      const bet = bets.find((one) => steps.some((rec) => fits(rec, one)));
      const isTicket = bets.filter(({ txn }) => steps.some(({ id }) => id === txn)).length > 1;
      const isParts = bet !== undefined && bet.stake !== 0n && stakesOf(steps) === bet.stake;
      if (steps.every(isRunning) || !steps.some(isRunning) || isTicket || isParts) return steps;
      const dateOf = ({ updatedDate }: Rec) => Date.parse(updatedDate);
      return steps
        .toSorted((a, b) => dateOf(a) - dateOf(b) || Number(isRunning(b)) - Number(isRunning(a)))
        .slice(-1);
    },
  );
}
