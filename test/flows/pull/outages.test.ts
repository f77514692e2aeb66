import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { formatInstant } from "../../../src/clock.ts";
import { parseConfig } from "../../../src/config-file.ts";
import type { PullContext } from "../../../src/flows/context.ts";
import { readStatus } from "../../../src/flows/read/read-status.ts";
import { silentLog } from "../../../src/log.ts";
import { openProvider, type ProviderClient } from "../../../src/provider/client.ts";
import { readPullProgress } from "../../../src/sync/progress-store.ts";
import { type OutagePlan, runOutage } from "../../simulation/outage-run.ts";
import { createTestClock, type TestClock } from "../../support/clock.ts";
import { emptyTables, useDatabase } from "../../support/database.ts";
import { HOUR_MS, MINUTE_MS, NOON } from "../../support/examples.ts";
import { CREDENTIALS, page, status, useHttpProvider } from "../../support/http-provider.ts";
import { pullProduct } from "../../support/pull-product.ts";

const { sql } = useDatabase();
const provider = useHttpProvider();
const never = new AbortController().signal;
let clock: TestClock;
let client: ProviderClient;

beforeEach(async () => {
  await emptyTables(sql);
  clock = createTestClock(NOON);
  client = openProvider(
    { baseUrl: provider.url(), ...CREDENTIALS },
    { requestTimeoutMs: 60_000, connections: 2, production: false },
    clock,
  );
});
afterEach(() => client.close());

/** Pulls some products since an hour before noon. */
function worker(products: readonly string[], pull: Record<string, unknown> = {}): PullContext {
  const since = formatInstant(NOON - HOUR_MS);
  const config = parseConfig({
    products: products.map((productId) => ({ productId, since })),
    pull: { settleDelay: "PT0S", overlap: "PT0S", resweepAfter: [], attempts: 2, ...pull },
  });
  return { sql, config, clock, log: silentLog, fetchPage: client.fetchBetPage };
}

/** Runs a tick of each product every minute. @returns the times of each product's requests, in minutes after noon */
async function tick(context: PullContext, minutes: number): Promise<void> {
  const last = clock.now() + minutes * MINUTE_MS;
  for (let at = clock.now() + MINUTE_MS; at <= last; at += MINUTE_MS) {
    clock.set(at);
    for (const { productId } of context.config.products) await pullProduct(context, productId, never);
    // Waits during a tick do not move the ticks.
    clock.set(at);
  }
}

describe.each<OutagePlan["how"]>(["refuses", "times-out", "worker-down"])("an outage (%s)", (how) => {
  test("needs few requests more than its hours have windows, and each hour is fetched once", async () => {
    const { requests, minimum, requestsMeanwhile, mostFetches, incomplete } = await runOutage(sql, {
      products: 3,
      outageMs: 2 * HOUR_MS,
      how,
    });
    expect(minimum).toBeGreaterThanOrEqual(3 * 3);
    expect(requests / minimum).toBeLessThanOrEqual(1.3);
    expect({ mostFetches, incomplete }).toEqual({ mostFetches: 1, incomplete: 0 });
    // About one a minute for all products together, after the first failures of each.
    expect(requestsMeanwhile).toBeLessThan(2 * 2 * 60 + 3 * 20);
  });
});

describe("while the provider does not answer", () => {
  test("a product has one gap, which begins at the last fetched time and has a reason", async () => {
    const context = worker(["P1"]);
    await pullProduct(context, "P1", never);
    provider.answer(() => status(503));
    await tick(context, 30);
    const [progress] = await readPullProgress(sql);
    expect(progress).toMatchObject({ gaps: 1, firstGapAt: NOON });
    expect(await sql`select distinct error_code from windows where status = 'gap'`).toEqual([
      { error_code: "provider-server-error" },
    ]);
  });

  test("only the product's newest window is requested, rarely", async () => {
    const context = worker(["P1"], { resweepAfter: ["PT1H"] });
    await pullProduct(context, "P1", never);
    provider.answer(() => status(503));
    await tick(context, 10);
    const asked = provider.asked.length;
    await tick(context, 60);
    expect(provider.asked.length - asked).toBeLessThanOrEqual(31);
    expect(provider.asked.slice(asked).every(({ to }) => to > NOON + 10 * MINUTE_MS)).toBe(true);
  });

  test("the first product that is answered lets the others ask at once, and the whole backlog is fetched", async () => {
    const products = Array.from({ length: 6 }, (_, index) => `P${index}`);
    const context = worker(products);
    await tick(context, 1);
    provider.answer(() => status(503));
    await tick(context, 30);
    provider.answer(() => page([]));
    await tick(context, 4);
    const progress = await readPullProgress(sql);
    expect(progress).toHaveLength(6);
    for (const one of progress)
      expect(one).toMatchObject({ gaps: 0, head: clock.now(), firstMissingAt: null });
  });
});

test("an outage ends although the provider still refuses every second page", async () => {
  const context = worker(["P1"]);
  await pullProduct(context, "P1", never);
  provider.answer(() => status(503));
  await tick(context, 30);
  let count = 0;
  provider.answer(({ nextId }) => {
    count += 1;
    if (count % 2 === 0) return status(503);
    return nextId === null ? page([], "page-2") : page([]);
  });
  await tick(context, 10);
  const [progress] = await readPullProgress(sql);
  expect(progress).toMatchObject({ gaps: 0, head: clock.now(), firstMissingAt: null });
});

describe("a range that cannot be fetched although the provider answers elsewhere", () => {
  const BAD = { from: NOON + 10 * MINUTE_MS, to: NOON + 11 * MINUTE_MS };
  const isBad = ({ from, to }: { from: number; to: number }) => from < BAD.to && to > BAD.from;

  test("keeps growing delays of its own, while all newer time is fetched", async () => {
    const context = worker(["P1"]);
    await pullProduct(context, "P1", never);
    const triedAt = new Set<number>();
    provider.answer((asked) => {
      if (!isBad(asked)) return page([]);
      triedAt.add(Math.floor((clock.now() - BAD.to) / MINUTE_MS));
      return status(500);
    });
    await tick(context, 10 + 3 * 60);
    const [progress] = await readPullProgress(sql);
    expect(progress).toMatchObject({ head: clock.now(), gaps: 1, firstGapAt: BAD.from });
    expect(triedAt.size).toBeLessThanOrEqual(12);
    const [tried] = [[...triedAt].slice(-2)];
    expect((tried?.[1] ?? 0) - (tried?.[0] ?? 0)).toBeGreaterThanOrEqual(30);
  });
});

describe("a product that was never pulled", () => {
  test("lags since the moment at which its pulling begins, and nothing else is known", async () => {
    const { products } = await readStatus(worker(["P1"]));
    expect(products[0]).toMatchObject({ head: null, watermark: null, lagSeconds: 3600, windowSeconds: null });
  });
});
