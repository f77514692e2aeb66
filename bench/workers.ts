/**
 * workers: a backfill from a provider that answers slowly, by one, two and four worker processes on one Redis. First
 * each worker is its own limit. Then all share a budget that one of them alone can use up.
 */

import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { systemClock } from "../src/clock.ts";
import { parseConfig } from "../src/config-file.ts";
import type { Sql } from "../src/db/client.ts";
import { planBackfill, requestBackfill } from "../src/flows/pull/backfill.ts";
import { silentLog } from "../src/log.ts";
import { ensurePullState } from "../src/sync/pull-state-store.ts";
import { initialRange } from "../src/sync/range-control.ts";
import { eventually } from "../test/support/eventually.ts";
import { startRedis } from "../test/support/redis-server.ts";
import { withDatabase } from "./support/database.ts";
import { atLeast, atMost, type Figure } from "./support/figure.ts";
import { BEGIN, HOUR_MS } from "./support/pages.ts";
import type { WireReport } from "./support/slow-page-server.ts";
import type { WorkerOrder } from "./support/worker-process.ts";

const ANSWER_MS = 200;
const FETCHERS = 2;
/** More pages than the time allows, so that no worker runs out of work. */
const HOURS = 4_000;
const MEASURED_MS = 8_000;
const REDIS_CACHE = join(import.meta.dirname, "../.recon/test/redis");
/** The workers begin one after the other, with their ticks every few seconds. */
const ALL_WORK_MS = 60_000;

interface Throughput {
  /** pages per second */
  readonly rate: number;
  readonly mostAtOnce: number;
}

export async function measureWorkers(): Promise<Figure[]> {
  const wideBudget = 4 * FETCHERS;
  const one = await measure(1, wideBudget);
  const two = await measure(2, wideBudget);
  const four = await measure(4, wideBudget);
  const alone = await measure(1, FETCHERS);
  const crowd = await measure(4, FETCHERS);
  const best = (workers: number) => `${(workers * FETCHERS * 1000) / ANSWER_MS} pages/s are possible`;
  return [
    atLeast(
      "workers-2",
      two.rate / one.rate,
      1.7,
      `${tell(two)} by 2 workers, ${tell(one)} by 1; ${best(2)}`,
    ),
    atLeast(
      "workers-4",
      four.rate / one.rate,
      3,
      `${tell(four)} by 4 workers, ${tell(one)} by 1; ${best(4)}`,
    ),
    atMost(
      "workers-budget",
      Math.max(crowd.mostAtOnce, alone.mostAtOnce) / FETCHERS,
      1,
      `${crowd.mostAtOnce} requests at once by 4 workers in a budget of ${FETCHERS}, at ${tell(crowd)}; ${tell(alone)} by 1`,
    ),
  ];
}

function tell({ rate }: Throughput): string {
  return `${rate.toFixed(1)} pages/s`;
}

/** Measures from the time at which every worker has got an answer, so that the start does not count. */
async function measure(workers: number, budget: number): Promise<Throughput> {
  return await withDatabase(async (sql, databaseUrl) => {
    const redis = await startRedis({ cache: REDIS_CACHE });
    const server = fork(join(import.meta.dirname, "support/slow-page-server.ts"), [String(ANSWER_MS)]);
    const [{ port }] = (await once(server, "message")) as [{ port: number }];
    await requestHours(sql);
    const order = {
      databaseUrl,
      redisUrl: redis.url,
      providerUrl: `http://127.0.0.1:${port}`,
      fetchers: FETCHERS,
      budget,
    };
    const crew = Array.from({ length: workers }, (_, index) =>
      startWorkerProcess({ ...order, name: `w${index}` }),
    );
    try {
      const seen = new Set<string>();
      let mostAtOnce = 0;
      const look = async () => {
        const report = await askWire(server);
        mostAtOnce = Math.max(mostAtOnce, report.mostAtOnce);
        for (const name of Object.keys(report.answered)) seen.add(name);
        return report;
      };
      await eventually(
        "every worker works",
        async () => (await look()) && seen.size === workers,
        ALL_WORK_MS,
      );
      await systemClock.sleep(5 * ANSWER_MS);
      await look();
      const begunAt = performance.now();
      await systemClock.sleep(MEASURED_MS);
      const { answered } = await look();
      const pages = Object.values(answered).reduce((sum, count) => sum + count, 0);
      return { rate: (pages * 1000) / (performance.now() - begunAt), mostAtOnce };
    } finally {
      for (const child of [...crew, server]) await endChild(child);
      await redis.stop();
    }
  });
}

async function requestHours(sql: Sql): Promise<void> {
  const config = parseConfig({ products: [{ productId: "P1" }] });
  const { windowMin, windowMax, requestTimeout } = config.pull;
  const limits = { windowMinMs: windowMin, windowMaxMs: windowMax, requestTimeoutMs: requestTimeout };
  await ensurePullState(sql, "P1", systemClock.now(), initialRange(limits));
  const context = { sql, config, clock: systemClock, log: silentLog };
  const asked = { productId: "P1", from: BEGIN, to: BEGIN + HOURS * HOUR_MS };
  await requestBackfill(context, await planBackfill(context, asked));
}

function startWorkerProcess(order: WorkerOrder): ChildProcess {
  return fork(join(import.meta.dirname, "support/worker-process.ts"), [JSON.stringify(order)]);
}

async function askWire(server: ChildProcess): Promise<WireReport> {
  server.send("report");
  const [report] = (await once(server, "message")) as [WireReport];
  return report;
}

async function endChild(child: ChildProcess): Promise<void> {
  child.kill("SIGKILL");
  if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
}
