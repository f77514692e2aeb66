/** `npm run simulate -- --seed N | --seeds A..B [--json]`: plays seeds and audits what the worker found. */

import { parseArgs } from "node:util";
import { join } from "node:path";
import postgres from "postgres";
import { migrateDatabase } from "../../src/db/migrate.ts";
import { startEmbeddedPostgres } from "../../src/embedded/postgres.ts";
import { runSeed, type SeedRun } from "./run-seed.ts";

const HOME = join(import.meta.dirname, "../../.recon/test");
const MOST_SHOWN = 5;

const { values } = parseArgs({
  options: { seed: { type: "string" }, seeds: { type: "string" }, json: { type: "boolean", default: false } },
});
const [first, last] = readSeeds(values.seeds ?? values.seed ?? "1");

const server = await startEmbeddedPostgres({
  home: HOME,
  database: "postgres",
  settings: { fsync: "off", synchronous_commit: "off", full_page_writes: "off" },
});
const runs: SeedRun[] = [];
try {
  for (let seed = first; seed <= last; seed += 1) {
    const run = await runInOwnDatabase(server.url, seed);
    runs.push(run);
    if (!values.json) printRun(run);
  }
} finally {
  await server.release();
}
if (values.json) {
  const shown = runs.map(({ seed, planted, found, precision, recall }) => ({ seed, planted, found, precision, recall }));
  console.log(JSON.stringify({ runs: shown }, null, 2));
}
process.exitCode = runs.every(({ precision, recall }) => precision === 1 && recall === 1) ? 0 : 1;

async function runInOwnDatabase(adminUrl: string, seed: number): Promise<SeedRun> {
  const name = `recon_simulation_${process.pid}_${seed}`;
  const admin = postgres(adminUrl, { max: 1, onnotice: () => {} });
  const url = new URL(adminUrl);
  url.pathname = `/${name}`;
  try {
    await admin.unsafe(`create database ${name}`);
    await migrateDatabase(url.href);
    return await runSeed(seed, url.href);
  } finally {
    await admin.unsafe(`drop database if exists ${name} with (force)`);
    await admin.end();
  }
}

function printRun({ seed, planted, found, precision, recall, missed, wrong }: SeedRun): void {
  console.log(`seed ${seed}: planted ${planted}, found ${found}, precision ${precision}, recall ${recall}`);
  for (const fault of missed.slice(0, MOST_SHOWN)) console.log("  missed", JSON.stringify(fault));
  for (const one of wrong.slice(0, MOST_SHOWN)) console.log("  not planted", JSON.stringify(one));
}

function readSeeds(text: string): [number, number] {
  const [, from, to] = /^(\d{1,9})(?:\.\.(\d{1,9}))?$/.exec(text) ?? [];
  const seeds: [number, number] = [Number(from), Number(to ?? from)];
  if (from !== undefined && seeds[0] <= seeds[1]) return seeds;
  console.error(`simulate: seeds "${text}" is not a number N or a range A..B`);
  process.exit(2);
}
