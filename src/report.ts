/** The day's statement: the sums of both sides, and what explains their difference. */

import { z } from "zod";
import { AMOUNT, type AnswerOf, COUNT, DATE, FLAG, listOf, objectOf, TEXT } from "./answer.ts";
import type { Instant } from "./clock.ts";
import type { Confirmed } from "./confirmed.ts";
import { type Amount, formatAmount, sumAmounts, ZERO } from "./money.ts";

const REWARDS = AMOUNT.meta({ description: "the part of the payout that was jackpots and bonuses" });
const TIPS = AMOUNT.meta({
  description: "part of the stake in a product that settles by sessions; in others only part of what moved",
});

/** One side of a row; `net` is what the players won; negative: what they lost. */
export const REPORT_SIDE = objectOf({
  bets: COUNT,
  stake: AMOUNT,
  payout: AMOUNT,
  net: AMOUNT,
  /** both null: unknown. A record does not say what it is (§2.4), and a day that an older version closed has neither. */
  rewards: z.nullable(REWARDS),
  tips: z.nullable(TIPS),
});
export type ReportSide = AnswerOf<typeof REPORT_SIDE>;

/** The ledger's side of a row. */
export const LEDGER_REPORT_SIDE = REPORT_SIDE.extend({
  /** the money that the wallet moved for everything that counts on the day, tips included; negative: taken from players */
  moved: AMOUNT,
});

/** The figures of a row that are of neither side, in the order in which a reader sees them. */
export const ROW_FIGURES = [
  "difference",
  "mismatches",
  "adjustments",
  "pending",
  "rounding",
  "rest",
  "outside",
] as const;

export const REPORT_ROW = objectOf({
  productId: TEXT,
  /** ISO 4217 */
  currency: TEXT,
  provider: REPORT_SIDE,
  ledger: LEDGER_REPORT_SIDE,
  /** the provider's net minus the ledger's */
  difference: AMOUNT,
  /** the part of the difference that mismatches explain */
  mismatches: AMOUNT,
  /** the part that was corrected by hand */
  adjustments: AMOUNT,
  /** the part that is not judged yet: graces are not over, or bets still run */
  pending: AMOUNT,
  /** the part within `diff.tolerance` */
  rounding: AMOUNT,
  /** money that moved by entries that no comparison looks at; it is no part of either side */
  outside: AMOUNT,
  /** the part that nothing explains; on a complete day anything but 0 shows an error */
  rest: AMOUNT,
  /** the whole day was fetched */
  complete: FLAG,
});
export type ReportRow = AnswerOf<typeof REPORT_ROW>;

export const DAY_REPORT = objectOf({
  day: DATE,
  /** IANA name of the time zone of the day */
  zone: TEXT,
  rows: listOf(REPORT_ROW),
});
export type DayReport = AnswerOf<typeof DAY_REPORT>;

/** The sums of one side in one currency. */
export interface SideSums {
  readonly bets: number;
  readonly stake: Amount;
  readonly payout: Amount;
  readonly net: Amount;
}

export const NO_SUMS: SideSums = { bets: 0, stake: ZERO, payout: ZERO, net: ZERO };

/** The parts that explain a difference. The unexplained part is the rest. */
export interface Explained {
  readonly mismatches: Amount;
  readonly adjustments: Amount;
  readonly pending: Amount;
  readonly rounding: Amount;
}

/** How both sides of a bet, a round or a session were compared. */
export interface Compared {
  /** the largest difference of their money that counts as equal */
  readonly allowance: Amount;
  /** both sides exist and were found equal */
  readonly agrees: boolean;
}

/** The money that the wallet moved. */
export interface MovedMoney {
  /** for what was compared, or is exempt from it */
  readonly moved: Amount;
  /** for entries that no comparison looks at */
  readonly outside: Amount;
}

/** What the ledger's callbacks say of jackpots, bonuses and tips; null: an older version did not store it. */
export interface RewardsAndTips {
  /** part of the ledger's payout */
  readonly rewards: Amount | null;
  /** part of the ledger's stake in a session, otherwise only of what moved; without those that were cancelled */
  readonly tips: Amount | null;
}

