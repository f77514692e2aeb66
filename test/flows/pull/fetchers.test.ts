import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { formatInstant, systemClock } from "../../../src/clock.ts";
import { parseConfig } from "../../../src/config-file.ts";
import type { PullContext } from "../../../src/flows/context.ts";
import { openFetchers } from "../../../src/flows/pull/fetchers.ts";
import { planProduct } from "../../../src/flows/pull/plan-product.ts";
import { openBackfillRunner } from "../../../src/flows/pull/run-backfills.ts";
import { silentLog } from "../../../src/log.ts";
import { openBudget, withinBudget } from "../../../src/provider/budget.ts";
import { openProvider, type ProviderClient } from "../../../src/provider/client.ts";
import { insertBackfill } from "../../../src/sync/backfill-store.ts";
import { readPullProgress } from "../../../src/sync/progress-store.ts";
import { planWindows } from "../../../src/sync/window-store.ts";
import { createTestClock, type TestClock } from "../../support/clock.ts";
import { emptyTables, useDatabase } from "../../support/database.ts";
import { HOUR_MS, MINUTE_MS, NOON } from "../../support/examples.ts";
import { CREDENTIALS, hang, page, status, useHttpProvider } from "../../support/http-provider.ts";

const { sql } = useDatabase();
const provider = useHttpProvider();
const never = new AbortController().signal;
const clients: ProviderClient[] = [];
const PRODUCTS = ["P1", "P2", "P3", "P4", "P5", "P6"];
const [BAD, ...OTHERS] = PRODUCTS;
let clock: TestClock;

beforeEach(async () => {
  await emptyTables(sql);
  clock = createTestClock(NOON);
});
afterEach(() => {
  for (const client of clients.splice(0)) client.close();
});

/** A worker whose products are some hours behind; each of its runs is what a tick does. */
function worker(hoursBehind: number, pull: Record<string, unknown> = {}) {
  const since = formatInstant(NOON - hoursBehind * HOUR_MS);
  const parsed = parseConfig({
    products: PRODUCTS.map((productId) => ({ productId, since })),
    pull: { settleDelay: "PT0S", overlap: "PT0S", resweepAfter: [], concurrency: 1, ...pull },
  });
  // Windows of a whole hour give round times; this provider would answer longer ranges.
  const config = { ...parsed, pull: { ...parsed.pull, windowMax: HOUR_MS } };
  const { requestTimeout, concurrency } = config.pull;
  const open = (requestTimeoutMs: number) => {
    const limits = { requestTimeoutMs, connections: 4, production: false };
    const client = openProvider({ baseUrl: provider.url(), ...CREDENTIALS }, limits, clock);
    clients.push(client);
    return client;
  };
  // The bad product's requests time out soon; the others may take as long as they need.
  const [patient, impatient] = [open(60_000), open(requestTimeout)];
  const budget = openBudget(sql, { concurrency, minIntervalMs: 0 }, requestTimeout, clock);
  const fetchPage = withinBudget(
    (request, signal) => (request.productId === BAD ? impatient : patient).fetchBetPage(request, signal),
    budget,
  );
  const context: PullContext = { sql, config, clock, log: silentLog, fetchPage };
  const run = openFetchers(context);
  const runBackfills = openBackfillRunner(context);
  return {
    planAll: async () => {
      for (const productId of PRODUCTS) await planProduct(context, productId, clock.now());
    },
    run: (signal = never) => run(signal),
    runBackfills,
  };
}

const productsAsked = () => provider.asked.map(({ parameters }) => parameters["productId"] ?? "");
const countOf = (productId: string | undefined, asked = productsAsked()) =>
  asked.filter((one) => one === productId).length;
const readHeads = async () =>
  new Map((await readPullProgress(sql)).map(({ productId, head }) => [productId, head]));

