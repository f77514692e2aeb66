/** Orders of events that fast-check chooses: each statement, request and event is one step, and one step runs at a time. */

import fc, { type Scheduler } from "fast-check";
import type { Clock, Instant } from "../../src/clock.ts";
import { monotonicMs } from "../../src/clock.ts";
import type { Sql } from "../../src/db/client.ts";
import { type Around, watchedSql } from "./watched-sql.ts";

/** `npm run nightly` plays more orders. */
const RUNS = Number(process.env["RECON_TEST_RUNS"] ?? 40);
const MOST_STEPS_OF_LIFE = 30;
const TURNS_AFTERWARDS = 4;

export interface Orders {
  /** Runs something as one step, when its turn comes. */
  step<Result>(label: string, run: () => Promise<Result>): Promise<Result>;
  /**
   * The connection of a process: each statement, and each whole transaction, is a step.
   * @param isAlive false: the process was killed, and its next statement never comes
   */
  connect(name: string, sql: Sql, isAlive?: () => boolean): Sql;
  /** a wait ends at any time, and at once when its signal aborts */
  clock(now: () => Instant): Clock;
  /** after how many of its steps a process is killed, for plays that kill one */
  readonly stepsOfLife: number;
  /** how long the play has taken so far, in real time: leases end by the clock of the database */
  tookMs(): number;
}

/**
 * Plays something in many orders. A failure names its seed, and shows the steps of the shortest order that fails.
 * @param play rejects if something is wrong; ends when all processes have ended
 * @param judge called when nothing is left to run
 */
export async function inManyOrders<Played>(
  play: (orders: Orders) => Promise<Played>,
  judge: (played: Played, orders: Orders) => Promise<void>,
): Promise<void> {
  await fc.assert(
    fc.asyncProperty(fc.scheduler(), fc.nat(MOST_STEPS_OF_LIFE), async (scheduler, stepsOfLife) => {
      const orders = ordersOf(scheduler, stepsOfLife);
      const played = await scheduler.waitFor(play(orders));
      // What a process does after its last step (a slot that it kept is given back) begins some turns of the loop later.
      for (let turns = 0; turns < TURNS_AFTERWARDS; turns += 1) {
        await new Promise<void>((resolve) => setImmediate(resolve));
        await scheduler.waitIdle();
      }
      await judge(played, orders);
    }),
    { numRuns: RUNS },
  );
}

function ordersOf(scheduler: Scheduler, stepsOfLife: number): Orders {
  const begunAt = monotonicMs();
  const step: Orders["step"] = (label, run) =>
    new Promise((resolve, reject) => {
      // The step runs within its turn, so no other one runs beside it.
      scheduler.scheduleSequence([{ label, builder: () => run().then(resolve, reject) }]);
    });
  return {
    step,
    connect: (name, sql, isAlive = () => true) => {
      const around: Around = (run) => (isAlive() ? step(name, run) : new Promise<never>(() => {}));
      return watchedSql(sql, around);
    },
    clock: (now) => ({
      now,
      sleep: (_, signal) =>
        new Promise((resolve) => {
          signal?.addEventListener("abort", () => resolve());
          void step("a wait ends", async () => resolve());
        }),
    }),
    stepsOfLife,
    tookMs: () => monotonicMs() - begunAt,
  };
}
