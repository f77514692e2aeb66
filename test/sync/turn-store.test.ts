import { beforeEach, describe, expect, test } from "vitest";
import { pauseRequests } from "../../src/provider/budget-store.ts";
import { type LeasedWindow, postponeWindow, releaseWindow } from "../../src/sync/leased-window-store.ts";
import { ensurePullState, stopPulling } from "../../src/sync/pull-state-store.ts";
import { initialRange } from "../../src/sync/range-control.ts";
import {
  delayWindow,
  doesMoreUrgentWait,
  ensureTurns,
  type Lane,
  leaseInTurn,
} from "../../src/sync/turn-store.ts";
import { planWindows, type WindowKind } from "../../src/sync/window-store.ts";
import { emptyTables, useDatabase } from "../support/database.ts";
import { HOUR_MS, MINUTE_MS, NOON } from "../support/examples.ts";

const { sql } = useDatabase();
const PRODUCTS = ["P1", "P2", "P3"];
const hour = (hours: number) => ({ from: NOON - (hours + 1) * HOUR_MS, to: NOON - hours * HOUR_MS });

beforeEach(async () => {
  await emptyTables(sql);
  for (const lane of ["live", "confirm", "resweep"] as const) await ensureTurns(sql, lane, PRODUCTS);
});

const plan = (productId: string, kind: WindowKind, count = 1) =>
  planWindows(
    sql,
    productId,
    kind,
    Array.from({ length: count }, (_, index) => hour(index)),
  );
const lease = (lane: Lane, isReserved = false) => leaseInTurn(sql, lane, PRODUCTS, 100, NOON, isReserved);
const leaseLive = (now = NOON, most = 100) => leaseInTurn(sql, "live", PRODUCTS, most, now);
const productOf = (window: LeasedWindow | null) => window?.productId ?? null;

async function inTurn(lease: () => Promise<LeasedWindow | null>, count: number): Promise<(string | null)[]> {
  const served: (string | null)[] = [];
  for (let index = 0; index < count; index++) served.push(productOf(await lease()));
  return served;
}

describe("a turn", () => {
  test("goes to the product that was served least recently, and only after all others to one that is being served", async () => {
    await plan("P1", "live", 4);
    await plan("P2", "live", 2);
    await plan("P3", "live", 1);
    expect(await inTurn(() => leaseLive(), 8)).toEqual(["P1", "P2", "P3", "P1", "P2", "P1", "P1", null]);
  });

  test("continues in the same order, even if a product has nothing to fetch at that moment", async () => {
    await plan("P1", "live");
    await plan("P3", "live");
    const served = await leaseLive();
    if (served !== null) await releaseWindow(sql, served);
    await plan("P2", "live");
    expect(await inTurn(() => leaseLive(), 4)).toEqual(["P2", "P3", "P1", null]);
  });

  test("differs for each fetcher: simultaneous fetchers get different windows", async () => {
    for (const productId of PRODUCTS) await plan(productId, "live", 5);
    const asked = await Promise.all(Array.from({ length: 30 }, () => leaseLive()));
    const ids = asked.flatMap((window) => (window === null ? [] : [window.id]));
    expect(ids.length).toBeGreaterThan(0);
    expect(new Set(ids).size).toBe(ids.length);
  });

  test("takes the confirm fetch or resweep of its product that was planned first", async () => {
    await planWindows(sql, "P1", "resweep", [hour(1)]);
    await planWindows(sql, "P1", "resweep", [hour(2)]);
    expect([await lease("resweep"), await lease("resweep")]).toMatchObject([hour(1), hour(2)]);
  });

  test("takes windows newer than the head before older ones, the earliest first", async () => {
    await begin("P1", NOON - 2 * HOUR_MS);
    await sql`update pull_states set ms_per_hour = 1`;
    await plan("P1", "live", 4);
    const taken = [await leaseLive(), await leaseLive(), await leaseLive(), await leaseLive()];
    expect(taken).toMatchObject([hour(1), hour(0), hour(3), hour(2)]);
  });

  test("takes an older one first every tenth time, so newer time that never ends does not hold it up", async () => {
    await begin("P1", NOON - HOUR_MS);
    await sql`update pull_states set ms_per_hour = 1`;
    await planWindows(sql, "P1", "live", [hour(30)]);
    const taken: number[] = [];
    for (let count = 0; count < 12; count += 1) {
      await planWindows(sql, "P1", "live", [{ from: NOON + count, to: NOON + count + 1 }]);
      taken.push((await leaseLive())?.to ?? Number.NaN);
    }
    expect(taken.indexOf(hour(30).to)).toBe(9);
  });

  test("is given to at most as many windows as the limit says", async () => {
    await plan("P1", "live", 3);
    expect(await inTurn(() => leaseLive(NOON, 2), 3)).toEqual(["P1", "P1", null]);
  });
});

