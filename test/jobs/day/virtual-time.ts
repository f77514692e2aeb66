/** Plays the ticks of jobs in simulated time: time moves only while the program waits, and a little while it works. */

import type { Clock, Instant } from "../../../src/clock.ts";
import { createRandom } from "../../../src/sandbox/world/random.ts";

/** Something that is due again and again. */
export interface Ticking {
  readonly everyMs: number;
  /** Ticks with the same queue share its places; a tick that finds none waits. */
  readonly queue: string;
  readonly places: number;
  run(signal: AbortSignal): Promise<unknown>;
}

export interface VirtualTime {
  readonly clock: Clock;
  /** Time stands still until this has ended: a statement or a request takes no simulated time by itself. */
  during<Result>(work: Promise<Result>): Promise<Result>;
  /** Moves to a later time while nothing runs. */
  set(now: Instant): void;
  /**
   * Plays all ticks up to the end, then aborts what still runs.
   * @throws the first error of a tick
   */
  play(ticks: readonly Ticking[], end: Instant): Promise<void>;
}

/** Each look at the clock moves it by less than this. */
const LOOK_MS = 5;
/** A continuation may begin its next statement only after some turns of the event loop. */
const QUIET_TURNS = 4;

interface Sleeper {
  readonly at: Instant;
  wake(): void;
}

export function createVirtualTime(start: Instant, seed: number): VirtualTime {
  const random = createRandom(seed);
  const sleepers = new Set<Sleeper>();
  let now = start;
  let underWay = 0;
  const clock: Clock = {
    now: () => {
      now += random.below(LOOK_MS);
      return now;
    },
    sleep: (waitMs, signal) =>
      new Promise((resolve) => {
        if (signal?.aborted) return resolve();
        const sleeper = { at: now + waitMs, wake: () => finish() };
        const finish = () => {
          sleepers.delete(sleeper);
          signal?.removeEventListener("abort", finish);
          resolve();
        };
        signal?.addEventListener("abort", finish);
        sleepers.add(sleeper);
      }),
  };
  let onIdle: () => void = () => {};
  const untilQuiet = async () => {
    for (let turns = 0; turns < QUIET_TURNS; turns += 1) {
      await new Promise<void>((resolve) => setImmediate(resolve));
      if (underWay === 0) continue;
      await new Promise<void>((resolve) => {
        onIdle = resolve;
      });
      turns = -1;
    }
  };
  const during: VirtualTime["during"] = async (work) => {
    underWay += 1;
    try {
      return await work;
    } finally {
      underWay -= 1;
      if (underWay === 0) onIdle();
    }
  };

  const play: VirtualTime["play"] = async (ticks, end) => {
    const ending = new AbortController();
    const running = new Map<string, number>();
    const all = new Set<Promise<void>>();
    const failures: unknown[] = [];
    const due = ticks.map((tick) => ({ tick, at: now }));
    const hasPlace = ({ tick }: (typeof due)[number]) => (running.get(tick.queue) ?? 0) < tick.places;
    const count = (queue: string, by: number) => running.set(queue, (running.get(queue) ?? 0) + by);
    const begin = ({ queue, run }: Ticking) => {
      count(queue, 1);
      const ended = run(ending.signal)
        .catch((error: unknown) => {
          if (!ending.signal.aborted) failures.push(error);
        })
        .then(() => {
          count(queue, -1);
          all.delete(ended);
        });
      all.add(ended);
    };
    while (failures.length === 0) {
      await untilQuiet();
      const next = due.filter(hasPlace).sort((a, b) => a.at - b.at)[0];
      const sleeper = [...sleepers].sort((a, b) => a.at - b.at)[0];
      const at = Math.min(next?.at ?? end, sleeper?.at ?? end);
      if (at >= end) break;
      now = Math.max(now, at);
      if (next !== undefined && next.at === at) {
        begin(next.tick);
        // As BullMQ does: the next tick is a multiple of the interval, however long this one waited for a place.
        next.at += next.tick.everyMs * Math.max(1, Math.ceil((now - next.at) / next.tick.everyMs));
      } else sleeper?.wake();
    }
    now = Math.max(now, end);
    ending.abort();
    while (all.size > 0) {
      for (const { wake } of sleepers) wake();
      await new Promise<void>((resolve) => setImmediate(resolve));
    }
    if (failures.length > 0) throw failures[0];
  };
  return {
    clock,
    during,
    play,
    set: (at) => {
      now = Math.max(now, at);
    },
  };
}
