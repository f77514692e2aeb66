/** A real worker whose work stands still in parts, with a provider, a heartbeat and queues that the case owns. */

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { setTimeout as pause } from "node:timers/promises";
import { openDatabase, type Sql } from "../../src/db/client.ts";
import { startOwnRedis } from "../simulation/own-redis.ts";
import { startRecon } from "../simulation/recon-process.ts";
import { openScratchDatabases } from "../simulation/scratch-databases.ts";
import { startTcpProxy, type TcpProxy } from "../support/tcp-proxy.ts";

/** A question about a transfer. */
interface AskedTransfer {
  readonly productId: string;
  readonly atMs: number;
}

export interface StandingLoad {
  /** of `recon.config.json` */
  readonly config: object;
  readonly workers: number;
  /** the queues are in a Redis that can be taken away */
  readonly inRedis: boolean;
  /** what the provider does with a question about a transfer of the product: "answer", "hang", or "refuse" */
  readonly transfers?: (productId: string) => "answer" | "hang" | "refuse";
  /** runs before the workers start */
  readonly prepare?: (sql: Sql) => Promise<void>;
}

export interface StandingWorker {
  readonly sql: Sql;
  readonly asked: readonly AskedTransfer[];
  /** when bets were asked for */
  readonly pulledAtMs: readonly number[];
  /** when each heartbeat came */
  readonly beats: readonly number[];
  /** null: the queues are in the database */
  readonly redis: TcpProxy | null;
  nowMs(): number;
  /** of `/api/status` and of the overview */
  status(): Promise<{ readonly comparing: { readonly problem: string | null } }>;
  overviewSaysWell(): Promise<boolean>;
  /** Seconds until it holds; "never" where it does not within so many. */
  secondsUntil(holds: () => Promise<boolean> | boolean, longest: number): Promise<number | "never">;
}

export async function whileWorking<Seen>(
  load: StandingLoad,
  watch: (worker: StandingWorker) => Promise<Seen>,
): Promise<Seen> {
  const databases = await openScratchDatabases();
  try {
    return await databases.use(1, (url) => work(load, url, watch));
  } finally {
    await databases.close();
  }
}

async function work<Seen>(
  load: StandingLoad,
  databaseUrl: string,
  watch: (worker: StandingWorker) => Promise<Seen>,
): Promise<Seen> {
  const sql = openDatabase(databaseUrl, 3);
  const begunAt = performance.now();
  const nowMs = () => performance.now() - begunAt;
  const asked: AskedTransfer[] = [];
  const pulledAtMs: number[] = [];
  const beats: number[] = [];
  const server = createServer(async (request, response) => {
    const say = (data: object) => {
      response.writeHead(200, { "content-type": "application/json" });
      response.end(JSON.stringify({ reqId: "r", code: 0, message: "success", data }));
    };
    if (request.url?.startsWith("/heartbeat")) {
      beats.push(nowMs());
      return response.writeHead(200).end();
    }
    if (request.url !== "/verifyDepositWithdraw") {
      pulledAtMs.push(nowMs());
      return say({ txns: [] });
    }
    const question = JSON.parse(await text(request)) as { productId: string };
    const { productId } = question;
    asked.push({ productId, atMs: nowMs() });
    const how = load.transfers?.(productId) ?? "answer";
    if (how === "hang") return;
    if (how === "refuse") return response.writeHead(403).end("{}");
    await pause(50);
    const amounts = { amount: "10.00", beforeBalance: "0.00", afterBalance: "10.00" };
    say({ success: true, currency: "THB", ...question, ...amounts });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const own = load.inRedis ? await startOwnRedis() : null;
  const redis = own === null ? null : await startTcpProxy(own.url);
  const folder = mkdtempSync(join(tmpdir(), "recon-saturation-"));
  const configFile = join(folder, "recon.config.json");
  writeFileSync(configFile, JSON.stringify(load.config));
  const environment = {
    DATABASE_URL: databaseUrl,
    ...(redis === null ? {} : { REDIS_URL: redis.url }),
    PROVIDER_BASE_URL: origin,
    PROVIDER_USERNAME: "agent",
    PROVIDER_PASSWORD: "of the saturation suite",
    HEARTBEAT_URL: `${origin}/heartbeat`,
    RECON_CONFIG: configFile,
    OPS_PORT: "0",
    LOG_LEVEL: "info",
  };
  await load.prepare?.(sql);
  const workers = Array.from({ length: load.workers }, () =>
    startRecon(["worker"], environment, "the worker runs"),
  );
  try {
    for (const worker of workers) {
      if (!(await worker.ready)) throw new Error(`a worker does not start: ${worker.lastLines()}`);
    }
    const line = workers[0]?.lines.find((one) => one.includes("the worker runs")) ?? "{}";
    const { ops } = JSON.parse(line) as { ops: string };
    return await watch({
      sql,
      asked,
      pulledAtMs,
      beats,
      redis,
      nowMs,
      status: async () =>
        (await (await fetch(`${ops}/api/status`)).json()) as Awaited<ReturnType<StandingWorker["status"]>>,
      overviewSaysWell: async () => (await (await fetch(ops)).text()).includes("All is well"),
      secondsUntil: async (holds, longest) => {
        const from = nowMs();
        while (nowMs() - from < longest * 1000) {
          if (await holds()) return Math.round((nowMs() - from) / 100) / 10;
          await pause(250);
        }
        return "never";
      },
    });
  } finally {
    for (const worker of workers) worker.kill("SIGKILL");
    await Promise.all(workers.map(({ ended }) => ended));
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
    await redis?.close();
    await own?.stop();
    await sql.end({ timeout: 5 });
    rmSync(folder, { recursive: true });
  }
}

/** Whether an alert of this kind was written. */
export async function isAlerted(sql: Sql, kind: string): Promise<boolean> {
  const [row] = await sql<{ found: boolean }[]>`
    select exists (select from alerts where kind = ${kind}) as found`;
  return row?.found ?? false;
}

/** @returns whether it happened within the bar */
export function inTime(seconds: number | "never", most: number): boolean {
  return seconds !== "never" && seconds <= most;
}
