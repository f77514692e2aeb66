/** The plan of a seed: a world, and the settings of the worker. */

import { type Config, parseConfig } from "../../src/config-file.ts";
import type { Fault } from "../../src/sandbox/faults/fault.ts";
import type { TimeRange } from "../../src/window.ts";
import { type LedgerHabit, ledgerSettings } from "./ledger-writer.ts";
import { shareOf } from "./oddities/catalogue.ts";
import type { OddWorldPlan, StyleName } from "./oddities/odd-plan.ts";

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const BEGIN = Date.parse("2026-03-01T00:00:00Z");

/** How long players play, and how long after its start a round may have events, apart from lags. */
const PLAYED_MS = 100 * MINUTE_MS;
const LATE_MS = 2 * HOUR_MS;
/** The length of a step while something happens, and afterwards. */
const STEP_MS = 15 * MINUTE_MS;
const LATER_STEP_MS = 45 * MINUTE_MS;
/** A bet without news is stuck after this time. No correct bet of the world runs as long. */
export const STUCK_MS = 3.25 * HOUR_MS;
const STUCK = "PT3H15M";
/** After the last fault is complete: time for a confirm fetch, and for the comparisons after it. */
const AFTERWARDS_MS = 105 * MINUTE_MS;

export interface SeedPlan {
  readonly world: OddWorldPlan;
  readonly config: Config;
  readonly begin: number;
  /** the moments at which the worker works, in order */
  readonly steps: readonly number[];
  /** moments of `steps` after which the worker is restarted */
  readonly restarts: ReadonlySet<number>;
  /** of the provider */
  readonly faults: readonly Fault[];
  /** the provider does not answer in this range; default: it always answers */
  readonly providerDown?: TimeRange;
}

/** The same seed with an outage in the middle of play, of the worker or the provider. All lost time is fetched at once. */
export function withOutage(plan: SeedPlan, whose: "ours" | "the provider's"): SeedPlan {
  const outage = { from: plan.begin + 30 * MINUTE_MS, to: plan.begin + 4 * HOUR_MS };
  if (whose === "the provider's") return { ...plan, providerDown: outage };
  return { ...plan, steps: plan.steps.filter((step) => step < outage.from || step >= outage.to) };
}

export interface SimulatedProduct {
  readonly productId: string;
  readonly style: StyleName;
  readonly roundsPerMinute: number;
  /** as in the config file */
  readonly settings?: object;
}

const PLAIN: readonly SimulatedProduct[] = [
  { productId: "TABLE", style: "table", roundsPerMinute: 0.2 },
  { productId: "SLOT", style: "slot", roundsPerMinute: 0.3 },
  { productId: "SPORT", style: "sport", roundsPerMinute: 0.2 },
];
const ODD: SimulatedProduct = {
  productId: "ODD",
  style: "odd",
  roundsPerMinute: 0.9,
  settings: { stuckOpenAfter: STUCK },
};
const SPECIAL: readonly SimulatedProduct[] = [
  { productId: "SINGLE", style: "single-state", roundsPerMinute: 0.2, settings: { singleState: true } },
  {
    productId: "LISTED",
    style: "open-listed",
    roundsPerMinute: 0.2,
    settings: { openBetsListed: true, nominalStakes: true, stuckOpenAfter: STUCK },
  },
  { productId: "ROUND", style: "by-round", roundsPerMinute: 0.2, settings: { matchBy: ["round"] } },
  { productId: "FISH", style: "session", roundsPerMinute: 0, settings: { settlement: "session" } },
  {
    productId: "VENDOR",
    style: "mixed",
    roundsPerMinute: 0.3,
    settings: { settlement: "mixed", stuckOpenAfter: STUCK },
  },
];

/** The ways in which operators keep their ledger; each seed has one. */
const LEDGERS: readonly SimulatedProduct[] = [
  {
    productId: "OMITTED",
    style: "lost-omitted",
    roundsPerMinute: 0.3,
    settings: { lostBets: "omitted", stuckOpenAfter: STUCK },
  },
  { productId: "CENTS", style: "two-decimals", roundsPerMinute: 0.3, settings: { stuckOpenAfter: STUCK } },
];