/** What a bet, a round or a session adds to the row of its currency. */
export interface Contribution extends Explained, MovedMoney, RewardsAndTips {
  readonly currency: string;
  readonly provider: SideSums;
  readonly ledger: SideSums;
}

/** The amounts of a contribution beside its two sides. */
export const PARTS = ["mismatches", "adjustments", "pending", "rounding", "moved", "outside"] as const;
export type Parts = Pick<Contribution, (typeof PARTS)[number]>;

/** @returns an amount for each part */
export function eachPart(of: (part: (typeof PARTS)[number]) => Amount): Parts {
  return {
    mismatches: of("mismatches"),
    adjustments: of("adjustments"),
    pending: of("pending"),
    rounding: of("rounding"),
    moved: of("moved"),
    outside: of("outside"),
  };
}

/** A contribution of 0 to everything, without a currency. */
export const NOTHING_COUNTED: Omit<Contribution, "currency"> = {
  provider: NO_SUMS,
  ledger: NO_SUMS,
  ...eachPart(() => ZERO),
  rewards: ZERO,
  tips: ZERO,
};

/** A side that is there. `status` is null of a session, of many bets that were added up, and where it was not stored. */
export interface ShownSide {
  readonly status: string | null;
}

/** What a line shows beside the amounts. */
export interface Shown {
  /** null: this side does not have the bet */
  readonly provider: ShownSide | null;
  readonly ledger: ShownSide | null;
  /** the mismatch that explains a difference, or whose adjustment counts; null: none does */
  readonly mismatchId: string | null;
  /** why both sides differ although no money does; null: they agree, or money says it */
  readonly verdict: "mismatch" | "pending" | null;
}

/** The same of several that count as one. */
export function mergeShown(a: Shown, b: Shown): Shown {
  return {
    provider: mergeSides(a.provider, b.provider),
    ledger: mergeSides(a.ledger, b.ledger),
    mismatchId: a.mismatchId ?? b.mismatchId,
    verdict: a.verdict ?? b.verdict,
  };
}

function mergeSides(a: ShownSide | null, b: ShownSide | null): ShownSide | null {
  if (a === null || b === null) return a ?? b;
  return a.status === b.status ? a : { status: null };
}

/** What a bet, a round or a session counts for, with its names and its time. */
export interface Counted extends Contribution {
  readonly shown: Shown;
  readonly username: string;
  /** "round:…" if the bet has a round, otherwise "bet:…"; "sessions": what is loaded together */
  readonly subject: string;
  /** the id of the bet, or of the first of those that were compared together; of a session: its beginning; empty: the
   * bets of a wide round that are not loaded */
  readonly betRef: string;
  readonly betId: string | null;
  readonly transactionId: string | null;
  /** decides the day */
  readonly at: Instant;
  /** how soon after `at` both sides agreed; absent: never */
  readonly confirmed?: Confirmed;
}

/** The fields of a mismatch that the statement needs. */
export interface ExplainingMismatch {
  /** the amount at risk when the mismatch was last seen; null: the mismatch is about two players or currencies, and explains
   * the whole difference of each */
  readonly amountAtRisk: Amount | null;
  /** the effect when it was last seen, without its adjustments; null: unknown, so the sign is that of the difference */
  readonly effect: Amount | null;
  /** ops resolved it */
  readonly resolved: boolean;
  /** the sum of its adjustments, signed: positive was given to the player; null: no adjustment */
  readonly adjustments: Amount | null;
}

/**
 * Explains the difference of one bet, round or session.
 * @param standing the mismatch that explains the difference; null: none
 * @param waits the difference is not judged yet
 */
