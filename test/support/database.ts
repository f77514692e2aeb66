/** A database of its own for each test file, cloned from the migrated template. */

import { randomBytes } from "node:crypto";
import postgres from "postgres";
import { afterAll, beforeAll, inject } from "vitest";
import { openDatabase, type Sql } from "../../src/db/client.ts";

export interface TestDatabase {
  readonly sql: Sql;
  readonly url: string;
}

/** Call at the top of a test file; the database exists while its tests run. */
export function useDatabase(): TestDatabase {
  const name = `recon_test_${randomBytes(6).toString("hex")}`;
  const url = new URL(inject("adminUrl"));
  url.pathname = `/${name}`;
  const sql = openDatabase(url.href, 5);
  beforeAll(() => administer(`create database ${name} template ${inject("template")}`));
  afterAll(async () => {
    await sql.end({ timeout: 5 });
    await administer(`drop database if exists ${name} with (force)`);
  });
  return { sql, url: url.href };
}

async function administer(statement: string): Promise<void> {
  const admin = postgres(inject("adminUrl"), { max: 1, onnotice: () => {} });
  await admin.unsafe(statement);
  await admin.end();
}
