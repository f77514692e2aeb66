/** What a seed stands for in a run through real callbacks: the world, its pace, and which process is killed when. */

import { formatInstant, type Instant } from "../../src/clock.ts";
import type { MismatchKind } from "../../src/mismatch.ts";
import type { Fault } from "../../src/sandbox/faults/fault.ts";
import { createRandom, hashText } from "../../src/sandbox/world/random.ts";
import type { OddWorldPlan } from "./oddities/odd-plan.ts";
import { planSeed, type SeedPlan } from "./seed-plan.ts";

export interface CallbackPlan {
  readonly seed: number;
  readonly world: OddWorldPlan;
  readonly begin: Instant;
  /** by product */
  readonly singleState: ReadonlyMap<string, boolean>;
  readonly blows: readonly Blow[];
  /** from the start of play until a bet without news is stuck */
  readonly lastsMs: number;
  /** of the provider: mild faults */
  readonly faults: readonly Fault[];
  /** the content of recon.config.json */
  configFrom(now: Instant): object;
}

/** A kill -9, and its time after the start of play. */
interface Blow {
  readonly afterMs: number;
  readonly who: "worker" | "callbacks";
}

/** An hour of the world in 3.6 s. */
export const PACE = 1000;
const HOUR_MS = 3_600_000;
/** 20 min of the world instead of 45: 1.2 s of the run. Providers round times to a second, which stays a second here. */
const LATE_REPORT_MS = 20 * 60_000;
const CALLBACK_GRACE_MS = 5_000;
const PROVIDER_GRACE_MS = 4_000;
/** Longer than any time after its date at which a record can still change, so that each pull reads it again. */
const OVERLAP_MS = 12_000;

/**
 * Mismatches that a correct callbacks server never causes: the wallet moved another amount than requested, answered another
 * balance, or settled an unknown bet.
 */
const BY_WALLET: readonly MismatchKind[] = ["net-differs", "balance-differs", "missing-placement"];

export function isByWallet(kind: MismatchKind): boolean {
  return BY_WALLET.includes(kind);
}

/** @param kills how often the worker is killed; the callbacks server is killed half as often */
export function planCallbackRun(seed: number, kills: number): CallbackPlan {
  const { world, begin, config } = withoutOtherLedgers(planSeed(seed));
  const stuckMs = Math.max(
    ...config.products.map(({ stuckOpenAfter }) => stuckOpenAfter).filter((ms) => ms < 24 * HOUR_MS),
  );
  const playedMs = Math.max(...world.periods.map(({ to }) => to)) - begin;
  const lastsMs = (playedMs + stuckMs) / PACE;
  const products = config.products.map((product) => ({
    productId: product.productId,
    matchBy: product.matchBy,
    settlement: product.settlement,
    singleState: product.singleState,
    openBetsListed: product.openBetsListed,
    nominalStakes: product.nominalStakes,
    // The run can never last a day.
    stuckOpenAfter: iso(product.stuckOpenAfter / (product.stuckOpenAfter > stuckMs ? 1 : PACE)),
  }));
  return {
    seed,
    begin,
    lastsMs,
    world: { ...world, lateReportMs: LATE_REPORT_MS, throughCallbacks: true },
    singleState: new Map(products.map(({ productId, singleState }) => [productId, singleState])),
    blows: planBlows(seed, kills, lastsMs),
    faults: MILD_FAULTS,
    configFrom: (now) => ({
      products: products.map((product) => ({ ...product, since: formatInstant(now - 1_000) })),
      pull: {
        every: "PT0.8S",
        settleDelay: "PT0.5S",
        overlap: iso(OVERLAP_MS),
        requestTimeout: "PT5S",
        attempts: 100,
        resweepAfter: [],
      },
      diff: {
        every: "PT1S",
        callbackGrace: iso(CALLBACK_GRACE_MS),
        providerGrace: iso(PROVIDER_GRACE_MS),
        sessionQuiet: iso(config.diff.sessionQuiet / PACE),
      },
      // Long before play, so that every bet begins later than the ledger.
      ledger: { since: formatInstant(now - HOUR_MS) },
    }),
  };
}

/** `recon callbacks` writes the ledger by its settings: products whose operator writes another ledger are left out. */
function withoutOtherLedgers({ world, config, ...plan }: SeedPlan): SeedPlan {
  const others = world.products.filter(({ style }) => style === "lost-omitted" || style === "two-decimals");
  const isOwn = ({ productId }: { readonly productId: string }) =>
    others.every((other) => other.productId !== productId);
  return {
    ...plan,
    world: { ...world, products: world.products.filter(isOwn) },
    config: { ...config, products: config.products.filter(isOwn) },
  };
}

/** Spread over the whole time, each at a random moment of its part. */
function planBlows(seed: number, kills: number, lastsMs: number): Blow[] {
  const random = createRandom(hashText(`${seed}|callback kills`));
  const spread = (count: number, who: Blow["who"]) =>
    Array.from({ length: count }, (_, place) => {
      const partMs = Math.floor(lastsMs / count);
      return { who, afterMs: place * partMs + random.below(partMs) };
    });
  const blows = [...spread(kills, "worker"), ...spread(Math.ceil(kills / 2), "callbacks")];
  return blows.sort((a, b) => a.afterMs - b.afterMs);
}

const MILD_FAULTS: readonly Fault[] = [
  { when: { share: 0.02 }, do: { kind: "half-json" } },
  { when: { share: 0.02 }, do: { kind: "cut-short" } },
  { when: { share: 0.02 }, do: { kind: "status", status: 503 } },
  { when: { share: 0.02 }, do: { kind: "code", code: 1 } },
  { when: { share: 0.02 }, do: { kind: "malformed-record", variant: "amount-no-number" } },
  { when: { share: 0.05, page: 2 }, do: { kind: "expired-cursor" } },
  { when: { share: 0.05, page: 2 }, do: { kind: "repeat-records" } },
];

function iso(lengthMs: number): string {
  return `PT${lengthMs / 1000}S`;
}
