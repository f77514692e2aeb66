/** Real workers that pull more than they can from a provider that the case owns. */

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { openDatabase, type Sql } from "../../src/db/client.ts";
import { startOwnRedis } from "../simulation/own-redis.ts";
import { type ReconProcess, startRecon } from "../simulation/recon-process.ts";
import { withScratchDatabase } from "../simulation/scratch-databases.ts";

export const QUEUE_PLACES = ["Redis", "PostgreSQL"] as const;
export type QueuePlace = (typeof QUEUE_PLACES)[number];

/** One request for a page of bets. */
export interface AskedPage {
  readonly productId: string;
  readonly from: number;
  readonly to: number;
  /** milliseconds since the load began */
  readonly atMs: number;
}

export interface PullLoad {
  /** of `recon.config.json` */
  readonly config: object;
  readonly workers: number;
  readonly queues: QueuePlace;
  /** how long the provider takes for an answer without records */
  readonly answerMs: number;
  /** whether it answers otherwise, by itself */
  readonly answer?: (asked: AskedPage, response: ServerResponse) => boolean;
  /** runs before the workers start */
  readonly prepare?: (sql: Sql) => Promise<void>;
}

export interface RunningLoad {
  readonly sql: Sql;
  /** all requests so far, in order */
  readonly asked: readonly AskedPage[];
  readonly workers: readonly ReconProcess[];
  nowMs(): number;
  /** One more worker; resolves when it is up. */
  startWorker(): Promise<ReconProcess>;
}

export function productNames(count: number): string[] {
  return Array.from({ length: count }, (_, index) => `P${index + 1}`);
}

/** Starts database, queues, provider and workers, lets `watch` see what comes, and ends all of them. */
export async function underLoad<Seen>(
  load: PullLoad,
  watch: (running: RunningLoad) => Promise<Seen>,
): Promise<Seen> {
  return await withScratchDatabase((url) => runLoad(load, url, watch));
}

async function runLoad<Seen>(
  load: PullLoad,
  databaseUrl: string,
  watch: (running: RunningLoad) => Promise<Seen>,
): Promise<Seen> {
  const sql = openDatabase(databaseUrl, 3);
  const begunAt = performance.now();
  const nowMs = () => performance.now() - begunAt;
  const asked: AskedPage[] = [];
  const provider = createServer(async (request, response) => {
    const one = { ...readRequest(request), atMs: nowMs() };
    asked.push(one);
    if (load.answer?.(one, response)) return;
    await pause(load.answerMs);
    response.writeHead(200, { "content-type": "application/json" });
    response.end('{"reqId":"r","code":0,"message":"success","data":{"txns":[]}}');
  });
  await new Promise<void>((resolve) => provider.listen(0, "127.0.0.1", resolve));
  const redis = load.queues === "Redis" ? await startOwnRedis() : null;
  const folder = mkdtempSync(join(tmpdir(), "recon-saturation-"));
  const configFile = join(folder, "recon.config.json");
  writeFileSync(configFile, JSON.stringify(load.config));
  const environment = {
    DATABASE_URL: databaseUrl,
    ...(redis === null ? {} : { REDIS_URL: redis.url }),
    PROVIDER_BASE_URL: `http://127.0.0.1:${(provider.address() as AddressInfo).port}`,
    PROVIDER_USERNAME: "agent",
    PROVIDER_PASSWORD: "of the saturation suite",
    RECON_CONFIG: configFile,
    OPS_PORT: "0",
    LOG_LEVEL: "info",
  };
  const workers: ReconProcess[] = [];
  const startWorker = async () => {
    const worker = startRecon(["worker"], environment, "the worker runs");
    workers.push(worker);
    if (!(await worker.ready)) throw new Error(`a worker does not start: ${worker.lastLines()}`);
    return worker;
  };
  try {
    await load.prepare?.(sql);
    await Promise.all(Array.from({ length: load.workers }, startWorker));
    return await watch({ sql, asked, workers, nowMs, startWorker });
  } finally {
    for (const worker of workers) worker.kill("SIGKILL");
    await Promise.all(workers.map(({ ended }) => ended));
    provider.closeAllConnections();
    await new Promise((resolve) => provider.close(resolve));
    await redis?.stop();
    await sql.end({ timeout: 5 });
    rmSync(folder, { recursive: true });
  }
}

function readRequest({ url = "/" }: IncomingMessage): Omit<AskedPage, "atMs"> {
  const { searchParams } = new URL(url, "http://provider");
  const timeOf = (name: string) => Date.parse(searchParams.get(name) ?? "");
  return {
    productId: searchParams.get("productId") ?? "",
    from: timeOf("startTime"),
    to: timeOf("endTime"),
  };
}

/** How often each product was asked for, those that never were included. */
export function countByProduct(
  products: readonly string[],
  asked: readonly Pick<AskedPage, "productId">[],
): ReadonlyMap<string, number> {
  const counts = new Map(products.map((productId) => [productId, 0]));
  for (const { productId } of asked) counts.set(productId, (counts.get(productId) ?? 0) + 1);
  return counts;
}

/** Requests of the product served most, for each of the one served least; infinite where one was never served. */
export function unfairness(
  products: readonly string[],
  asked: readonly Pick<AskedPage, "productId">[],
): number {
  const counts = [...countByProduct(products, asked).values()];
  const least = Math.min(...counts);
  return least === 0 ? Number.POSITIVE_INFINITY : Math.max(...counts) / least;
}

/** The longest time in which a product was asked for nothing, from the begin of the load or of a request on, in milliseconds. */
export function longestSilence(
  products: readonly string[],
  asked: readonly AskedPage[],
  fromMs: number,
  untilMs: number,
): { readonly productId: string; readonly ms: number } {
  const silences = products.map((productId) => {
    const own = asked.filter(
      (one) => one.productId === productId && one.atMs >= fromMs && one.atMs <= untilMs,
    );
    const times = [fromMs, ...own.map(({ atMs }) => atMs), untilMs];
    const ms = Math.max(...times.slice(1).map((atMs, index) => atMs - (times[index] ?? atMs)));
    return { productId, ms: Math.round(ms) };
  });
  return silences.reduce((worst, one) => (one.ms > worst.ms ? one : worst));
}
