import { expect, test } from "vitest";
import type { FetchBetPage } from "../../src/bet.ts";
import { parseConfig } from "../../src/config-file.ts";
import { ReconError } from "../../src/errors.ts";
import type { PullContext } from "../../src/flows/context.ts";
import { fetchWindow } from "../../src/flows/pull/fetch-window.ts";
import { silentLog } from "../../src/log.ts";
import { LEASE_SECONDS } from "../../src/sync/leased-window-store.ts";
import { planWindows } from "../../src/sync/window-store.ts";
import { createTestClock } from "../support/clock.ts";
import { emptyTables, useDatabase } from "../support/database.ts";
import { exampleRecord, HOUR_MS, NOON } from "../support/examples.ts";
import { leaseNextWindow } from "../support/lease-window.ts";
import { inManyOrders, type Orders } from "../support/orders.ts";

const { sql } = useDatabase();
const never = new AbortController().signal;
const config = parseConfig({ products: [{ productId: "P1" }] });
const WORKERS = ["one", "another", "a third"];
const PAGES = 3;
const RECORDS = PAGES * 2;

/** Three pages of two records. */
const fetchPage: FetchBetPage = async ({ nextId }) => {
  const page = nextId === null ? 1 : Number(nextId);
  const records = [1, 2].map((index) => {
    const id = `${page}-${index}`;
    return exampleRecord({ id, betId: id, roundId: id });
  });
  return {
    records,
    rejected: [],
    nextId: page < PAGES ? String(page + 1) : null,
    requestedAt: NOON,
    tookMs: 5,
  };
};

/** @returns how often the worker lost its lease */
async function work(context: PullContext): Promise<number> {
  let lost = 0;
  for (;;) {
    const window = await leaseNextWindow(context.sql, "P1", NOON, ["live"]);
    if (window === null) return lost;
    await fetchWindow(context, window, never).catch((error: unknown) => {
      if (!(error instanceof ReconError && error.code === "lease-lost")) throw error;
      lost += 1;
    });
  }
}

const contextOf = (own: PullContext["sql"], ask = fetchPage): PullContext => ({
  sql: own,
  config,
  clock: createTestClock(NOON),
  log: silentLog,
  fetchPage: ask,
});

async function play(orders: Orders) {
  await emptyTables(sql);
  await planWindows(sql, "P1", "live", [{ from: NOON - HOUR_MS, to: NOON }]);
  let ended = 0;
  const endLeases = async () => {
    const { count } = await sql`
      update windows set lease_until = clock_timestamp() - interval '1 second' where lease_until > clock_timestamp()`;
    ended += count;
  };
  const workers = WORKERS.map((name) => {
    const ask: FetchBetPage = (...given) => orders.step(`${name} asks`, () => fetchPage(...given));
    return work(contextOf(orders.connect(name, sql), ask));
  });
  const endings = ["a lease ends", "a lease ends again"].map((label) => orders.step(label, endLeases));
  const lost = await Promise.all(workers);
  await Promise.all(endings);
  return { ended, lost: lost.reduce((sum, one) => sum + one, 0) };
}

test("in any order of statements, requests and ending leases each page is committed once, by the holder of the lease", async () => {
  await inManyOrders(play, async ({ ended, lost }, { tookMs }) => {
    // On a machine that stands still for ten seconds a lease ends by itself.
    if (tookMs() < LEASE_SECONDS * 1000) expect(lost).toBeLessThanOrEqual(ended);
    await sql`update windows set lease_until = null, lease_token = null`;
    await work(contextOf(sql));
    const windows =
      await sql`select status, pages, records, created, changed + unchanged as known from windows`;
    expect(windows).toEqual([{ status: "done", pages: PAGES, records: RECORDS, created: RECORDS, known: 0 }]);
    expect(await sql`select from bet_records`).toHaveLength(RECORDS);
  });
});
