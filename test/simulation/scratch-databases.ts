/** Migrated, empty databases for the seeds of a simulation, on an embedded PostgreSQL whose data may be lost. */

import { join } from "node:path";
import postgres from "postgres";
import { migrateDatabase } from "../../src/db/migrate.ts";
import { startEmbeddedPostgres } from "../../src/embedded/postgres/postgres.ts";

const HOME = join(import.meta.dirname, "../../.recon/test");

/** A connection lives for seconds here, and would plan nearly every statement again. */
const SETTINGS = {
  fsync: "off",
  synchronous_commit: "off",
  full_page_writes: "off",
  plan_cache_mode: "force_generic_plan",
};

export interface ScratchDatabases {
  /** Works with a database of its own, named after the seed, and drops the database. */
  use<Result>(seed: number, work: (url: string) => Promise<Result>): Promise<Result>;
  close(): Promise<void>;
}

let opened = 0;

export async function openScratchDatabases(): Promise<ScratchDatabases> {
  const server = await startEmbeddedPostgres({
    home: HOME,
    database: "postgres",
    settings: SETTINGS,
  });
  const admin = postgres(server.url, { max: 1, onnotice: () => {} });
  opened += 1;
  const template = `recon_simulation_${process.pid}_${opened}`;
  const urlOf = (database: string) => new URL(`/${database}`, server.url).href;
  await admin.unsafe(`create database ${template}`);
  await migrateDatabase(urlOf(template));
  return {
    use: async (seed, work) => {
      const database = `${template}_${seed}`;
      await admin.unsafe(`create database ${database} template ${template} strategy file_copy`);
      try {
        return await work(urlOf(database));
      } finally {
        await admin.unsafe(`drop database if exists ${database} with (force)`);
      }
    },
    close: async () => {
      await admin.unsafe(`drop database if exists ${template} with (force)`);
      await admin.end();
      await server.release();
    },
  };
}

/** Works with a single database, and closes everything. */
export async function withScratchDatabase<Result>(work: (url: string) => Promise<Result>): Promise<Result> {
  const databases = await openScratchDatabases();
  try {
    return await databases.use(1, work);
  } finally {
    await databases.close();
  }
}
