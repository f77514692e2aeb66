/**
 * Many products in an outage of the provider or of the worker: how many requests are sent during the outage, and afterwards
 * until everything is fetched. The clock is moved; planning, database and HTTP are real.
 */

import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { formatInstant, type Instant } from "../../src/clock.ts";
import { type Config, parseConfig } from "../../src/config-file.ts";
import type { Sql } from "../../src/db/client.ts";
import { ReconError } from "../../src/errors.ts";
import type { PullContext } from "../../src/flows/context.ts";
import { openFetchers } from "../../src/flows/pull/fetchers.ts";
import { planProduct } from "../../src/flows/pull/plan-product.ts";
import { watermarkOf } from "../../src/health/products.ts";
import { silentLog } from "../../src/log.ts";
import { openProvider } from "../../src/provider/client.ts";
import { readPullProgress } from "../../src/sync/progress-store.ts";
import { LONGEST_WINDOW_MS, mergeRanges, type TimeRange } from "../../src/window.ts";
import { createMovingClock, type TestClock } from "../support/clock.ts";
import { emptyTables } from "../support/database.ts";

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const BEGIN = Date.parse("2026-11-20T12:00:00Z");
/** This long after the outage everything is as before. */
const MOST_MINUTES_BEHIND = 30;

export interface OutagePlan {
  readonly products: number;
  readonly outageMs: number;
  /** refuses: HTTP 503; times-out: no answer in time; worker-down: the provider is healthy, and nothing is asked */
  readonly how: "refuses" | "times-out" | "worker-down";
}

export interface OutageResult {
  /** while the outage lasted */
  readonly requestsMeanwhile: number;
  /** live requests of all products, from the end of the outage until everything was fetched */
  readonly requests: number;
  /** the requests of the best possible plan */
  readonly minimum: number;
  /** from the end of the outage until the slowest product had fetched its newest time, and all its time */
  readonly freshAfterMs: number;
  readonly caughtUpAfterMs: number;
  /** the largest number of fetches of one time older than the last hour, since the end of the outage; without resweeps */
  readonly mostFetches: number;
  /** products that lack some time at the end */
  readonly incomplete: number;
}

interface LoggedRequest {
  readonly at: Instant;
  /** the product had fetched everything before: this is an ordinary tick */
  readonly isOrdinary: boolean;
  readonly kind: string | undefined;
}

/**
 * Runs the products one after another in the order of their time, each with a clock of its own, as if none waited for a slot.
 */
export async function runOutage(sql: Sql, plan: OutagePlan): Promise<OutageResult> {
  await emptyTables(sql);
  const outage = { from: BEGIN + 5 * MINUTE_MS, to: BEGIN + 5 * MINUTE_MS + plan.outageMs };
  const isDown = (at: Instant) => plan.how !== "worker-down" && outage.from <= at && at < outage.to;
  let answersNow = true;
  const server = await serve(() => (answersNow ? "page" : plan.how === "refuses" ? "503" : "drop"));
  const config = parseConfig({
    products: Array.from({ length: plan.products }, (_, index) => ({
      productId: `P${index}`,
      since: formatInstant(BEGIN - 2 * HOUR_MS),
    })),
  });
  const timeOutMs = config.pull.requestTimeout;
  const limits = { requestTimeoutMs: timeOutMs, connections: 8, production: false };
  const provider = openProvider(
    { baseUrl: server.url, username: "agent", password: "secret" },
    limits,
    createMovingClock(BEGIN, plan.products),
  );
  const asked: LoggedRequest[] = [];
  const freshAt = new Map<string, Instant>();
  const caughtUpAt = new Map<string, Instant>();
  const products = config.products.map(({ productId }, index) => {
    const clock = createMovingClock(BEGIN + Math.floor((index * MINUTE_MS) / plan.products), index);
    const fetchPage: PullContext["fetchPage"] = async (request, signal, kind) => {
      const at = clock.now();
      asked.push({ at, kind, isOrdinary: caughtUpAt.has(productId) });
      answersNow = !isDown(at);
      try {
        return await provider.fetchBetPage(request, signal);
      } catch (error) {
        // A connection that is dropped at once stands for a time-out.
        const isTimeOut = error instanceof ReconError && error.code === "provider-dropped";
        if (isTimeOut) clock.set(Math.max(clock.now(), at + timeOutMs));
        throw error;
      }
    };
    const context = { sql, config: only(config, productId), clock, log: silentLog, fetchPage };
    return { productId, clock, tick: openTick(context, productId, clock), firstTickAt: clock.now() };
  });
  const readMarks = async () =>
    new Map((await readPullProgress(sql)).map((one) => [one.productId, one] as const));
  const end = outage.to + MOST_MINUTES_BEHIND * MINUTE_MS;
  let minimum = 0;
  try {
    let before: Awaited<ReturnType<typeof readMarks>> | null = null;
    for (let minute = BEGIN; minute < end; minute += MINUTE_MS) {
      if (before === null && minute >= outage.to) before = await readMarks();
      if (plan.how === "worker-down" && minute >= outage.from && minute < outage.to) continue;
      if (before !== null && caughtUpAt.size === plan.products) break;
      const waiting = await readWaiting(sql);
      const ticked: { readonly productId: string; readonly tick: Instant }[] = [];
      for (const one of products) {
        const tick = minute + (one.firstTickAt - BEGIN);
        // The product waits for its next probe, and would send nothing: thousands of such ticks add nothing.
        if (before === null && (waiting.get(one.productId) ?? 0) > tick) continue;
        // A job that runs delays the next one of its product.
        if (one.clock.now() > tick) continue;
        one.clock.set(tick);
        ticked.push({ productId: one.productId, tick });
        await one.tick(tick + MINUTE_MS);
      }
      if (before === null) continue;
      const marks = await readMarks();
      for (const { productId, tick } of ticked) {
        if (caughtUpAt.has(productId)) continue;
        const mark = marks.get(productId);
        const due = tick - config.pull.settleDelay;
        if (mark === undefined || mark.head < due) continue;
        if (!freshAt.has(productId)) freshAt.set(productId, tick);
        if (watermarkOf(mark) < due) continue;
        caughtUpAt.set(productId, tick);
        const was = before.get(productId);
        minimum += Math.ceil((due - (was === undefined ? BEGIN : watermarkOf(was))) / LONGEST_WINDOW_MS);
      }
    }
  } finally {
    provider.close();
    await server.close();
  }
  const last = Math.max(...products.map(({ clock }) => clock.now()));
  return {
    requestsMeanwhile: asked.filter(({ at }) => at >= outage.from && at < outage.to).length,
    requests: asked.filter(({ at, kind, isOrdinary }) => at >= outage.to && kind === "live" && !isOrdinary)
      .length,
    minimum,
    freshAfterMs: Math.max(...freshAt.values()) - outage.to,
    caughtUpAfterMs: Math.max(...caughtUpAt.values()) - outage.to,
    mostFetches: await countMostFetches(sql, outage.to),
    incomplete: await countIncomplete(sql, { from: BEGIN - 2 * HOUR_MS, to: last - 5 * MINUTE_MS }),
  };
}

