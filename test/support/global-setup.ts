/** One real PostgreSQL with a migrated template database, and one real Redis, for the whole run. */

import { randomBytes } from "node:crypto";
import { join } from "node:path";
import postgres from "postgres";
import type { TestProject } from "vitest/node";
import { migrateDatabase } from "../../src/db/migrate.ts";
import { startEmbeddedPostgres } from "../../src/embedded/postgres/postgres.ts";
import { startRedis } from "../../src/embedded/redis.ts";

declare module "vitest" {
  interface ProvidedContext {
    /** of the maintenance database */
    adminUrl: string;
    template: string;
    redisUrl: string;
  }
}

const HOME = join(import.meta.dirname, "../../.recon/test");

export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const server = await startEmbeddedPostgres({
    home: HOME,
    database: "postgres",
    settings: { fsync: "off", synchronous_commit: "off", full_page_writes: "off" },
  });
  const redis = await startRedis({ cache: join(HOME, "redis") });
  const admin = postgres(server.url, { max: 1, onnotice: () => {} });
  if (server.started) await dropLeftovers(admin);
  const template = `recon_test_template_${randomBytes(4).toString("hex")}`;
  await admin.unsafe(`create database ${template}`);
  await migrateDatabase(withDatabase(server.url, template));
  project.provide("adminUrl", server.url);
  project.provide("template", template);
  project.provide("redisUrl", redis.url);
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