describe("products that are behind", () => {
  test.each([1, 3])("take turns, with %d fetcher(s), until each is up to date", async (concurrency) => {
    const { planAll, run } = worker(8, { concurrency });
    await planAll();
    await run();
    const asked = productsAsked();
    expect(asked).toHaveLength(8 * PRODUCTS.length);
    for (const productId of PRODUCTS) expect(countOf(productId, asked)).toBe(8);
    // No product gets its next turn before every other had this one. With several fetchers, one may be slower than the
    // others.
    for (let count = 1; concurrency === 1 && count <= asked.length; count++) {
      const counts = PRODUCTS.map((productId) => countOf(productId, asked.slice(0, count)));
      expect(Math.max(...counts) - Math.min(...counts)).toBeLessThanOrEqual(1);
    }
    expect(new Set((await readHeads()).values())).toEqual(new Set([NOON]));
  });

  test("take turns over several processes", async () => {
    const workers = [worker(8), worker(8), worker(8)];
    await workers[0]?.planAll();
    await Promise.all(workers.map(({ run }) => run()));
    const asked = productsAsked();
    expect(asked).toHaveLength(8 * PRODUCTS.length);
    for (const productId of PRODUCTS) expect(countOf(productId, asked)).toBe(8);
    const half = new Set(asked.slice(0, asked.length / 2));
    expect(half.size).toBe(PRODUCTS.length);
  });

  test("get their live windows before any confirm fetch, however many there are", async () => {
    const { planAll, run } = worker(2);
    const day = NOON - 24 * HOUR_MS;
    const hours = Array.from({ length: 20 }, (_, hour) => ({
      from: day - (hour + 1) * HOUR_MS,
      to: day - hour * HOUR_MS,
    }));
    for (const productId of PRODUCTS.slice(0, 2)) await planWindows(sql, productId, "confirm", hours);
    await planAll();
    await run();
    const lastLive = provider.asked.findLastIndex(({ to }) => to > day);
    const confirmsBefore = provider.asked.slice(0, lastLive).filter(({ to }) => to <= day).length;
    // No confirm fetch begins while a live window waits; some may begin between the last live window and the next plan.
    expect(confirmsBefore).toBeLessThanOrEqual(PRODUCTS.length);
    expect(provider.asked).toHaveLength(2 * PRODUCTS.length + 40);
  });

  test("get their confirm fetches before any resweep, and take turns in them", async () => {
    const { run } = worker(1);
    const hour = (hours: number) => ({ from: NOON - (hours + 1) * HOUR_MS, to: NOON - hours * HOUR_MS });
    await planWindows(sql, "P1", "resweep", [hour(10), hour(11)]);
    await planWindows(sql, "P2", "confirm", [hour(3), hour(2), hour(1)]);
    await planWindows(sql, "P3", "confirm", [hour(1)]);
    await run();
    const asked = productsAsked();
    expect(asked.filter((productId) => productId !== "P1")).toEqual(["P2", "P3", "P2", "P2"]);
    // A resweep may begin once no confirm fetch waits for a fetcher, while the last one is still under way.
    expect(asked.indexOf("P1")).toBeGreaterThanOrEqual(3);
    expect(countOf("P1")).toBe(2);
  });
});

describe("under a load of live windows that never ends", () => {
  const daysAgo = (days: number) => NOON - days * 24 * HOUR_MS;
  const hoursFrom = (from: number, hours: number) =>
    Array.from({ length: hours }, (_, hour) => ({
      from: from + hour * HOUR_MS,
      to: from + (hour + 1) * HOUR_MS,
    }));

  test.each([1, 4])(
    "confirm fetches, resweeps, backfills and a gap get their turns, with %d slot(s)",
    async (concurrency) => {
      const { planAll, run, runBackfills } = worker(150, { concurrency });
      await planAll();
      const times = { confirm: daysAgo(20), resweep: daysAgo(30), backfill: daysAgo(40), gap: daysAgo(50) };
      for (const kind of ["confirm", "resweep"] as const)
        await planWindows(sql, "P2", kind, hoursFrom(times[kind], 30));
      const [backfill] = [{ productId: "P3", from: times.backfill, to: times.backfill + 30 * HOUR_MS }];
      await sql.begin((tx) =>
        insertBackfill(tx, { ...backfill, requestedAt: NOON }, hoursFrom(times.backfill, 30)),
      );
      await planWindows(sql, "P4", "live", hoursFrom(times.gap, 1));
      await sql`update windows set status = 'gap', attempts = 1 where from_at = ${times.gap}`;
      const ending = new AbortController();
      provider.answer(() => {
        if (provider.asked.length >= 150) ending.abort();
        return page([]);
      });
      // As the worker's ticks do: a run may end while another one continues for hours.
      const runs: Promise<unknown>[] = [];
      while (!ending.signal.aborted) {
        runs.push(run(ending.signal), runBackfills(ending.signal));
        await systemClock.sleep(100, ending.signal);
      }
      await Promise.allSettled(runs);
      const asked = provider.asked.slice(0, 150).map(({ from }) => from);
      const countIn = (from: number, hours: number) =>
        asked.filter((at) => at >= from && at < from + hours * HOUR_MS).length;
      const rest = countIn(times.confirm, 30) + countIn(times.resweep, 30) + countIn(times.backfill, 30);
      expect(rest).toBeGreaterThanOrEqual(11);
      expect(rest).toBeLessThanOrEqual(30);
      for (const kind of ["confirm", "resweep", "backfill"] as const)
        expect(countIn(times[kind], 30), kind).toBeGreaterThanOrEqual(2);
      expect(countIn(times.gap, 1)).toBe(1);
    },
  );
});