function only(config: Config, productId: string): Config {
  return { ...config, products: config.products.filter((product) => product.productId === productId) };
}

/** Runs a tick of one product, and fetches until the next tick. Planning and leases are those of production. */
function openTick(
  context: PullContext,
  productId: string,
  clock: TestClock,
): (until: Instant) => Promise<void> {
  const runFetchers = openFetchers(context);
  const never = new AbortController().signal;
  return async (until) => {
    await planProduct(context, productId, clock.now());
    for (;;) {
      await runFetchers(never);
      const retryAt = await readNextAttempt(context.sql, productId);
      if (retryAt === null || retryAt <= clock.now() || retryAt >= until) return;
      clock.set(retryAt);
    }
  };
}

async function readNextAttempt(sql: Sql, productId: string): Promise<Instant | null> {
  const [row] = await sql<{ at: Instant | null }[]>`
    select min(next_attempt_at) as at from windows
    where product_id = ${productId} and kind in ('live', 'resweep') and status in ('planned', 'gap')`;
  return row?.at ?? null;
}

async function readWaiting(sql: Sql): Promise<Map<string, Instant>> {
  const rows = await sql<{ productId: string; probeAt: Instant }[]>`
    select product_id as "productId", probe_at as "probeAt" from pull_states where probe_at is not null`;
  return new Map(rows.map(({ productId, probeAt }) => [productId, probeAt]));
}

type DoneWindow = TimeRange & {
  readonly productId: string;
  readonly kind: string;
  readonly startedAt: Instant;
};

async function readDone(sql: Sql): Promise<Map<string, DoneWindow[]>> {
  const rows = await sql<DoneWindow[]>`
    select product_id as "productId", kind, from_at as "from", to_at as "to", started_at as "startedAt"
    from windows where status = 'done' order by from_at`;
  return Map.groupBy(rows, ({ productId }) => productId);
}

/**
 * Without the last hour before the end of the outage, which is fetched again for the overlap, and without resweeps: a product that has
 * fetched its backlog may begin them while another one still fetches.
 */
async function countMostFetches(sql: Sql, endedAt: Instant): Promise<number> {
  let most = 0;
  for (const windows of (await readDone(sql)).values()) {
    const since = windows.filter(({ startedAt, kind }) => startedAt >= endedAt && kind === "live");
    for (const { from } of since) {
      if (from >= endedAt - HOUR_MS) continue;
      most = Math.max(most, since.filter((other) => other.from <= from && other.to > from).length);
    }
  }
  return most;
}

async function countIncomplete(sql: Sql, range: TimeRange): Promise<number> {
  const done = [...(await readDone(sql)).values()].map((windows) => mergeRanges(windows));
  return done.filter((covered) => !covered.some(({ from, to }) => from <= range.from && to >= range.to))
    .length;
}

async function serve(how: () => "page" | "503" | "drop"): Promise<{ url: string; close(): Promise<void> }> {
  const server: Server = createServer((_request, response) => {
    const answer = how();
    if (answer === "drop") response.socket?.destroy();
    else if (answer === "503") response.writeHead(503).end();
    else {
      response.writeHead(200, { "content-type": "application/json" });
      response.end('{"reqId":"r","code":0,"message":"success","data":{"txns":[]}}');
    }
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
