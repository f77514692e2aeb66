/**
 * Stops a worker from taking jobs while its clock is wrong, and resumes it once the clock is right
 * (docs/operations.md#outages).
 */

import { setInterval } from "node:timers";
import type { DatabaseClock } from "../src/db/database-clock.ts";
import { describeError } from "../src/errors.ts";
import { MEASURE_EVERY_MS, openClockWatch } from "../src/flows/alerts/watch-installation.ts";
import type { FlowContext } from "../src/flows/context.ts";
import type { JobWorker } from "./backend.ts";
import type { TickJob } from "./schedules.ts";

export interface ClockGuard {
  /** Whether the worker may take jobs and schedule ticks. Queues use the clock of their client. */
  isRight(): boolean;
  /**
   * From now on these workers take jobs only while the clock is right.
   * @param goOn called each time the clock becomes right: a wrong clock may have scheduled ticks
   */
  guard(workers: readonly JobWorker[], goOn: () => void): void;
  stop(): void;
}

/** For tests with a clock of their own. */
const TRUSTED: ClockGuard = { isRight: () => true, guard: () => {}, stop: () => {} };

/**
 * Resolves after the first measurement of the clock.
 * @param clock undefined: the guard trusts the clock
 * @param alertJob runs outside its queue while the clock is wrong, because no other worker may be there to report the
 * clock
 */
export async function openClockGuard(
  context: FlowContext,
  clock: DatabaseClock | undefined,
  alertJob: TickJob,
  signal: AbortSignal,
): Promise<ClockGuard> {
  if (clock === undefined) return TRUSTED;
  const { log } = context;
  const watch = openClockWatch(context, clock, {
    name: "worker",
    consequence: "it plans, compares and verifies nothing",
  });
  let workers: readonly JobWorker[] = [];
  let goOn = () => {};
  let isPaused = !(await watch());
  let alertedAt = Number.NEGATIVE_INFINITY;

  const obey = async (isRight: boolean) => {
    if (isRight === !isPaused) return;
    isPaused = !isRight;
    // Running jobs end first: they use the database's time.
    await Promise.all(workers.map((worker) => (isRight ? worker.resume() : worker.pause(true))));
    if (isRight) goOn();
  };
  const report = async () => {
    if (!isPaused || clock.now() - alertedAt < alertJob.everyMs) return;
    alertedAt = clock.now();
    await alertJob.run(signal, log);
  };
  let isUnderWay = false;
  const check = async () => {
    if (isUnderWay || signal.aborted) return;
    isUnderWay = true;
    try {
      await obey(await watch());
      await report();
    } catch (error) {
      if (!signal.aborted)
        log.warn({ error: describeError(error) }, "the worker could not react to the state of its clock");
    } finally {
      isUnderWay = false;
    }
  };
  const timer = setInterval(check, MEASURE_EVERY_MS);
  return {
    // A jump of this machine's clock shows at once, without a query.
    isRight: () => !isPaused && clock.isRight(),
    guard: (opened, whenRight) => {
      workers = opened;
      goOn = whenRight;
      if (isPaused) for (const worker of workers) void worker.pause(true);
    },
    stop: () => clearInterval(timer),
  };
}
