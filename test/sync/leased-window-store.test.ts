import fc from "fast-check";
import { beforeEach, describe, expect, test } from "vitest";
import type { Instant } from "../../src/clock.ts";
import { readCoverage } from "../../src/sync/coverage-store.ts";
import {
  advanceWindow,
  type LeasedWindow,
  recordGap,
  releaseWindow,
  renewLease,
  restartWindow,
  splitWindow,
} from "../../src/sync/leased-window-store.ts";
import { readPullProgress } from "../../src/sync/progress-store.ts";
import { ensurePullState, lockPullState, readPullState } from "../../src/sync/pull-state-store.ts";
import { initialRange } from "../../src/sync/range-control.ts";
import { writeRecords } from "../../src/sync/record-store.ts";
import { planWindows, type WindowKind } from "../../src/sync/window-store.ts";
import { halve, type TimeRange } from "../../src/window.ts";
import { emptyTables, useDatabase } from "../support/database.ts";
import { exampleRecord, HOUR_MS, MINUTE_MS, NOON } from "../support/examples.ts";
import { leaseNextWindow } from "../support/lease-window.ts";
import { untilSomebodyWaits } from "../support/lock-wait.ts";

const { sql } = useDatabase();

beforeEach(async () => {
  await emptyTables(sql, ["windows", "pull_states", "pull_turns", "bet_records"]);
  await ensurePullState(
    sql,
    "P1",
    NOON,
    initialRange({ windowMinMs: 1, windowMaxMs: HOUR_MS, requestTimeoutMs: 1 }),
  );
  // It has answered before: several windows of it may be leased at once.
  await sql`update pull_states set ms_per_hour = 1`;
});

/** Hours counted from noon. */
const hours = (from: number, to: number): TimeRange => ({
  from: NOON + from * HOUR_MS,
  to: NOON + to * HOUR_MS,
});

const plan = (ranges: readonly TimeRange[], kind: WindowKind = "live") =>
  planWindows(sql, "P1", kind, ranges);

async function lease(now: Instant = NOON): Promise<LeasedWindow> {
  const window = await leaseNextWindow(sql, "P1", now);
  if (window === null) throw new Error("there is no window to lease");
  return window;
}

const rangeOf = ({ from, to }: TimeRange) => ({ from, to });

const COUNTS = { records: 0, created: 0, changed: 0, unchanged: 0, rejected: 0, outOfRange: 0 };

/** Commits one page of one record as a worker does: records and window in one transaction. */
function commitPage(
  window: LeasedWindow,
  nextId: string | null,
  startedAt: Instant = NOON,
  whileOpen = async () => {},
) {
  return sql.begin(async (tx) => {
    const written = await writeRecords(tx, "P1", [exampleRecord({ id: `of ${window.from} ${nextId}` })], {
      requestedAt: NOON,
      now: NOON,
    });
    await advanceWindow(tx, window, { nextId, startedAt, now: NOON, counts: { ...COUNTS, ...written } });
    await whileOpen();
  });
}

const giveUp = (window: LeasedWindow, nextAttemptAt: Instant) =>
  recordGap(sql, window, { code: "provider-timeout", message: "too slow", nextAttemptAt });

/** Ends all leases as if their workers had been silent for too long. */
const endLeases = () => sql`update windows set lease_until = clock_timestamp() - interval '1 second'`;

const readWindows = () => sql`select * from windows order by from_at, to_at desc`;

async function readProgress() {
  const [progress] = await readPullProgress(sql);
  return progress;
}

