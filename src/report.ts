/** The day's statement: what both sides say about a day's money, and what explains each difference. */

import { type Amount, formatAmount, sumAmounts, ZERO } from "./money.ts";

/** One side of a row. Amounts are decimal text; `net` is what the player won, negative what the player lost. */
export interface ReportSide {
  readonly bets: number;
  readonly stake: string;
  readonly payout: string;
  readonly net: string;
}

export interface ReportRow {
  readonly productId: string;
  /** ISO 4217 */
  readonly currency: string;
  readonly provider: ReportSide;
  readonly ledger: ReportSide;
  /** the provider's net less the ledger's */
  readonly difference: string;
  /** of the difference, what mismatches explain */
  readonly mismatches: string;
  /** what people corrected by hand */
  readonly adjustments: string;
  /** what is not judged yet: graces still hold it, or it runs */
  readonly pending: string;
  /** what amounts differ by that count as equal (`diff.tolerance`) */
  readonly rounding: string;
  /** what nothing explains; anything but 0 is an error while the day is complete */
  readonly rest: string;
  /** the day has been fetched without a gap */
  readonly complete: boolean;
}

export interface DayReport {
  /** YYYY-MM-DD */
  readonly day: string;
  /** IANA name of the time zone whose day it is */
  readonly zone: string;
  readonly rows: readonly ReportRow[];
}

/** What one side says of something, in one currency. */
export interface SideSums {
  readonly bets: number;
  readonly stake: Amount;
  readonly payout: Amount;
  readonly net: Amount;
}

export const NO_SUMS: SideSums = { bets: 0, stake: ZERO, payout: ZERO, net: ZERO };

/** What explains the difference of a bet or a round: what stays unexplained is the rest. */
export interface Explained {
  readonly mismatches: Amount;
  readonly adjustments: Amount;
  readonly pending: Amount;
  readonly rounding: Amount;
}

/** How both sides of a bet, a round or a session were compared. */
export interface Compared {
  /** what their money may differ by and still be equal */
  readonly allowance: Amount;
  /** both sides are there, and were found equal */
  readonly agrees: boolean;
}

/** What a bet, a round or a session adds to the row of its currency. */
export interface Contribution extends Explained {
  readonly currency: string;
  readonly provider: SideSums;
  readonly ledger: SideSums;
}

/** A mismatch that explains a difference, as far as the statement needs it. */
export interface ExplainingMismatch {
  /** |difference| when it was last seen; null: it is about two players or currencies, and explains each one's part */
  readonly amountAtRisk: Amount | null;
  /** a person called it resolved */
  readonly resolved: boolean;
  /** what people corrected by hand for it, signed: positive was given to the player; null: nothing was corrected */
  readonly adjustments: Amount | null;
}

/**
 * What explains the difference of one bet, round or session.
 * @param standing the mismatch that explains the difference; null: there is none
 * @param waits graces still hold it
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
  // Who corrected by hand says that this was all: what the correction left open must be seen.
  const isCorrected = standing.resolved && standing.adjustments !== null;
  const atRisk = standing.amountAtRisk ?? difference.abs();
  const signed = difference.lt(ZERO) ? atRisk.neg() : atRisk;
  const mismatches = difference.eq(ZERO) || isCorrected ? ZERO : signed.minus(adjustments);
  const left = difference.minus(mismatches).minus(adjustments);
  // Nobody can correct by hand what is less than the smallest amount that the ledger keeps.
  if (isCorrected && !difference.eq(ZERO) && left.abs().lte(allowance))
    return { ...nothing, adjustments, rounding: left };
  return { ...nothing, mismatches, adjustments, pending: waits ? left : ZERO };
}

/** What has been added up so far, by currency. */
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

/** Whether a row shows money that nothing explains although all of its day has been fetched. */
export function isUnexplained(row: ReportRow): boolean {
  return row.complete && row.rest !== "0";
}

function addContribution(a: Contribution, b: Contribution): Contribution {
  return {
    currency: a.currency,
    provider: addSums(a.provider, b.provider),
    ledger: addSums(a.ledger, b.ledger),
    mismatches: a.mismatches.plus(b.mismatches),
    adjustments: a.adjustments.plus(b.adjustments),
    pending: a.pending.plus(b.pending),
    rounding: a.rounding.plus(b.rounding),
  };
}

function addSums(a: SideSums, b: SideSums): SideSums {
  return {
    bets: a.bets + b.bets,
    stake: a.stake.plus(b.stake),
    payout: a.payout.plus(b.payout),
    net: a.net.plus(b.net),
  };
}

function toRow(productId: string, total: Contribution, complete: boolean): ReportRow {
  const difference = total.provider.net.minus(total.ledger.net);
  const explained = sumAmounts([total.mismatches, total.adjustments, total.pending, total.rounding]);
  return {
    productId,
    currency: total.currency,
    provider: toSide(total.provider),
    ledger: toSide(total.ledger),
    difference: formatAmount(difference),
    mismatches: formatAmount(total.mismatches),
    adjustments: formatAmount(total.adjustments),
    pending: formatAmount(total.pending),
    rounding: formatAmount(total.rounding),
    rest: formatAmount(difference.minus(explained)),
    complete,
  };
}

function toSide({ bets, stake, payout, net }: SideSums): ReportSide {
  return { bets, stake: formatAmount(stake), payout: formatAmount(payout), net: formatAmount(net) };
}
