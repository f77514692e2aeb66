/** The plan of a year: its days and steps, its zones, its settings, and what its worker does not do. */

import { DateTime } from "luxon";
import type { Instant } from "../../../src/clock.ts";
import { type Config, parseConfig } from "../../../src/config-file.ts";
import { createRandom, hashText, type Random } from "../../../src/sandbox/world/random.ts";
import type { OddWorldPlan } from "../oddities/odd-plan.ts";
import { planFaults, type SimulatedProduct, STUCK_MS, simulatedProducts } from "../seed-plan.ts";
import { DAY_MS, MINUTE_MS } from "./bet-stories.ts";

const HOUR_MS = 60 * MINUTE_MS;
/** Long enough ago that every simulated moment has passed for real processes too. */
const BEGIN = Date.parse("2025-01-01T00:00:00Z");
/** Play begins when whole days are pulled in every zone. */
const FIRST_PLAY_DAY = 2;
const PLAYED_MS = 30 * MINUTE_MS;
const LATE_MS = 2 * HOUR_MS;
/** The moments of a day at which the worker works. */
const STEPS: readonly number[] = [3 * HOUR_MS + 10 * MINUTE_MS, 11 * HOUR_MS + 10 * MINUTE_MS, 19 * HOUR_MS];
/** Nothing changes so shortly before a step that the provider's report could not show it yet. */
const QUIET_MS = 40 * MINUTE_MS;

/** The products whose bets change after their day. */
export const CHANGING = { bets: "CHANGING", sessions: "REEF" } as const;

/** Zones with and without daylight saving time; some seeds change the zone on the way. */
const ZONES: readonly [string, ...string[]][] = [
  ["Europe/Berlin"],
  ["UTC", "Asia/Bangkok"],
  ["America/New_York", "Europe/London"],
  ["Asia/Bangkok", "America/New_York"],
];

/** A range of days. */
interface Days {
  readonly least: number;
  readonly most: number;
}

export interface YearLength {
  readonly days: number;
  /** days after the last play: changes arrive, and the last days are closed */
  readonly afterwards: number;
  /** how many products play besides those whose bets change */
  readonly products: number;
  /** how many days after its bet a change arrives: later than `closing.after`, sooner than retention */
  readonly late: Days;
  /** how many days the longest bets run: longer than retention keeps ended ones */
  readonly long: Days;
  /** a month is audited this many days after its end: all changes of its bets have arrived and were fetched */
  readonly auditedAfter: number;
  /** in days, by setting */
  readonly retain: {
    readonly records: number;
    readonly entries: number;
    readonly mismatches: number;
    readonly windows: number;
  };
}

export const WHOLE_YEAR: YearLength = {
  days: 365,
  afterwards: 24,
  products: 3,
  late: { least: 3, most: 12 },
  long: { least: 30, most: 70 },
  auditedAfter: 19,
  retain: { records: 26, entries: 22, mismatches: 18, windows: 20 },
};

/** Weeks that show the same in seconds. */
export const SHORT_YEAR: YearLength = {
  days: 12,
  afterwards: 11,
  products: 1,
  late: { least: 3, most: 4 },
  long: { least: 9, most: 10 },
  auditedAfter: 19,
  retain: { records: 8, entries: 7, mismatches: 7, windows: 7 },
};

export interface YearPlan {
  readonly seed: number;
  readonly begin: Instant;
  readonly length: YearLength;
  readonly world: OddWorldPlan;
  /** as in the config file, for the zone of a moment */
  settingsAt(now: Instant): object;
  zoneAt(now: Instant): string;
  readonly zones: readonly string[];
  /** the moments at which the worker works, by day; an empty list: it is down */
  readonly days: readonly (readonly Instant[])[];
  readonly faults: ReturnType<typeof planFaults>;
  /** moves a moment away from the steps */
  quiet(at: Instant): Instant;
  /** the first and the last day, by number, on which bets begin */
  readonly played: { readonly first: number; readonly last: number };
}

