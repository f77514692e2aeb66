/** Seeds that are played through: players play, the worker looks, and must find exactly the planted faults. */

import { join } from "node:path";
import postgres from "postgres";
import { migrateDatabase } from "../../src/db/migrate.ts";
import { startEmbeddedPostgres } from "../../src/embedded/postgres.ts";
import { runSeed } from "./run-seed.ts";
import type { SeedRun, Simulation } from "./simulation.ts";

const HOME = join(import.meta.dirname, "../../.recon/test");

export async function openPlays(): Promise<Simulation> {
  const server = await startEmbeddedPostgres({
    home: HOME,
    database: "postgres",
    settings: { fsync: "off", synchronous_commit: "off", full_page_writes: "off" },
  });
  return { run: (seed) => runInOwnDatabase(server.url, seed), close: () => server.release() };
}

async function runInOwnDatabase(adminUrl: string, seed: number): Promise<SeedRun> {
  const name = `recon_simulation_${process.pid}_${seed}`;
  const admin = postgres(adminUrl, { max: 1, onnotice: () => {} });
  const url = new URL(adminUrl);
  url.pathname = `/${name}`;
  try {
    await admin.unsafe(`create database ${name}`);
    await migrateDatabase(url.href);
    const { missed, wrong, ...audit } = await runSeed(seed, url.href);
    const problems = [
      ...missed.map((fault) => `missed ${JSON.stringify(fault)}`),
      ...wrong.map((one) => `not planted ${JSON.stringify(one)}`),
    ];
    return { ...audit, told: "played through", problems };
  } finally {
    await admin.unsafe(`drop database if exists ${name} with (force)`);
    await admin.end();
  }
}
