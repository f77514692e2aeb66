/** The surroundings of a run with kills: a database, a provider with faults, and the list of that provider. */

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import postgres from "postgres";
import { startFixedWorld } from "../../src/cli/run/try-out.ts";
import { formatInstant, systemClock } from "../../src/clock.ts";
import { openDatabase, type Sql } from "../../src/db/client.ts";
import type { Fault } from "../../src/sandbox/faults/fault.ts";
import { hostileFaults } from "../../src/sandbox/faults/fault-list.ts";
import type { TimeRange } from "../../src/window.ts";
import { CREDENTIALS } from "../sandbox/agent.ts";
import type { KillPlan } from "./kill-plan.ts";
import { type Listed, readListed } from "./pull-audit.ts";

/** The products of `recon sandbox`. */
export const PRODUCTS = ["TABLE", "SLOT", "SPORT"];

export interface Stage {
  /** for the audit; the workers have connections of their own */
  readonly sql: Sql;
  /** everything that is pulled happens in this range */
  readonly range: TimeRange;
  /** from a second provider with the same world, without faults */
  readonly listed: Promise<Listed>;
  /** of a worker */
  readonly environment: Readonly<Record<string, string>>;
  close(): Promise<void>;
}

const HOUR_MS = 3_600_000;
/** Play ended long enough ago that no settlement or report follows. */
const ENDED_MS = 2 * HOUR_MS;
const LATE_MS = 600_000;
/** Slows every answer down, so that a kill finds a request under way. */
const SLOW: Fault = { do: { kind: "slow", delay: "PT0.05S" } };

/** @param redisUrl null: the queues are in the database */
export async function openStage(plan: KillPlan, adminUrl: string, redisUrl: string | null): Promise<Stage> {
  const folder = mkdtempSync(join(tmpdir(), "wallet-recon-kills-"));
  const write = (name: string, value: unknown) => {
    writeFileSync(join(folder, name), JSON.stringify(value));
    return join(folder, name);
  };
  const from = Math.floor(Date.now() / HOUR_MS) * HOUR_MS - ENDED_MS - plan.playedHours * HOUR_MS;
  const played = { from, to: from + plan.playedHours * HOUR_MS };
  const range = { from, to: played.to + LATE_MS };
  const faults = [...(plan.faults === "hostile" ? hostileFaults(plan.seed) : []), SLOW];
  const provider = await startProvider(plan.seed, played, faults);
  const wellProvider = await startProvider(plan.seed, played, []);
  const database = await createDatabase(adminUrl, plan.seed);
  const sql = openDatabase(database.url, 2);
  return {
    sql,
    range,
    listed: readListed(wellProvider.url, PRODUCTS, range),
    environment: {
      DATABASE_URL: database.url,
      ...(redisUrl === null ? {} : { REDIS_URL: redisUrl }),
      PROVIDER_BASE_URL: provider.url,
      PROVIDER_USERNAME: CREDENTIALS.username,
      PROVIDER_PASSWORD: CREDENTIALS.password,
      RECON_CONFIG: write("recon.config.json", configOf(range.from)),
      OPS_PORT: "0",
      LOG_LEVEL: "info",
    },
    close: async () => {
      await Promise.all([provider.stop(), wellProvider.stop()]);
      await sql.end({ timeout: 1 });
      await database.drop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function configOf(since: number): object {
  return {
    products: PRODUCTS.map((productId) => ({ productId, since: formatInstant(since) })),
    pull: {
      every: "PT0.3S",
      windowMax: "PT20M",
      settleDelay: "PT2S",
      requestTimeout: "PT2S",
      // No hostile fault lasts: a repeated request is answered in the end.
      attempts: 100,
      resweepAfter: [],
    },
    diff: { every: "PT1S" },
  };
}

async function startProvider(seed: number, period: TimeRange, faults: readonly Fault[]) {
  const serving = { host: "127.0.0.1", port: 0, ...CREDENTIALS, faultsOf: () => faults };
  const { provider, stop } = await startFixedWorld(systemClock, { seed, period }, serving);
  return { url: provider.baseUrl, stop };
}

/** An empty database: the first worker makes the tables. */
async function createDatabase(adminUrl: string, seed: number) {
  const name = `recon_kills_${seed}_${process.pid}`;
  const administer = async (statement: string) => {
    const admin = postgres(adminUrl, { max: 1, onnotice: () => {} });
    await admin.unsafe(statement).finally(() => admin.end());
  };
  await administer(`create database ${name}`);
  const url = new URL(adminUrl);
  url.pathname = `/${name}`;
  return { url: url.href, drop: () => administer(`drop database if exists ${name} with (force)`) };
}
