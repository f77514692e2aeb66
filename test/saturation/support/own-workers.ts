/** Real workers with a database and a provider that the case owns. */

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openDatabase, type Sql } from "../../../src/db/client.ts";
import { type ReconProcess, startRecon } from "../../simulation/recon-process.ts";
import { withScratchDatabase } from "../../simulation/scratch-databases.ts";

export const QUEUE_PLACES = ["Redis", "PostgreSQL"] as const;
export type QueuePlace = (typeof QUEUE_PLACES)[number];

export interface OwnWorkers {
  readonly sql: Sql;
  readonly databaseUrl: string;
  /** those that were started so far */
  readonly workers: readonly ReconProcess[];
  /** Starts one more worker; resolves when it is up. */
  startWorker(): Promise<ReconProcess>;
  /** of the first worker: the answer of `/api/status`, and whether the overview says that all is well */
  status(): Promise<Status>;
  overviewSaysWell(): Promise<boolean>;
}

interface Status {
  readonly products: readonly { readonly productId: string; readonly lagSeconds: number | null }[];
  readonly comparing: { readonly problem: string | null };
}

export interface OwnWorkersPlan {
  /** of `recon.config.json` */
  readonly config: object;
  readonly workers: number;
  /** null: the queues are in the database */
  readonly redisUrl: string | null;
  /** the provider; answers every path except `/heartbeat` */
  readonly provider: RequestListener;
  /** runs before the workers start */
  readonly prepare?: (sql: Sql) => Promise<void>;
}

/** Starts database, provider and workers, lets `watch` observe them, and ends all of them. */
export async function withOwnWorkers<Seen>(
  plan: OwnWorkersPlan,
  watch: (own: OwnWorkers) => Promise<Seen>,
): Promise<Seen> {
  return await withScratchDatabase((databaseUrl) => run(plan, databaseUrl, watch));
}

async function run<Seen>(
  { config, workers: count, redisUrl, provider, prepare }: OwnWorkersPlan,
  databaseUrl: string,
  watch: (own: OwnWorkers) => Promise<Seen>,
): Promise<Seen> {
  const sql = openDatabase(databaseUrl, 3);
  const server = createServer(provider);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const folder = mkdtempSync(join(tmpdir(), "recon-saturation-"));
  const configFile = join(folder, "recon.config.json");
  writeFileSync(configFile, JSON.stringify(config));
  const environment = {
    DATABASE_URL: databaseUrl,
    ...(redisUrl === null ? {} : { REDIS_URL: redisUrl }),
    PROVIDER_BASE_URL: origin,
    PROVIDER_USERNAME: "agent",
    PROVIDER_PASSWORD: "of the saturation suite",
    HEARTBEAT_URL: `${origin}/heartbeat`,
    RECON_CONFIG: configFile,
    OPS_PORT: "0",
    LOG_LEVEL: "info",
  };
  const workers: ReconProcess[] = [];
  let ops: string | null = null;
  const startWorker = async () => {
    const worker = startRecon(["worker"], environment, "the worker runs");
    workers.push(worker);
    if (!(await worker.ready)) throw new Error(`a worker does not start: ${worker.lastLines()}`);
    ops ??= opsOf(worker);
    return worker;
  };
  const ask = async (path: string) => await fetch(`${ops}${path}`);
  const status = async () => (await (await ask("/api/status")).json()) as Status;
  const overviewSaysWell = async () => (await (await ask("/")).text()).includes("All is well");
  try {
    await prepare?.(sql);
    await Promise.all(Array.from({ length: count }, startWorker));
    return await watch({ sql, databaseUrl, workers, startWorker, status, overviewSaysWell });
  } finally {
    for (const worker of workers) worker.kill("SIGKILL");
    await Promise.all(workers.map(({ ended }) => ended));
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
    await sql.end({ timeout: 5 });
    rmSync(folder, { recursive: true });
  }
}

/** The URL of its ops server, from its log. */
function opsOf(worker: ReconProcess): string {
  const line = worker.lines.find((one) => one.includes("the worker runs")) ?? "{}";
  return (JSON.parse(line) as { readonly ops: string }).ops;
}
