/** The stake that both sides confirmed in time: what bets add to their day, and the shares of a month. Pure. */

import type { Instant } from "../clock.ts";
import { CONFIRMED, CONFIRMED_WITHIN, type ConfirmedShares, type ConfirmedWithin } from "../confirmed.ts";
import { type Amount, shareOf, sumAmounts, ZERO } from "../money.ts";
import type { DayReport, ReportRow } from "../report.ts";
import type { TimeRange } from "../window.ts";
import type { ClosedBet } from "./changed-bets.ts";

type ByTime<Value> = Readonly<Record<ConfirmedWithin, Value>>;

/** A closed day's stake of the provider in one currency, and the parts of it that were confirmed in time. */
export interface ConfirmedDay {
  readonly day: string;
  readonly currency: string;
  readonly stake: Amount;
  readonly within: ByTime<Amount>;
}

function eachTime<Value>(of: (within: ConfirmedWithin) => Value): ByTime<Value> {
  return { hour: of("hour"), day: of("day"), week: of("week") };
}

/** Marks a row of a statement as measured, even if its bets count for nothing. */
export function nothingConfirmed(day: string, currency: string): ConfirmedDay {
  return { day, currency, stake: ZERO, within: eachTime(() => ZERO) };
}

/**
 * What bets add to their days.
 * @param gone what counted for them before, which is subtracted
 */
export function confirmedDaysOf(bets: readonly ClosedBet[], gone: readonly ClosedBet[] = []): ConfirmedDay[] {
  const parts = [...bets.map(partOf), ...gone.map((bet) => negated(partOf(bet)))];
  const byDay = Map.groupBy(parts, ({ day, currency }) => JSON.stringify([day, currency]));
  return [...byDay.values()].flatMap((own) => {
    const [first] = own;
    return first === undefined ? [] : [{ day: first.day, currency: first.currency, ...sumOf(own) }];
  });
}

function partOf({ day, currency, provider: { stake }, confirmed = "never" }: ClosedBet): ConfirmedDay {
  const rank = CONFIRMED.indexOf(confirmed);
  return { day, currency, stake, within: eachTime((of) => (rank <= CONFIRMED.indexOf(of) ? stake : ZERO)) };
}

function negated({ stake, within, ...names }: ConfirmedDay): ConfirmedDay {
  return { ...names, stake: stake.neg(), within: eachTime((of) => within[of].neg()) };
}

function sumOf(parts: readonly Pick<ConfirmedDay, "stake" | "within">[]) {
  return {
    stake: sumAmounts(parts.map(({ stake }) => stake)),
    within: eachTime((of) => sumAmounts(parts.map(({ within }) => within[of]))),
  };
}

/** What was confirmed of some closed days of a product. */
export interface ConfirmedSum extends Pick<ConfirmedDay, "stake" | "within"> {
  /** the end of the last of these days */
  readonly to: Instant;
  /** false: a version that did not measure it yet closed one of these days */
  readonly isWhole: boolean;
}

/** A share is known once all of the days had that time. */
export function sharesOf(
  { stake, within, to, isWhole }: ConfirmedSum,
  now: Instant,
): Pick<ConfirmedShares, "withinHour" | "withinDay" | "withinWeek"> {
  const shareIn = (of: ConfirmedWithin) =>
    isWhole && to + CONFIRMED_WITHIN[of] <= now ? shareOf(within[of], stake) : null;
  return { withinHour: shareIn("hour"), withinDay: shareIn("day"), withinWeek: shareIn("week") };
}

/**
 * The shares of a month.
 * @param days its closed days
 * @param measured what was measured of them
 * @param today the sums of the closed days with their corrections
 */
export function sharesOfMonth(
  days: readonly (TimeRange & Pick<DayReport, "day" | "rows">)[],
  measured: readonly (ConfirmedDay & { readonly productId: string })[],
  today: readonly ReportRow[],
  now: Instant,
): ConfirmedShares[] {
  const known = new Set(measured.map(({ day }) => day));
  const isWhole = days.every(({ day, rows }) => rows.length === 0 || known.has(day));
  const to = Math.max(...days.map((day) => day.to));
  return today
    .filter(({ provider }) => provider.stake !== "0")
    .map(({ productId, currency, provider }) => {
      const own = measured.filter((one) => one.productId === productId && one.currency === currency);
      const shares = sharesOf({ ...sumOf(own), to, isWhole }, now);
      return { productId, currency, stake: provider.stake, ...shares };
    });
}

/** "99.87 %", cut and not rounded: only what is whole is 100 %. @param share decimal text; null: unknown */
export function sayShare(share: string | null): string {
  if (share === null) return "unknown";
  const [whole = "0", decimals = ""] = share.split(".");
  const digits = decimals.padEnd(4, "0");
  return `${Number(whole + digits.slice(0, 2))}.${digits.slice(2, 4)} %`;
}