/** Five products for each seed, so that a seed takes seconds: the odd one always, the others in turn. */
export function simulatedProducts(seed: number): SimulatedProduct[] {
  const special = seed % SPECIAL.length;
  // The second special product is each of the others in turn.
  const other = (special + 1 + (Math.floor(seed / SPECIAL.length) % (SPECIAL.length - 1))) % SPECIAL.length;
  return [
    ODD,
    ...PLAIN.filter((_, index) => index === seed % PLAIN.length),
    ...SPECIAL.filter((_, index) => index === special || index === other),
    ...LEDGERS.filter((_, index) => index === seed % LEDGERS.length),
  ];
}

/** How many seeds begin at different times. The nightly draws seeds up to 999,999,000: without a limit these begin beyond all dates. */
export const BEGINS = 10_000;

/**
 * Each seed plays at another time of another day, so that hours, days and months end at different points. Seeds that are
 * 10,000 apart (33 years) share it.
 */
export function planSeed(seed: number, ledger: LedgerHabit = "own"): SeedPlan {
  const begin = BEGIN + (seed % BEGINS) * 29 * HOUR_MS + (seed % 7) * 11 * MINUTE_MS;
  const steps = planSteps(begin);
  const products = simulatedProducts(seed);
  return {
    begin,
    steps,
    restarts: new Set(steps.filter((_, index) => (index + seed) % 5 === 0)),
    faults: planFaults(seed, begin),
    world: {
      seed,
      periods: [{ from: begin, to: begin + PLAYED_MS }],
      products: products.map(({ settings: _, ...product }) => product),
      players: 12,
      lateSettlementMs: LATE_MS,
      // Later than the operator's own answer, sooner than the grace.
      callbackLagMs: 10 * MINUTE_MS,
      reportLagMs: 2 * MINUTE_MS,
      // Sooner than the provider's grace.
      lateReportMs: 45 * MINUTE_MS,
      faultEveryMinutes: 6,
    },
    config: parseConfig({
      products: products.map(({ productId, settings }) => ({
        productId,
        since: new Date(begin).toISOString(),
        ...settings,
      })),
      pull: { requestTimeout: "PT0.4S", overlap: "PT15M", resweepAfter: ["PT1H", "PT2H"] },
      // A currency that only the product with two decimals uses.
      diff: { tolerance: { EUR: "0.01" } },
      // Long before play, so that every bet begins later than the ledger.
      ledger: { since: new Date(begin - STUCK_MS - HOUR_MS).toISOString(), ...ledgerSettings(ledger) },
    }),
  };
}

function planSteps(begin: number): number[] {
  const steps: number[] = [];
  const busyUntil = begin + PLAYED_MS + LATE_MS;
  const end = begin + PLAYED_MS + STUCK_MS + AFTERWARDS_MS;
  let now = begin;
  while (now < end) {
    now += now < busyUntil ? STEP_MS : LATER_STEP_MS;
    steps.push(now);
  }
  return steps;
}

const OF_SECOND_PAGES: ReadonlySet<string> = new Set(["expired-cursor", "repeat-records"]);

/** Either an hour in which long ranges time out, or a few faults of many kinds. */
export function planFaults(seed: number, begin: number): Fault[] {
  const slow: Fault = {
    when: { hoursUtc: [new Date(begin + HOUR_MS).getUTCHours()], longerThan: "PT20M" },
    do: seed % 16 === 0 ? { kind: "hang" } : { kind: "status", status: 504 },
  };
  if (seed % 2 === 0) return [slow];
  const actions: readonly Fault["do"][] = [
    { kind: "half-json" },
    { kind: "cut-short" },
    { kind: "code", code: 1 },
    { kind: "malformed-record", variant: "amount-no-number" },
    { kind: "expired-cursor" },
    { kind: "repeat-records" },
    { kind: "foreign-record" },
    { kind: "status", status: 500 },
  ];
  return actions.map((action) => ({
    when: { share: shareOf(action.kind), ...(OF_SECOND_PAGES.has(action.kind) ? { page: 2 } : {}) },
    do: action,
  }));
}
