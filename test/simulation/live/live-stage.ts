/** The surroundings of a run in real time: a provider, `recon callbacks`, `recon worker`, PostgreSQL and Redis, all real. */

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { systemClock } from "../../../src/clock.ts";
import { openDatabase, type Sql } from "../../../src/db/client.ts";
import { migrateDatabase } from "../../../src/db/migrate.ts";
import { startSandbox } from "../../../src/sandbox/server/server.ts";
import { CREDENTIALS } from "../../sandbox/agent.ts";
import { ownPort } from "../../support/own-port.ts";
import { CALLBACKS, type Crew, startCrew, WORKER } from "../crew.ts";
import { type OwnPostgres, startOwnPostgres } from "../own-postgres.ts";
import { type OwnRedis, startOwnRedis } from "../own-redis.ts";
import { rangeHabits } from "../run-seed.ts";
import { configFrom, type LiveRunPlan } from "./live-plan.ts";
import { createLiveWorld, type LiveWorld } from "./live-world.ts";
import { planProviderFaults } from "./provider-faults.ts";
import { logQueries, type QueryLog } from "./query-log.ts";

export interface LiveStage {
  readonly plan: LiveRunPlan;
  /** for the auditor; the processes have connections of their own */
  readonly sql: Sql;
  readonly world: LiveWorld;
  readonly queries: QueryLog;
  readonly postgres: OwnPostgres;
  readonly redis: OwnRedis;
  readonly crews: Readonly<Record<"worker" | "callbacks", Crew>>;
  /** of every command of `recon` */
  readonly environment: Readonly<Record<string, string>>;
  /** the address of the callbacks server, and the key that signs them */
  readonly callbacks: { readonly url: string; readonly key: string };
  /** Ends the processes in good order. */
  stop(): Promise<void>;
  close(): Promise<void>;
}

const KEY = "the key that signs the callbacks";
const PAGE_SIZE = 500;

/** Starts everything; play has not begun yet. */
export async function openLiveStage(plan: LiveRunPlan): Promise<LiveStage> {
  const folder = mkdtempSync(join(tmpdir(), "wallet-recon-live-"));
  const [postgres, redis] = await Promise.all([startOwnPostgres(), startOwnRedis()]);
  await migrateDatabase(postgres.url);
  const world = createLiveWorld(plan);
  const now = systemClock.now();
  const sandbox = await startSandbox({
    ...CREDENTIALS,
    world,
    clock: systemClock,
    host: "127.0.0.1",
    port: 0,
    pageSize: PAGE_SIZE,
    faults: planProviderFaults(now, plan.playedMs),
    ranges: rangeHabits(plan.seed),
  });
  const queries = await logQueries(sandbox.url);
  const config = join(folder, "recon.config.json");
  writeFileSync(config, JSON.stringify(configFrom(plan, now)));
  const port = await ownPort();
  const environment = {
    DATABASE_URL: postgres.url,
    REDIS_URL: redis.url,
    PROVIDER_BASE_URL: queries.url,
    PROVIDER_USERNAME: CREDENTIALS.username,
    PROVIDER_PASSWORD: CREDENTIALS.password,
    RECON_CONFIG: config,
    OPS_PORT: "0",
    CALLBACK_PORT: String(port),
    CALLBACK_SIGNATURE_KEY: KEY,
    LOG_LEVEL: "info",
  };
  const sql = openDatabase(postgres.url, 4);
  const crews = {
    worker: startCrew(plan.workers, environment, WORKER),
    callbacks: startCrew(1, environment, CALLBACKS),
  };
  const stop = async () => {
    await Promise.all(Object.values(crews).map((crew) => crew.stop()));
  };
  return {
    plan,
    sql,
    world,
    queries,
    postgres,
    redis,
    crews,
    environment,
    stop,
    callbacks: { url: `http://127.0.0.1:${port}`, key: KEY },
    close: async () => {
      await stop();
      await queries.close();
      await sandbox.close();
      await sql.end({ timeout: 1 });
      await Promise.all([redis.stop(), postgres.stop()]);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
