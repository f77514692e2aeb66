/** What a seed stands for in a run in real time: how long play lasts, its pace, the settings, and what breaks when. */

import { formatInstant, type Instant } from "../../../src/clock.ts";
import { createRandom, hashText } from "../../../src/sandbox/world/random.ts";
import type { OddWorldPlan, StyleName } from "../oddities/odd-plan.ts";
import type { Restart } from "../own-postgres.ts";

export interface LiveRunPlan {
  readonly seed: number;
  readonly playedMs: number;
  /** of all products together */
  readonly roundsPerSecond: number;
  /** one round in this many has a planted fault */
  readonly faultEvery: number;
  readonly workers: number;
  readonly graces: LiveGraces;
  readonly times: Times;
  readonly products: readonly LiveProduct[];
  /** other processes may take over a killed worker's work at once, as if half a minute had passed */
  readonly endsLeases: boolean;
  /** leaves out rounds of which a part takes some seconds, however short the round is */
  readonly shortRoundsOnly: boolean;
  readonly blows: readonly Blow[];
  /** after the last planted mismatch is found, the run waits this long for false alarms */
  readonly calmMs: number;
}

export interface LiveProduct {
  readonly productId: string;
  readonly style: StyleName;
  /** share of all rounds, relative to the other products; sessions follow from the players */
  readonly share: number;
  /** as in the config file */
  readonly settings?: object;
  /** plain bets, and results that change unheard: no confirm fetch passes, so only resweeps can find them */
  readonly isQuiet?: boolean;
}

/** Something that breaks, and when after the start of play. */
export interface Blow {
  readonly afterMs: number;
  readonly what: /** kill -9 and an immediate restart */
    | { readonly kind: "kill"; readonly who: "worker" | "callbacks"; readonly place: number }
    /** SIGSTOP, and SIGCONT after this time */
    | {
        readonly kind: "stop";
        readonly who: "worker" | "callbacks";
        readonly place: number;
        readonly forMs: number;
      }
    | { readonly kind: "restart-postgres"; readonly how: Restart }
    | { readonly kind: "empty-redis" }
    | { readonly kind: "restart-redis" };
}

const SECOND_MS = 1_000;
const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;

/** The worker's settings that decide what is late, in milliseconds. */
export interface LiveGraces {
  readonly callbackGrace: number;
  readonly providerGrace: number;
  readonly settleDelay: number;
  readonly overlap: number;
  readonly sessionQuiet: number;
  readonly stuckOpenAfter: number;
  readonly resweepAfter: readonly number[];
  /** of top-ups */
  readonly rejectedFinalAfter: number;
}

/** Durations of events in the world, in milliseconds. */
interface Times {
  /** the longest round */
  readonly lateSettlement: number;
  readonly callbackLag: number;
  readonly reportLag: number;
  /** later than callbackGrace and sooner than providerGrace */
  readonly lateReport: number;
  /** time between the sessions of a player; longer than sessionQuiet */
  readonly sessionEvery: number;
}

const GRACES: LiveGraces = {
  callbackGrace: 20 * SECOND_MS,
  providerGrace: 30 * SECOND_MS,
  settleDelay: 2 * SECOND_MS,
  overlap: 10 * SECOND_MS,
  sessionQuiet: 20 * SECOND_MS,
  stuckOpenAfter: 100 * SECOND_MS,
  resweepAfter: [MINUTE_MS, 3 * MINUTE_MS],
  rejectedFinalAfter: 20 * SECOND_MS,
};
const TIMES: Times = {
  lateSettlement: 60 * SECOND_MS,
  callbackLag: 2 * SECOND_MS,
  reportLag: 2 * SECOND_MS,
  lateReport: 24 * SECOND_MS,
  sessionEvery: 100 * SECOND_MS,
};

const PRODUCTS: readonly LiveProduct[] = [
  { productId: "ODD", style: "odd", share: 5, settings: { topUpPath: "ODD_seamless" } },
  { productId: "SINGLE", style: "single-state", share: 1, settings: { singleState: true } },
  {
    productId: "LISTED",
    style: "open-listed",
    share: 1,
    settings: { openBetsListed: true, nominalStakes: true },
  },
  {
    productId: "ROUND",
    style: "by-round",
    share: 1,
    settings: { matchBy: ["round"], stuckOpenAfter: "P1D" },
  },
  { productId: "QUIET", style: "odd", share: 0.5, isQuiet: true },
  { productId: "FISH", style: "session", share: 0, settings: { settlement: "session" } },
];

export function planLiveRun(seed: number, minutes: number): LiveRunPlan {
  const playedMs = Math.round(minutes * MINUTE_MS);
  return {
    seed,
    playedMs,
    roundsPerSecond: 20,
    faultEvery: 30,
    workers: 2,
    graces: GRACES,
    times: TIMES,
    endsLeases: false,
    shortRoundsOnly: false,
    products: PRODUCTS,
    blows: planBlows(seed, playedMs),
    calmMs: 45 * SECOND_MS,
  };
}