describe("a lease", () => {
  test("keeps its window from everybody else", async () => {
    await plan([hours(0, 1)]);
    await lease();
    expect(await leaseNextWindow(sql, "P1", NOON)).toBeNull();
  });

  test("is given once, however many workers ask at the same time", async () => {
    await plan(Array.from({ length: 12 }, (_, i) => hours(i, i + 1)));
    const asked = await Promise.all(Array.from({ length: 30 }, () => leaseNextWindow(sql, "P1", NOON)));
    const given = asked.filter((window) => window !== null);
    expect(new Set(given.map(({ id }) => id)).size).toBe(given.length);
    const left = (await readWindows()).length - given.length;
    for (let i = 0; i < left; i++) given.push(await lease());
    expect(given).toHaveLength(12);
    expect(await leaseNextWindow(sql, "P1", NOON)).toBeNull();
  });

  test("that ended lets another worker continue after the last page", async () => {
    await plan([hours(0, 1)]);
    const first = await lease();
    await commitPage(first, "page-2", NOON - 5);
    await endLeases();
    const second = await lease();
    expect(second).toMatchObject({ id: first.id, cursor: "page-2", cursorAt: NOON, startedAt: NOON - 5 });
    expect(second.leaseToken).not.toBe(first.leaseToken);
  });

  test("that ended while its holder commits delays no other worker", async () => {
    await plan([hours(0, 1), hours(1, 2)]);
    const first = await lease();
    await endLeases();
    let meanwhile: LeasedWindow | null | undefined;
    await commitPage(first, "page-2", NOON, async () => {
      meanwhile = await leaseNextWindow(sql, "P1", NOON);
    });
    expect(meanwhile).toBeNull();
    expect(await lease()).toMatchObject(hours(1, 2));
  });

  test("becomes longer when it is renewed, and with each page", async () => {
    await plan([hours(0, 1)]);
    const window = await lease();
    for (const renew of [() => renewLease(sql, window), () => commitPage(window, "page-2")]) {
      await endLeases();
      await renew();
      expect(await leaseNextWindow(sql, "P1", NOON)).toBeNull();
    }
  });

  test("that is released leaves the window free at once, with its cursor", async () => {
    await plan([hours(0, 1)]);
    const window = await lease();
    await commitPage(window, "page-2");
    await releaseWindow(sql, window);
    expect(await lease()).toMatchObject({ id: window.id, cursor: "page-2" });
  });

  test.each<[what: string, write: (window: LeasedWindow) => Promise<unknown>]>([
    ["commit a page", (window) => commitPage(window, "page-3")],
    ["commit the last page", (window) => commitPage(window, null)],
    ["begin again", (window) => restartWindow(sql, window)],
    ["split the window", (window) => splitWindow(sql, window, halve(window))],
    ["give the window up", (window) => giveUp(window, NOON)],
    ["renew the lease", (window) => renewLease(sql, window)],
  ])("that was lost allows no write: its holder cannot %s", async (_, write) => {
    await plan([hours(0, 1)]);
    const first = await lease();
    await commitPage(first, "page-2");
    await endLeases();
    await lease();
    const before = { windows: await readWindows(), state: await readPullState(sql, "P1") };
    await expect(write(first)).rejects.toMatchObject({ code: "lease-lost", retryable: true });
    await releaseWindow(sql, first);
    expect({ windows: await readWindows(), state: await readPullState(sql, "P1") }).toEqual(before);
    expect(await sql`select from bet_records`).toHaveLength(1);
  });
});

describe("the plan", () => {
  test("is worked through live first, then confirm fetches, then resweeps, each in the order of time", async () => {
    await plan([hours(-3, -2)], "resweep");
    await plan([hours(-1, 0), hours(-2, -1)], "confirm");
    await plan([hours(1, 2), hours(0, 1)]);
    const taken = [];
    for (let i = 0; i < 5; i++) taken.push(await lease());
    expect(taken.map(({ kind, from }) => [kind, (from - NOON) / HOUR_MS])).toEqual([
      ["live", 0],
      ["live", 1],
      ["confirm", -2],
      ["confirm", -1],
      ["resweep", -3],
    ]);
  });

  test("of another product is separate", async () => {
    await planWindows(sql, "P2", "live", [hours(0, 1)]);
    expect(await leaseNextWindow(sql, "P1", NOON)).toBeNull();
  });

  test("has a range once, however often it is requested", async () => {
    await plan([hours(0, 2)]);
    await plan([hours(0, 2), hours(0, 1), hours(1, 2), hours(1, 3)]);
    expect((await readWindows()).map(({ from_at, to_at }) => ({ from: from_at, to: to_at }))).toEqual([
      hours(0, 2),
      hours(1, 3),
    ]);
  });

  test("has a range again after it was fetched, and once for every kind", async () => {
    await plan([hours(0, 1)], "confirm");
    await commitPage(await lease(), null);
    await plan([hours(0, 1)], "confirm");
    await plan([hours(0, 1)], "resweep");
    expect(await readWindows()).toHaveLength(3);
  });

  test("is made by one worker at a time, and the next one sees the result", async () => {
    const planned = Promise.withResolvers<void>();
    const first = sql.begin(async (tx) => {
      await lockPullState(tx, "P1");
      planned.resolve();
      await untilSomebodyWaits(sql);
      await planWindows(tx, "P1", "live", [hours(0, 1)]);
    });
    await planned.promise;
    const second = await sql.begin((tx) => lockPullState(tx, "P1"));
    await first;
    expect(second).toMatchObject({ head: NOON, hasPlannedLive: true });
  });
});