describe("while a live window waits for a fetcher", () => {
  beforeEach(async () => {
    await plan("P1", "confirm");
    await plan("P2", "live");
  });

  test("nothing less urgent is begun, for any product, until a fetcher has it", async () => {
    expect(await doesMoreUrgentWait(sql, "backfill", PRODUCTS, NOON)).toBe(true);
    expect(await lease("confirm")).toBeNull();
    await leaseLive();
    expect(await doesMoreUrgentWait(sql, "backfill", PRODUCTS, NOON)).toBe(false);
    expect(productOf(await lease("confirm"))).toBe("P1");
  });

  test("a reserved fetcher begins a window all the same", async () => {
    await plan("P3", "resweep");
    expect(await lease("resweep")).toBeNull();
    expect(productOf(await lease("confirm", true))).toBe("P1");
    expect(productOf(await lease("resweep", true))).toBe("P3");
  });

  test.each<[what: string, hold: () => Promise<unknown>]>([
    ["its next attempt is later", async () => await postpone(await leaseLive())],
    ["its product is stopped", () => stop("P2")],
    ["its product is paused", () => pauseRequests(sql, "P2", 60_000)],
    [
      "its product has no answers, and another request for it is under way",
      async () => {
        await begin("P2");
        await plan("P2", "live", 3);
        await leaseLive();
      },
    ],
  ])("but %s, less urgent windows are begun", async (_, hold) => {
    await hold();
    expect(await leaseLive()).toBeNull();
    expect(productOf(await lease("confirm"))).toBe("P1");
  });

  async function postpone(window: LeasedWindow | null): Promise<void> {
    const seen = { failures: 1, timeouts: 0, restarts: 0 };
    if (window !== null) await postponeWindow(sql, window, { ...seen, retryAt: NOON + 1 });
  }
  async function stop(productId: string): Promise<void> {
    await begin(productId);
    await stopPulling(sql, productId, NOON + 1);
  }
});

async function begin(productId: string, head = NOON): Promise<void> {
  const limits = { windowMinMs: MINUTE_MS, windowMaxMs: HOUR_MS, requestTimeoutMs: 30_000 };
  await ensurePullState(sql, productId, head, initialRange(limits));
}

test("while a confirm fetch waits for a fetcher, no resweep is begun", async () => {
  await plan("P1", "resweep");
  await plan("P3", "confirm");
  expect(await lease("resweep")).toBeNull();
  expect(productOf(await lease("confirm"))).toBe("P3");
  expect(productOf(await lease("resweep"))).toBe("P1");
});

test("a window that is delayed after an internal error is not leased until its time, unless a process holds its lease", async () => {
  await plan("P1", "live");
  const window = await leaseLive();
  if (window === null) throw new Error("nothing was leased");
  await delayWindow(sql, window, NOON + HOUR_MS);
  expect(await sql`select from windows where next_attempt_at is not null`).toHaveLength(0);
  await releaseWindow(sql, window);
  await delayWindow(sql, window, NOON + HOUR_MS);
  expect(await leaseLive()).toBeNull();
  expect(productOf(await leaseLive(NOON + HOUR_MS))).toBe("P1");
});
