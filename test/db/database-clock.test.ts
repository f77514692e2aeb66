import { beforeEach, expect, test } from "vitest";
import { systemClock } from "../../src/clock.ts";
import { type LocalClock, openDatabaseClock } from "../../src/db/database-clock.ts";
import { useDatabase } from "../support/database.ts";

const { sql } = useDatabase();
const HOUR_MS = 3_600_000;
/** What a statement and a busy machine may take. */
const NEARLY_MS = 2_000;

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
    await clock.measure();
    expect(Math.abs((clock.aheadMs() ?? Number.NaN) - aheadMs)).toBeLessThan(1_000);
    expect(clock.isRight()).toBe(isRight);
    const [row] = await sql<{ at: number }[]>`select clock_timestamp() as at`;
    expect(Math.abs(clock.now() - (row?.at ?? 0))).toBeLessThan(NEARLY_MS);
  },
);

test("a clock that jumps while it runs is wrong at once, and the time goes on as before", async () => {
  const clock = openDatabaseClock(sql, local);
  await clock.measure();
  const before = clock.now();
  local.set(7 * HOUR_MS);
  expect(clock.isRight()).toBe(false);
  expect(clock.now() - before).toBeLessThan(NEARLY_MS);
  local.set(0);
  expect(clock.isRight()).toBe(true);
});

test("a machine that was asleep is right again once it has asked for the time: its steady clock stood still", async () => {
  let asleepMs = 0;
  const clock = openDatabaseClock(sql, { ...local, steady: () => systemClock.steady() - asleepMs });
  await clock.measure();
  asleepMs = HOUR_MS;
  expect(clock.isRight()).toBe(false);
  await clock.measure();
  expect(clock.isRight()).toBe(true);
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
