/** The two sides of a comparison: the ledger's bets and the provider's records. */

import { abs, type Facts, groupBy, type ListedRecord, named, sum, tolerated } from "./facts.ts";
import { type Bet, isReward } from "./history.ts";

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
const stakesOf = (values: readonly Thing[]) => sum(values.map(({ stake }) => stake));
export const payoutsOf = (values: readonly Rec[]) => sum(values.map(({ payout }) => payout));
export const paidOf = (values: readonly Bet[]) =>
  sum(values.map(({ settlement, reward }) => settlement + reward));
export const movedOf = (values: readonly Bet[]) =>
  sum(values.map(({ moved, currency }) => moved[currency] ?? 0n));
/** What the ledger declares paid of bets that ran on. */
const partsPaid = (values: readonly Bet[]) =>
  sum(values.map(({ parts, reward, status }) => parts + (status === "open" ? reward : 0n)));
export const firstOf = ({ rows }: Bet) => Math.min(...rows.map(({ occurred_at }) => occurred_at));

/** The rounds of these bets and records, each currency apart: currencies are never added. */
export function roundsOf(things: readonly Thing[]): Thing[][] {
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

/** What both sides say and moved. */
export function weighFor(facts: Facts, own: readonly Bet[], recs: readonly Rec[]) {
  const live = liveOf(recs);
  const alive = own.filter(({ status }) => status !== "void");
  const [stake, paid, moved] = [stakesOf(alive), paidOf(alive), movedOf(own)];
  const runs = live.some(isRunning);
  const isOpen = own.some(({ status }) => status === "open");
  // −stake of a running record, plus the parts that the ledger declares paid.
  const nets = live.map((rec) => (isRunning(rec) ? -rec.stake : rec.payout - rec.stake));
  const isOurs = own.every(({ isTip }) => isTip) && live.length === 0;
  const wrong = moved - (isOurs ? -stake : sum(nets) + (runs ? partsPaid(own) : 0n));
  // Readings of the largest difference of the amounts: with those of void bets and records, or without.
  const amounts = [[own, recs] as const, [alive, recs] as const, [alive, live] as const];
  const differences = amounts.map(([ours, theirs]) => {
    const [stake, payout] = [stakesOf(theirs) - stakesOf(ours), payoutsOf(theirs) - paidOf(ours)].map(abs);
    return stake !== undefined && payout !== undefined && stake > payout ? stake : (payout ?? 0n);
  });
  const atRisk = wrong === 0n ? differences : [abs(wrong)];
  const length = own.reduce((count, { rows }) => count + rows.length, recs.length - 1);
  const allowed = tolerated(facts, own[0]?.currency ?? recs[0]?.currency ?? "", length);
  const near = (one: bigint, other: bigint) => abs(one - other) <= allowed;
  const theirs = { stake: stakesOf(live), paid: payoutsOf(live) };
  return {
    stake,
    paid,
    moved,
    theirs,
    runs,
    isOpen,
    wrong,
    near,
    atRisk,
  };
}

/** Free games (docs/mismatches.md): the player did not pay the stake of the record. */
export function freeStakes(
  own: readonly Bet[],
  recs: readonly Rec[],
  fits: (rec: Rec, bet: Bet) => boolean,
): Rec[] {
  for (const bet of own) {
    const placed = bet.rows.filter(({ callback }) => callback === "placeBets");
    if (placed.length > 0 && placed.every((row) => row.skip_balance_update) && bet.debited === 0n)
      bet.stake = 0n;
  }
  return recs.map((rec) => {
    const beside = [...own, ...recs].filter((one) => roundOf(one) === named(rec.roundId));
    const inRound = named(rec.roundId) === null ? [] : beside.filter(isBet);
    const isEqual = inRound.length > 0 && stakesOf(inRound) === stakesOf(beside.filter(isRec));
    const its_ = own.filter((bet) => fits(rec, bet));
    const isNamed = beside.filter(isRec).some((other) => own.some((bet) => fits(other, bet)));
    const its = its_.length > 0 ? its_ : isNamed ? [] : inRound;
    const isFree = its.length > 0 && its.every((bet) => isReward(bet) || (bet.isPlaced && bet.stake === 0n));
    return isFree && !isEqual ? { ...rec, stake: 0n } : rec;
  });
}