export function planYear(seed: number, length: YearLength): YearPlan {
  const begin = BEGIN;
  const random = createRandom(hashText(`${seed}|year`));
  const products = playedProducts(seed, length);
  const zones = ZONES[seed % ZONES.length] ?? ["UTC"];
  const changesAt =
    begin + Math.floor(length.days * 0.4) * DAY_MS + (12 - dayOfMonth(begin, length)) * DAY_MS;
  const zoneAt = (now: Instant) => zones[now >= changesAt ? zones.length - 1 : 0] ?? "UTC";
  const played = { first: FIRST_PLAY_DAY, last: length.days - 1 };
  const numbers = Array.from({ length: length.days + length.afterwards }, (_, day) => day);
  return {
    seed,
    begin,
    length,
    zones,
    zoneAt,
    played,
    settingsAt: (now) => settingsOf(begin, products, zoneAt(now), length.retain),
    world: {
      seed,
      periods: numbers.slice(played.first, length.days).map((day) => {
        const from = begin + day * DAY_MS + hourOfPlay(random, begin + day * DAY_MS) * HOUR_MS;
        return { from, to: from + PLAYED_MS };
      }),
      products: products.map(({ settings: _, ...product }) => ({
        ...product,
        roundsPerMinute: product.roundsPerMinute / 3,
      })),
      players: 12,
      lateSettlementMs: LATE_MS,
      callbackLagMs: 10 * MINUTE_MS,
      reportLagMs: 2 * MINUTE_MS,
      lateReportMs: 45 * MINUTE_MS,
      faultEveryMinutes: 47,
    },
    days: planDays(random, begin, numbers),
    faults: planFaults(seed, begin),
    quiet: (at) => {
      const time = (((at - begin) % DAY_MS) + DAY_MS) % DAY_MS;
      const step = STEPS.find((one) => time > one - QUIET_MS && time <= one);
      return step === undefined ? at : at - time + step + MINUTE_MS;
    },
  };
}

/** The odd product always, and others in turn. */
function playedProducts(seed: number, { products }: YearLength): SimulatedProduct[] {
  const [odd, ...others] = simulatedProducts(seed);
  const first = seed % Math.max(1, others.length);
  const turned = [...others.slice(first), ...others.slice(0, first)];
  return [...(odd === undefined ? [] : [odd]), ...turned].slice(0, products);
}

/** @param archive `closing.archive` */
export function configAt(plan: YearPlan, now: Instant, archive: string | null): Config {
  const config = parseConfig(plan.settingsAt(now));
  return { ...config, closing: { ...config.closing, archive } };
}

/** No round is near the end of a month in any zone, so that its month is known without the code under test. */
function hourOfPlay(random: Random, day: Instant): number {
  const date = DateTime.fromMillis(day, { zone: "utc" });
  const isAtEdge = date.day === 1 || date.day === date.daysInMonth;
  return isAtEdge ? random.between(6, 12) : random.between(0, 20);
}

/** One day of a hundred, or two in a row, have no step: the worker is down. Others lack some steps. */
function planDays(random: Random, begin: Instant, numbers: readonly number[]): (readonly Instant[])[] {
  let down = 0;
  return numbers.map((day) => {
    if (day > 5 && day < numbers.length - 10 && down === 0 && random.oneIn(40)) down = random.between(1, 2);
    const steps = STEPS.map((step) => begin + day * DAY_MS + step);
    if (down === 0) return random.oneIn(12) ? steps.filter(() => !random.oneIn(3)) : steps;
    down -= 1;
    return [];
  });
}

function dayOfMonth(begin: Instant, { days }: YearLength): number {
  return DateTime.fromMillis(begin + Math.floor(days * 0.4) * DAY_MS, { zone: "utc" }).day;
}

function settingsOf(
  begin: Instant,
  products: readonly SimulatedProduct[],
  zone: string,
  retain: YearLength["retain"],
): object {
  const days = (count: number) => `P${count}D`;
  const since = new Date(begin).toISOString();
  return {
    products: [
      ...products.map(({ productId, settings }) => ({ productId, since, ...settings })),
      { productId: CHANGING.bets, since, stuckOpenAfter: "P120D" },
      { productId: CHANGING.sessions, since, settlement: "session" },
    ],
    pull: { requestTimeout: "PT0.4S", overlap: "PT15M", resweepAfter: ["P2D"] },
    diff: { tolerance: { EUR: "0.01" } },
    ledger: { since: new Date(begin - STUCK_MS - HOUR_MS).toISOString(), rowsChange: "replace" },
    closing: { zone, after: "P2D" },
    retain: {
      recordVersions: days(retain.mismatches),
      rawBodies: days(retain.mismatches),
      windows: days(retain.windows),
      records: days(retain.records),
      entries: days(retain.entries),
      mismatches: days(retain.mismatches),
    },
  };
}
