import { beforeEach, expect, test } from "vitest";
import { systemClock } from "../../src/clock.ts";
import { type DatabaseClock, type LocalClock, openDatabaseClock } from "../../src/db/database-clock.ts";
import { useDatabase } from "../support/database.ts";
import { eventually } from "../support/eventually.ts";

const { sql } = useDatabase();
const HOUR_MS = 3_600_000;
/** The measured time lies in the middle between a question and its answer. */
const NEARLY_MS = 1_000;

/** The clock does not trust an answer that a busy machine delayed. */
function untilMeasured(clock: DatabaseClock): Promise<true> {
  return eventually("the time is measured", async () => {
    await clock.measure();
    return clock.aheadMs() !== null;
  });
}

/** A machine whose wall clock can be set, and whose monotonic clock cannot. */
function machine(aheadMs: number): LocalClock & { set(aheadMs: number): void } {
  let ahead = aheadMs;
  return {
    now: () => systemClock.now() + ahead,
    steady: systemClock.steady,
    sleep: systemClock.sleep,
    set: (next) => {
      ahead = next;
    },
  };
}

let local: ReturnType<typeof machine>;
beforeEach(() => {
  local = machine(0);
});

test("before the first measurement the clock gives the machine's time, and does not know whether that is right", () => {
  const clock = openDatabaseClock(sql, machine(7 * HOUR_MS));
  expect(clock.aheadMs()).toBeNull();
  expect(clock.isRight()).toBe(true);
});

test.each([
  [0, true],
  [3_500, true],
  [-3_500, true],
  [7 * HOUR_MS, false],
  [-600_000, false],
])(
  "a machine whose clock is %i ms ahead uses the database's time, and knows whether its own is right",
  async (aheadMs, isRight) => {
    local.set(aheadMs);
    const clock = openDatabaseClock(sql, local);
    await untilMeasured(clock);
    expect(Math.abs((clock.aheadMs() ?? Number.NaN) - aheadMs)).toBeLessThanOrEqual(NEARLY_MS);
    expect(clock.isRight()).toBe(isRight);
    const before = clock.now();
    const [row] = await sql<{ at: number }[]>`select clock_timestamp() as at`;
    expect(row?.at).toBeGreaterThanOrEqual(before - NEARLY_MS);
    expect(row?.at).toBeLessThanOrEqual(clock.now() + NEARLY_MS);
  },
);

test("a machine clock that jumps counts as wrong at once, and the time continues as before", async () => {
  const clock = openDatabaseClock(sql, local);
  await untilMeasured(clock);
  const before = clock.now();
  local.set(7 * HOUR_MS);
  expect(clock.isRight()).toBe(false);
  expect(clock.now() - before).toBeLessThan(HOUR_MS);
  local.set(0);
  expect(clock.isRight()).toBe(true);
});

test("a machine that slept has the right time again after the next measurement: its steady clock had stood still", async () => {
  let asleepMs = 0;
  const clock = openDatabaseClock(sql, { ...local, steady: () => systemClock.steady() - asleepMs });
  await untilMeasured(clock);
  asleepMs = HOUR_MS;
  expect(clock.isRight()).toBe(false);
  await eventually("it is right", async () => {
    await clock.measure();
    return clock.isRight();
  });
});

test("an answer that took too long changes nothing", async () => {
  let steps = 0;
  const clock = openDatabaseClock(sql, {
    ...local,
    steady: () => {
      steps += 1;
      return steps * 3_000;
    },
  });
  await clock.measure();
  expect(clock.aheadMs()).toBeNull();
});
