/** The database of every released version, and of a day's main, becomes one of this version, and nothing in it is lost. */

import { randomBytes } from "node:crypto";
import { cpSync, globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readMigrationFiles } from "drizzle-orm/migrator";
import postgres from "postgres";
import { expect, inject, onTestFinished, test } from "vitest";
import { migrateDatabase } from "../../../src/db/migrate.ts";
import { silentLog } from "../../../src/log.ts";
import { startRecon } from "../../cli/run-recon.ts";
import { openDump, readColumns, readDump, restoreDump } from "./dump.ts";

const MIGRATIONS = join(import.meta.dirname, "../../../src/db/migrations");
const hashes = readMigrationFiles({ migrationsFolder: MIGRATIONS }).map(({ hash }) => hash);
const dumps = globSync("*.br", { cwd: import.meta.dirname });

async function createDatabase(): Promise<{ url: string; sql: postgres.Sql }> {
  const name = `recon_test_${randomBytes(6).toString("hex")}`;
  const admin = postgres(inject("adminUrl"), { max: 1, onnotice: () => {} });
  await admin.unsafe(`create database ${name}`);
  const url = new URL(inject("adminUrl"));
  url.pathname = `/${name}`;
  const sql = postgres(url.href, { max: 1, onnotice: () => {} });
  onTestFinished(async () => {
    await sql.end();
    await admin.unsafe(`drop database ${name} with (force)`);
    await admin.end();
  });
  return { url: url.href, sql };
}

/** The first migrations alone, as an older version knew them. */
function firstMigrations(count: number): string {
  const folder = mkdtempSync(join(tmpdir(), "recon-older-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  cpSync(MIGRATIONS, folder, { recursive: true });
  const path = join(folder, "meta/_journal.json");
  const journal = JSON.parse(readFileSync(path, "utf8")) as { entries: unknown[] };
  writeFileSync(path, JSON.stringify({ ...journal, entries: journal.entries.slice(0, count) }));
  return folder;
}

const hashesIn = (rows = "[]") => (JSON.parse(rows) as { hash: string }[]).map(({ hash }) => hash);

test.each(dumps)("%s is migrated, keeps every value, and its mismatches are shown", async (name) => {
  const { recon_migrations: history, ...tables } = Object.fromEntries(
    openDump(join(import.meta.dirname, name)),
  );
  const count = hashesIn(history).length;
  // A released migration never changes: a database that has run it would differ from a new one.
  expect(hashes.slice(0, count).toSorted()).toEqual(hashesIn(history).toSorted());

  const { url, sql } = await createDatabase();
  await migrateDatabase(url, silentLog, firstMigrations(count));
  const { recon_migrations: _, ...columns } = Object.fromEntries(await readColumns(sql));
  const older = new Map(Object.entries(columns));
  await restoreDump(sql, new Map(Object.entries(tables)), older);
  const before = await readDump(sql, older);
  expect([...before.keys()]).toEqual(Object.keys(tables));

  expect(await migrateDatabase(url)).toBe(hashes.length - count);
  expect(await readDump(sql, older)).toEqual(before);

  const [found] = await sql`select count(*)::int as all from mismatches where status = 'open'`;
  const shown = await startRecon(["mismatches", "list", "--json", "--limit", "1000"], { DATABASE_URL: url })
    .ended;
  expect(shown).toMatchObject({ code: 0, stderr: "" });
  expect(JSON.parse(shown.stdout).mismatches).toHaveLength(found?.["all"]);
});
