/** One real PostgreSQL with a migrated template database, and one real Redis, for the whole run. */

import { randomBytes } from "node:crypto";
import { join } from "node:path";
import postgres from "postgres";
import type { TestProject } from "vitest/node";
import { migrateDatabase } from "../../src/db/migrate.ts";
import { startEmbeddedPostgres } from "../../src/embedded/postgres/postgres.ts";
import { findChromium } from "./chromium.ts";
import { startRedis } from "./redis-server.ts";

declare module "vitest" {
  interface ProvidedContext {
    /** of the maintenance database */
    adminUrl: string;
    template: string;
    redisUrl: string;
    /** how a database is copied fastest; PostgreSQL 14 knows one way only */
    strategy: string;
  }
}

const HOME = join(import.meta.dirname, "../../.recon/test");
/** A PostgreSQL of another version, as its superuser, and a Redis or Valkey of another version: see CONTRIBUTING.md. */
const { TEST_POSTGRES, TEST_REDIS } = process.env;

async function openPostgres(): Promise<{ url: string; started: boolean; release(): Promise<void> }> {
  if (TEST_POSTGRES) return { url: TEST_POSTGRES, started: true, release: async () => {} };
  return await startEmbeddedPostgres({
    home: HOME,
    database: "postgres",
    settings: { fsync: "off", synchronous_commit: "off", full_page_writes: "off" },
  });
}

async function openRedis(): Promise<{ url: string; stop(): Promise<void> }> {
  if (TEST_REDIS) return { url: TEST_REDIS, stop: async () => {} };
  return await startRedis({ cache: join(HOME, "redis") });
}

export async function setup(project: TestProject): Promise<() => Promise<void>> {
  // Unpacked here once, not by four test processes at the same time.
  await findChromium();
  const server = await openPostgres();
  const redis = await openRedis();
  const admin = postgres(server.url, { max: 1, onnotice: () => {} });
  if (server.started) await dropLeftovers(admin);
  const template = `recon_test_template_${randomBytes(4).toString("hex")}`;
  await admin.unsafe(`create database ${template}`);
  const templateUrl = withDatabase(server.url, template);
  await migrateDatabase(templateUrl);
  // As docs/ledger.md#rights says for PostgreSQL 14, where doctor fails otherwise.
  const owner = postgres(templateUrl, { max: 1 });
  await owner`revoke create on schema public from public`;
  await owner.end();
  project.provide("adminUrl", server.url);
  project.provide("template", template);
  project.provide("redisUrl", redis.url);
  const [version] = await admin`select current_setting('server_version_num')::int >= 150000 as "hasStrategy"`;
  project.provide("strategy", version?.["hasStrategy"] ? "strategy file_copy" : "");
  return async () => {
    await admin.unsafe(`drop database if exists ${template} with (force)`);
    await admin.end();
    await redis.stop();
    await server.release();
  };
}

/** Drops what a killed run left behind. */
async function dropLeftovers(admin: postgres.Sql): Promise<void> {
  const rows = await admin<
    { datname: string }[]
  >`select datname from pg_database where datname like 'recon_test_%'`;
  for (const { datname } of rows) await admin.unsafe(`drop database if exists ${datname} with (force)`);
}

function withDatabase(url: string, database: string): string {
  const changed = new URL(url);
  changed.pathname = `/${database}`;
  return changed.href;
}