/** A few seconds of play with one kill, of the product with the most events. */
export function planShortRun(seed: number): LiveRunPlan {
  return {
    seed,
    playedMs: 6 * SECOND_MS,
    roundsPerSecond: 12,
    faultEvery: 4,
    workers: 1,
    graces: {
      ...GRACES,
      callbackGrace: 4 * SECOND_MS,
      providerGrace: 6 * SECOND_MS,
      overlap: 4 * SECOND_MS,
      stuckOpenAfter: 12 * SECOND_MS,
      // The later ones find vanished records if a slow machine stored them late; elsewhere the run is over by then.
      resweepAfter: [8 * SECOND_MS, 40 * SECOND_MS, 160 * SECOND_MS, 260 * SECOND_MS],
      rejectedFinalAfter: 6 * SECOND_MS,
    },
    times: { ...TIMES, lateSettlement: 8 * SECOND_MS, callbackLag: 400, reportLag: 400, lateReport: 4_800 },
    endsLeases: true,
    shortRoundsOnly: true,
    products: PRODUCTS.filter(({ productId }) => productId === "ODD"),
    blows: [{ afterMs: 3 * SECOND_MS, what: { kind: "kill", who: "worker", place: 0 } }],
    calmMs: 0,
  };
}

/** @param plan the world's side of a run, as the scripts of rounds use it */
export function worldPlanOf(plan: LiveRunPlan, startsAt: Instant): OddWorldPlan {
  const { lateSettlement, callbackLag, reportLag, lateReport } = plan.times;
  return {
    seed: plan.seed,
    periods: [{ from: startsAt, to: startsAt + plan.playedMs }],
    products: plan.products.map(({ productId, style }) => ({ productId, style, roundsPerMinute: 0 })),
    players: 40,
    lateSettlementMs: lateSettlement,
    callbackLagMs: callbackLag,
    reportLagMs: reportLag,
    lateReportMs: lateReport,
    faultEveryMinutes: 0,
    throughCallbacks: true,
  };
}

/** The content of recon.config.json. */
export function configFrom({ products, graces }: LiveRunPlan, now: Instant): object {
  return {
    products: products.map(({ productId, settings }) => ({
      productId,
      since: formatInstant(now - SECOND_MS),
      stuckOpenAfter: iso(graces.stuckOpenAfter),
      ...settings,
    })),
    pull: {
      every: "PT2S",
      settleDelay: iso(graces.settleDelay),
      overlap: iso(graces.overlap),
      requestTimeout: "PT4S",
      windowMin: "PT5S",
      // Only whole windows are fetched again: with an hour's, no time of the run would be.
      windowMax: "PT10S",
      // No fault of the provider lasts: a repeated request is answered in the end.
      attempts: 100,
      resweepAfter: graces.resweepAfter.map(iso),
    },
    diff: {
      every: "PT1S",
      callbackGrace: iso(graces.callbackGrace),
      providerGrace: iso(graces.providerGrace),
      sessionQuiet: iso(graces.sessionQuiet),
    },
    verify: {
      every: "PT2S",
      delays: ["PT2S", "PT5S"],
      rejectedFinalAfter: iso(graces.rejectedFinalAfter),
      recheckRejectedAfter: ["PT1M"],
    },
    alerts: { every: "PT5S" },
    // Long before play, so that every bet begins later than the ledger.
    ledger: { since: formatInstant(now - HOUR_MS) },
  };
}

/** Each kind of blow in turn, again and again. The callbacks server is never away for as long as callbackGrace. */
function planBlows(seed: number, playedMs: number): Blow[] {
  const random = createRandom(hashText(`${seed}|live blows`));
  const every = (eachMs: number, what: () => Blow["what"]) =>
    Array.from({ length: Math.max(1, Math.floor(playedMs / eachMs)) }, (_, index) => {
      const partMs = Math.min(eachMs, playedMs);
      return { afterMs: index * partMs + random.below(partMs), what: what() };
    });
  const at = (share: number, what: Blow["what"]) => ({ afterMs: Math.floor(playedMs * share), what });
  return [
    ...every(80_000, () => ({ kind: "kill", who: "worker", place: random.below(2) })),
    ...every(130_000, () => ({ kind: "kill", who: "callbacks", place: 0 })),
    ...every(110_000, () => ({
      kind: "stop",
      who: "worker",
      place: random.below(2),
      // Sometimes longer than a lease.
      forMs: random.oneIn(4) ? 35_000 : random.between(2_000, 12_000),
    })),
    ...every(150_000, () => ({
      kind: "stop",
      who: "callbacks",
      place: 0,
      forMs: random.between(500, 3_000),
    })),
    at(0.3, { kind: "empty-redis" }),
    at(0.45, { kind: "restart-postgres", how: "fast" }),
    at(0.6, { kind: "restart-redis" }),
    at(0.75, { kind: "restart-postgres", how: "crash" }),
  ].sort((a, b) => a.afterMs - b.afterMs) as Blow[];
}

function iso(lengthMs: number): string {
  return `PT${lengthMs / 1000}S`;
}
