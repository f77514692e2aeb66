import { beforeEach, expect, test } from "vitest";
import { systemClock } from "../../src/clock.ts";
import { type DatabaseClock, type LocalClock, openDatabaseClock } from "../../src/db/database-clock.ts";
import { useDatabase } from "../support/database.ts";
import { eventually } from "../support/eventually.ts";

const { sql } = useDatabase();
const HOUR_MS = 3_600_000;
/** Of the middle of a question and its answer. */
const NEARLY_MS = 1_000;

/** An answer that a busy machine makes wait is not believed. */
function untilMeasured(clock: DatabaseClock): Promise<true> {
  return eventually("the time is measured", async () => {
    await clock.measure();
    return clock.aheadMs() !== null;
  });
}

/** A machine whose clock a person sets, and whose steady clock nobody can. */
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

test("before it is measured the time is the machine's, and nobody knows whether that is right", () => {
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
  "a machine whose clock is %i ms ahead goes by the database's time, and knows whether its own is right",
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

test("a clock that jumps while it runs is wrong at once, and the time goes on as before", async () => {
  const clock = openDatabaseClock(sql, local);
  await untilMeasured(clock);
  const before = clock.now();
  local.set(7 * HOUR_MS);
  expect(clock.isRight()).toBe(false);
  expect(clock.now() - before).toBeLessThan(HOUR_MS);
  local.set(0);
  expect(clock.isRight()).toBe(true);
});

test("a machine that was asleep is right again once it has asked for the time: its steady clock stood still", async () => {
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