describe("a split", () => {
  test("leaves two windows that cover exactly the time of the first", async () => {
    const range = fc
      .tuple(fc.integer({ min: 0, max: HOUR_MS }), fc.integer({ min: 2, max: HOUR_MS }))
      .map(([offset, length]) => ({ from: NOON + offset, to: NOON + offset + length }));
    await fc.assert(
      fc.asyncProperty(range, async (whole) => {
        await sql`delete from windows`;
        await plan([whole]);
        const window = await lease();
        await splitWindow(sql, window, halve(window));
        const [first, second] = [await lease(), await lease()];
        expect([first.from, first.to, second.to]).toEqual([whole.from, second.from, whole.to]);
        expect(await leaseNextWindow(sql, "P1", NOON)).toBeNull();
      }),
      { numRuns: 20 },
    );
  });

  test("keeps the records that were read, and counts as fetched only what its halves fetch", async () => {
    await plan([hours(0, 1)]);
    const window = await lease();
    await commitPage(window, "page-2");
    await splitWindow(sql, window, halve(window));
    expect(await sql`select from bet_records`).toHaveLength(1);
    expect(await readCoverage(sql, "P1", hours(0, 1), 0)).toEqual([]);
    await commitPage(await lease(), null);
    expect(await readCoverage(sql, "P1", hours(0, 1), 0)).toEqual([hours(0, 0.5)]);
  });

  test("of a window that was a gap before keeps the number of failures", async () => {
    await plan([hours(0, 1)]);
    await giveUp(await lease(), NOON);
    const again = await lease();
    await splitWindow(sql, again, halve(again));
    expect([await lease(), await lease()]).toMatchObject([{ attempts: 1 }, { attempts: 1 }]);
  });
});

describe("a gap", () => {
  test("is passed by the head, not by the watermark, and has a reason", async () => {
    await plan([hours(0, 1), hours(1, 2)]);
    await giveUp(await lease(), NOON + MINUTE_MS);
    await commitPage(await lease(), null);
    expect(await readProgress()).toMatchObject({ head: hours(0, 2).to, firstGapAt: NOON, gaps: 1 });
    expect((await readWindows())[0]).toMatchObject({
      status: "gap",
      error_code: "provider-timeout",
      error_message: "too slow",
    });
  });

  test("is retried when it is due, not before, and after time that is newer than the head", async () => {
    await plan([hours(0, 1)]);
    await giveUp(await lease(), NOON + MINUTE_MS);
    expect(await leaseNextWindow(sql, "P1", NOON + MINUTE_MS - 1)).toBeNull();
    await plan([hours(1, 2)]);
    expect(rangeOf(await lease(NOON + MINUTE_MS))).toEqual(hours(1, 2));
    expect(rangeOf(await lease(NOON + MINUTE_MS))).toEqual(hours(0, 1));
  });

  test("begins at its first page, although pages were read before", async () => {
    await plan([hours(0, 1)]);
    const window = await lease();
    await commitPage(window, "page-2");
    await giveUp(window, NOON);
    expect(await lease()).toMatchObject({ cursor: null, startedAt: null, attempts: 1 });
  });

  test("stops the watermark until its last page has come, also while it is retried or split", async () => {
    await plan([hours(0, 1), hours(1, 2)]);
    await giveUp(await lease(), NOON);
    await commitPage(await lease(), null);
    const again = await lease();
    await commitPage(again, "page-2");
    expect(await readProgress()).toMatchObject({ head: hours(0, 2).to, firstGapAt: NOON, gaps: 1 });
    await splitWindow(sql, again, halve(again));
    await commitPage(await lease(), null);
    expect(await readProgress()).toMatchObject({ firstGapAt: hours(0.5, 1).from, gaps: 1 });
    await commitPage(await lease(), null);
    expect(await readProgress()).toMatchObject({ firstGapAt: null, gaps: 0 });
  });

  test("that is filled leaves the head unchanged", async () => {
    await plan([hours(0, 1), hours(1, 2)]);
    await giveUp(await lease(), NOON);
    const [old, next] = [await lease(), await lease()];
    await commitPage(next, null);
    await commitPage(old, null);
    expect(await readProgress()).toMatchObject({ head: hours(0, 2).to, firstGapAt: null });
  });

  test("of a confirm fetch stops neither head nor watermark", async () => {
    await plan([hours(0, 1)], "confirm");
    await giveUp(await lease(), NOON);
    expect(await readProgress()).toMatchObject({ head: NOON, firstGapAt: null, gaps: 0 });
  });
});

