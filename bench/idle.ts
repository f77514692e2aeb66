/** idle: the cost of a worker with 50 products and no work, as a share of one core. */

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { startRedis } from "../test/support/redis-server.ts";
import { withDatabase } from "./support/database.ts";
import type { Figure } from "./support/figure.ts";
import { startPageProvider } from "./support/page-provider.ts";

const PRODUCTS = Array.from({ length: 50 }, (_, index) => `P${index + 1}`);
/** By then the work of a start has ended: first pulls, schedules, first comparisons. */
const SETTLE_MS = 90_000;
/** Two minutes contain every job of the default settings except the hourly ones. */
const MEASURE_MS = 120_000;
const BAR = 0.02;
/** The clock ticks per second of /proc/PID/stat. */
const TICKS_PER_SECOND = 100;

const ROOT = join(import.meta.dirname, "..");

export async function measureIdle(): Promise<Figure[]> {
  return await withDatabase(async (_sql, databaseUrl) => {
    const provider = await startPageProvider({ products: PRODUCTS, hours: 1, pagesPerHour: 1, pageSize: 0 });
    const redis = await startRedis({ cache: join(ROOT, ".recon/test/redis") });
    const folder = await mkdtemp(join(tmpdir(), "recon-idle-"));
    const config = join(folder, "recon.config.json");
    await writeFile(config, JSON.stringify({ products: PRODUCTS.map((productId) => ({ productId })) }));
    const worker = startWorker({
      DATABASE_URL: databaseUrl,
      REDIS_URL: redis.url,
      PROVIDER_BASE_URL: provider.url,
      PROVIDER_USERNAME: "bench",
      PROVIDER_PASSWORD: "bench",
      RECON_CONFIG: config,
      OPS_PORT: "0",
      LOG_LEVEL: "warn",
    });
    try {
      await sleep(SETTLE_MS);
      const before = cpuSeconds(worker);
      await sleep(MEASURE_MS);
      const share = (cpuSeconds(worker) - before) / (MEASURE_MS / 1000);
      const value = Math.round(share * 10_000) / 10_000;
      return [
        {
          name: "idle",
          value,
          bar: `< ${BAR}`,
          holds: value < BAR,
          detail: `${(share * 100).toFixed(2)} % of a core with ${PRODUCTS.length} products, default settings, queues in Redis`,
        },
      ];
    } finally {
      worker.kill("SIGTERM");
      await once(worker, "exit");
      await redis.stop();
      provider.stop();
      await rm(folder, { recursive: true });
    }
  });
}

/** Starts a worker as `npm start` does. */
function startWorker(environment: Record<string, string>): ChildProcess {
  const flags = ["--max-semi-space-size=8", "--heap-growing-percent=40"];
  const program = join(ROOT, "src/cli/main.ts");
  return spawn(process.execPath, [...flags, program, "worker"], {
    cwd: ROOT,
    env: { PATH: process.env["PATH"], ...environment },
    stdio: ["ignore", "ignore", "inherit"],
  });
}

/** The user and system time of all threads of a process. */
function cpuSeconds({ pid, exitCode }: ChildProcess): number {
  if (exitCode !== null) throw new Error(`the worker ended with exit code ${exitCode}`);
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]?.split(" ") ?? [];
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND;
}
