/**
 * Keeps a worker whose clock is wrong from taking jobs, and lets it go on once the clock is right
 * (docs/operations.md#outages).
 */

import { setInterval } from "node:timers";
import type { DatabaseClock } from "../src/db/database-clock.ts";
import { describeError } from "../src/errors.ts";
import type { FlowContext } from "../src/flows/context.ts";
import { MEASURE_EVERY_MS, openClockWatch } from "../src/flows/watch-clock.ts";
import type { JobWorker } from "./backend.ts";
import type { TickJob } from "./schedules.ts";

export interface ClockGuard {
  /** Whether jobs may be taken, and ticks scheduled: queues go by the clock of whoever asks them. */
  isRight(): boolean;
  /**
   * From now on these take jobs only while the clock is right.
   * @param goOn is called each time it has become right: ticks may have been scheduled by a wrong one
   */
  guard(workers: readonly JobWorker[], goOn: () => void): void;
  stop(): void;
}

/** Tests own their time, and nobody watches it. */
const TRUSTED: ClockGuard = { isRight: () => true, guard: () => {}, stop: () => {} };

/**
 * Resolves when the clock has been measured once.
 * @param clock undefined: the clock is trusted
 * @param alertJob is run by itself meanwhile: without a right worker beside this one nobody else would report it
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
    // Whoever is at work ends that first: it goes by the database's time.
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
      if (!signal.aborted) log.warn({ error: describeError(error) }, "the clock could not be obeyed");
    } finally {
      isUnderWay = false;
    }
  };
  const timer = setInterval(check, MEASURE_EVERY_MS);
  return {
    // A jump of this machine's clock is seen at once, without asking the database.
    isRight: () => !isPaused && clock.isRight(),
    guard: (opened, whenRight) => {
      workers = opened;
      goOn = whenRight;
      if (isPaused) for (const worker of workers) void worker.pause(true);
    },
    stop: () => clearInterval(timer),
  };
}
