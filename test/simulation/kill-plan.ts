/** What a seed stands for in a run with kills: how the worker runs, and what happens to it when. */

import { createRandom, hashText, type Random } from "../../src/sandbox/world/random.ts";
import { RESTARTS, type Restart } from "./own-postgres.ts";

/** What happens to Redis while a worker is killed: emptied in place, or restarted empty. */
type RedisFate = "kept" | "emptied" | "restarted";

/** Something that happens to the worker while it pulls. */
export interface Blow {
  /** waits until this share of all time is fetched, from 0 to 1; null: does not wait */
  readonly atProgress: number | null;
  /** and then this time, so that the blow may come between any two steps of the work */
  readonly afterMs: number;
  readonly what:
    | { readonly kind: "kill"; readonly redis: RedisFate }
    | { readonly kind: "restart-postgres"; readonly how: Restart };
}

export interface KillPlan {
  readonly seed: number;
  readonly queuesInRedis: boolean;
  readonly workers: 1 | 2;
  readonly playedHours: number;
  readonly faults: "hostile" | "none";
  readonly blows: readonly Blow[];
  /** work that the last blow interrupted waits until its lease ends */
  readonly waitsForLease: boolean;
}

/** One kill in this many comes shortly after the worker was started again. */
const ONE_IN_SOON = 3;
/** A worker is up and pulls before the end of this time. */
const SOON_MS = 2_000;
/** Longer than a request and its page take. */
const ANY_STEP_MS = 300;
/** All blows come before the end of the work. */
const LAST_AT = 0.9;

/** @param kills how many times a worker is killed; once in between PostgreSQL is restarted */
export function planKills(
  seed: number,
  kills: number,
  faults: "hostile" | "none",
  playedHours: number,
): KillPlan {
  const random = createRandom(hashText(`${seed}|kills`));
  const queuesInRedis = seed % 2 === 1;
  const restartAt = random.below(kills + 1);
  const blows = Array.from({ length: kills + 1 }, (_, place): Blow => {
    const atProgress = (LAST_AT * (place + 1)) / (kills + 1);
    if (place !== restartAt) return planKill(random, atProgress, queuesInRedis);
    const what = { kind: "restart-postgres", how: random.pick(RESTARTS) } as const;
    return { atProgress, afterMs: random.below(ANY_STEP_MS), what };
  });
  return {
    seed,
    queuesInRedis,
    workers: random.oneIn(3) ? 2 : 1,
    playedHours,
    faults,
    blows,
    waitsForLease: seed % 5 === 0,
  };
}

function planKill(random: Random, atProgress: number, queuesInRedis: boolean): Blow {
  const isSoon = random.oneIn(ONE_IN_SOON);
  const afterMs = random.below(isSoon ? SOON_MS : ANY_STEP_MS);
  const redis = queuesInRedis && random.oneIn(4) ? random.pick(["emptied", "restarted"] as const) : "kept";
  return { atProgress: isSoon ? null : atProgress, afterMs, what: { kind: "kill", redis } };
}

/** The plan in words. */
export function describePlan({ queuesInRedis, workers, blows, waitsForLease }: KillPlan): string {
  const countRedis = (fate: RedisFate) =>
    blows.filter(({ what }) => what.kind === "kill" && what.redis === fate).length;
  const [emptied, restarted] = [countRedis("emptied"), countRedis("restarted")];
  const restarts = blows.flatMap(({ what }) => (what.kind === "restart-postgres" ? [what.how] : []));
  return [
    `${workers === 1 ? "one worker" : "two workers"}, queues in ${queuesInRedis ? "Redis" : "PostgreSQL"}`,
    `${blows.length - restarts.length} kills`,
    ...(emptied > 0 ? [`Redis emptied ${emptied} times`] : []),
    ...(restarted > 0 ? [`Redis restarted ${restarted} times`] : []),
    ...restarts.map((how) => `PostgreSQL restarted (${how})`),
    ...(waitsForLease ? ["the last lease ran out by itself"] : []),
  ].join(", ");
}