describe("the head", () => {
  const readHead = async () => (await readPullState(sql, "P1"))?.head;

  test("stands before the first live window that is not fetched, in any order of fetching", async () => {
    await plan([hours(0, 1), hours(1, 2), hours(2, 3)]);
    const [first, second, third] = [await lease(), await lease(), await lease()];
    await commitPage(third, null);
    expect(await readHead()).toBe(NOON);
    await commitPage(first, null);
    expect(await readHead()).toBe(second.from);
    await commitPage(second, null);
    expect(await readHead()).toBe(third.to);
  });

  test("passes a gap that was recorded before its neighbour was fetched", async () => {
    await plan([hours(0, 1), hours(1, 2)]);
    const [first, second] = [await lease(), await lease()];
    await giveUp(second, NOON);
    await commitPage(first, null);
    expect(await readHead()).toBe(second.to);
  });

  test("is right when two windows end in the same moment", async () => {
    await plan([hours(0, 1), hours(1, 2)]);
    const [first, second] = [await lease(), await lease()];
    const open = Promise.withResolvers<void>();
    const one = commitPage(first, null, NOON, async () => {
      open.resolve();
      await untilSomebodyWaits(sql);
    });
    await open.promise;
    await commitPage(second, null);
    await one;
    expect(await readHead()).toBe(second.to);
  });

  test("is moved only by live windows, and never back", async () => {
    await plan([hours(-2, -1)]);
    await plan([hours(5, 6)], "confirm");
    await commitPage(await lease(), null);
    await commitPage(await lease(), null);
    expect(await readHead()).toBe(NOON);
  });

  test("begins once: a later beginning changes nothing", async () => {
    await ensurePullState(
      sql,
      "P1",
      NOON + 1,
      initialRange({ windowMinMs: 1, windowMaxMs: 2, requestTimeoutMs: 1 }),
    );
    expect(await readPullState(sql, "P1")).toMatchObject({ head: NOON, windowMs: HOUR_MS });
  });
});

describe("the coverage", () => {
  test("is the time that windows of any kind have fetched to the end since a moment", async () => {
    const windows: [TimeRange, WindowKind, Instant][] = [
      [hours(0, 1), "live", NOON],
      [hours(1, 2), "confirm", NOON],
      [hours(2, 3), "resweep", NOON - 1],
      [hours(3, 4), "live", NOON],
    ];
    for (const [range, kind, startedAt] of windows) {
      await plan([range], kind);
      await commitPage(await lease(), null, startedAt);
    }
    await plan([hours(4, 5), hours(5, 6)]);
    await commitPage(await lease(), "page-2");
    await giveUp(await lease(), NOON);
    expect(await readCoverage(sql, "P1", hours(0.5, 6), NOON)).toEqual([
      hours(0, 1),
      hours(1, 2),
      hours(3, 4),
    ]);
    expect(await readCoverage(sql, "P1", hours(1, 3), NOON)).toEqual([hours(1, 2)]);
  });
});