describe("a product that cannot be fetched delays no other", () => {
  test("if it never answers", async () => {
    provider.answer(({ parameters }) => (parameters["productId"] === BAD ? hang : page([])));
    const { planAll, run } = worker(3, { requestTimeout: "PT0.1S", windowMin: "PT30M" });
    await planAll();
    await run();
    const asked = productsAsked();
    const lastOther = asked.findLastIndex((productId) => productId !== BAD);
    // Its window is requested once more at once, then the halves wait for their turns.
    expect(countOf(BAD, asked.slice(0, lastOther))).toBeLessThanOrEqual(2 * 3);
    const heads = await readHeads();
    for (const productId of OTHERS) expect(heads.get(productId)).toBe(NOON);
  });

  test("if it answers 5xx: its fetcher does not wait, and its attempts and waits are those of one window", async () => {
    provider.answer(({ parameters }) => (parameters["productId"] === BAD ? status(503) : page([])));
    const { planAll, run } = worker(1, { attempts: 3, windowMin: "PT45M" });
    await planAll();
    await run();
    expect(clock.now()).toBe(NOON);
    expect(countOf(BAD)).toBe(1);
    const heads = await readHeads();
    for (const productId of OTHERS) expect(heads.get(productId)).toBe(NOON);
    for (let attempt = 2; attempt <= 3; attempt++) {
      await run();
      expect(countOf(BAD)).toBe(attempt - 1);
      clock.advance(2_000);
      await run();
      expect(countOf(BAD)).toBe(attempt);
    }
    expect(await sql`select kind, error_code as code, attempts from windows where status = 'gap'`).toEqual([
      { kind: "live", code: "provider-server-error", attempts: 1 },
    ]);
  });

  test("if it answers 429: no request for this product is sent for as long as it asks", async () => {
    provider.answer(({ parameters }) =>
      parameters["productId"] === BAD ? status(429, { "retry-after": "600" }) : page([]),
    );
    const { planAll, run } = worker(3);
    await planAll();
    await run();
    // By the database's clock the pause continues.
    clock.advance(HOUR_MS);
    await planAll();
    await run();
    expect(countOf(BAD)).toBe(1);
    const heads = await readHeads();
    for (const productId of OTHERS) expect(heads.get(productId)).toBe(NOON + HOUR_MS);
  });

  test("if its credentials are refused", async () => {
    provider.answer(({ parameters }) => (parameters["productId"] === BAD ? status(403) : page([])));
    const { planAll, run } = worker(3);
    await planAll();
    await run();
    expect(countOf(BAD)).toBe(1);
    const heads = await readHeads();
    for (const productId of OTHERS) expect(heads.get(productId)).toBe(NOON);
  });

  test("if its page cannot be written", async () => {
    await sql.unsafe(`
      create function refuse() returns trigger language plpgsql as $$ begin raise exception 'disk full'; end $$;
      create trigger refuse before update on windows for each row
        when (new.product_id = '${BAD}' and new.status = 'done') execute function refuse()`);
    try {
      const { planAll, run } = worker(3, { every: "PT1M" });
      await planAll();
      await run();
      await run();
      expect(countOf(BAD)).toBe(1);
      const heads = await readHeads();
      for (const productId of OTHERS) expect(heads.get(productId)).toBe(NOON);
      clock.advance(MINUTE_MS);
      await run();
      expect(countOf(BAD)).toBe(2);
    } finally {
      await sql`drop function refuse cascade`;
    }
  });
});

test("an hour of backlog that is never answered delays nothing newer", async () => {
  const { planAll, run } = worker(8);
  const isBad = ({ from, to }: { from: number; to: number }) =>
    from < NOON - 4 * HOUR_MS && to > NOON - 5 * HOUR_MS;
  let failures = 0;
  let longestLagMs = 0;
  let tickedAt = NOON;
  /** What each product's scheduled job does once a minute, while the fetcher waits for an answer. */
  const tick = async () => {
    if (clock.now() - tickedAt < MINUTE_MS) return;
    tickedAt = clock.now();
    await planAll();
    const heads = await readHeads();
    longestLagMs = Math.max(longestLagMs, clock.now() - (heads.get(BAD ?? "") ?? 0));
  };
  provider.answer((asked) => {
    if (failures >= 40 || asked.parameters["productId"] !== BAD || !isBad(asked)) return page([]);
    return (response) => {
      failures += 1;
      clock.advance(30_000);
      void tick().then(() => status(504)(response));
    };
  });
  await planAll();
  while (failures < 40) {
    await run();
    clock.advance(5_000);
    await tick();
  }
  expect(clock.now()).toBeGreaterThan(NOON + 20 * MINUTE_MS);
  expect(longestLagMs).toBeLessThanOrEqual(3 * MINUTE_MS);
});

test("several fetchers fetch windows of one product side by side if no other product needs them", async () => {
  let atOnce = 0;
  let mostAtOnce = 0;
  const held: (() => void)[] = [];
  provider.answer(() => (response) => {
    atOnce += 1;
    mostAtOnce = Math.max(mostAtOnce, atOnce);
    held.push(() => {
      atOnce -= 1;
      page([])(response);
    });
    if (held.length === 3) for (const letGo of held.splice(0)) letGo();
  });
  const { run } = worker(1, { concurrency: 3 });
  const hours = [1, 2, 3].map((hour) => ({ from: NOON - (hour + 1) * HOUR_MS, to: NOON - hour * HOUR_MS }));
  await planWindows(sql, "P1", "confirm", hours);
  await run();
  expect(mostAtOnce).toBe(3);
});