export function explainDifference(
  whole: Amount,
  standing: ExplainingMismatch | null,
  waits: boolean,
  { allowance, agrees }: Compared,
): Explained {
  const isRounding = agrees && whole.abs().lte(allowance);
  const difference = isRounding ? ZERO : whole;
  const nothing = {
    mismatches: ZERO,
    adjustments: ZERO,
    pending: ZERO,
    rounding: isRounding ? whole : ZERO,
  };
  if (standing === null) return waits ? { ...nothing, pending: difference } : nothing;
  const adjustments = standing.adjustments ?? ZERO;
  // Ops who resolve it with a correction say that nothing else is missing, so an amount that the correction left must
  // stay visible.
  const isCorrected = standing.resolved && standing.adjustments !== null;
  const isUnknown = standing.effect === null && difference.eq(ZERO);
  const mismatches = isUnknown || isCorrected ? ZERO : partOf(difference, standing).minus(adjustments);
  const left = difference.minus(mismatches).minus(adjustments);
  // A correction cannot be more exact than the ledger's smallest unit.
  if (isCorrected && !difference.eq(ZERO) && left.abs().lte(allowance))
    return { ...nothing, adjustments, rounding: left };
  return { ...nothing, mismatches, adjustments, pending: waits ? left : ZERO };
}

/** The part of a difference that is the mismatch's: what the player has too much, the ledger's side has too much. */
function partOf(difference: Amount, { amountAtRisk, effect }: ExplainingMismatch): Amount {
  if (effect !== null) return effect.neg();
  if (amountAtRisk === null) return difference;
  return difference.lt(ZERO) ? amountAtRisk.neg() : amountAtRisk;
}

/** The sums so far, by currency. */
export type Totals = Map<string, Contribution>;

export function addUp(totals: Totals, one: Contribution): void {
  const total = totals.get(one.currency);
  totals.set(one.currency, total === undefined ? one : addContribution(total, one));
}

/** A product's rows, one for each currency, in the order of the currencies. */
export function toRows(productId: string, totals: Totals, complete: boolean): ReportRow[] {
  return [...totals.values()]
    .sort((a, b) => (a.currency < b.currency ? -1 : 1))
    .map((total) => toRow(productId, total, complete));
}

/** Whether a row of a complete day shows unexplained money. */
export function isUnexplained(row: ReportRow): boolean {
  return row.complete && row.rest !== "0";
}

/** The sum of two contributions in one currency. */
export function addContribution(a: Contribution, b: Contribution): Contribution {
  return {
    currency: a.currency,
    provider: addSums(a.provider, b.provider),
    ledger: addSums(a.ledger, b.ledger),
    ...eachPart((part) => a[part].plus(b[part])),
    rewards: addKnown(a.rewards, b.rewards),
    tips: addKnown(a.tips, b.tips),
  };
}

/** A sum with an unknown part is unknown. */
function addKnown(a: Amount | null, b: Amount | null): Amount | null {
  return a === null || b === null ? null : a.plus(b);
}

function addSums(a: SideSums, b: SideSums): SideSums {
  return {
    bets: a.bets + b.bets,
    stake: a.stake.plus(b.stake),
    payout: a.payout.plus(b.payout),
    net: a.net.plus(b.net),
  };
}

/** A row of a statement. */
export function toRow(productId: string, total: Contribution, complete: boolean): ReportRow {
  const difference = total.provider.net.minus(total.ledger.net);
  const explained = sumAmounts([total.mismatches, total.adjustments, total.pending, total.rounding]);
  return {
    productId,
    currency: total.currency,
    ...toSides(total),
    difference: formatAmount(difference),
    mismatches: formatAmount(total.mismatches),
    adjustments: formatAmount(total.adjustments),
    pending: formatAmount(total.pending),
    rounding: formatAmount(total.rounding),
    outside: formatAmount(total.outside),
    rest: formatAmount(difference.minus(explained)),
    complete,
  };
}

/** Both sides as text. */
export function toSides({
  provider,
  ledger,
  moved,
  rewards,
  tips,
}: Omit<Contribution, "currency">): Pick<ReportRow, "provider" | "ledger"> {
  return {
    provider: toSide(provider, null, null),
    ledger: { ...toSide(ledger, rewards, tips), moved: formatAmount(moved) },
  };
}

function toSide(
  { bets, stake, payout, net }: SideSums,
  rewards: Amount | null,
  tips: Amount | null,
): ReportSide {
  return {
    bets,
    stake: formatAmount(stake),
    payout: formatAmount(payout),
    net: formatAmount(net),
    rewards: formatKnown(rewards),
    tips: formatKnown(tips),
  };
}

/** Decimal text; null: unknown. */
export function formatKnown(amount: Amount | null): string | null {
  return amount === null ? null : formatAmount(amount);
}
