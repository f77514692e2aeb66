/** The database of every released version, and of a day's main, becomes one of this version, and nothing in it is lost. */

import { spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { cpSync, globSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readMigrationFiles } from "drizzle-orm/migrator";
import postgres from "postgres";
import { afterAll, expect, inject, onTestFinished, test } from "vitest";
import { migrateDatabase } from "../../../src/db/migrate.ts";
import { silentLog } from "../../../src/log.ts";
import { startRecon } from "../../cli/run-recon.ts";
import { eventually } from "../../support/eventually.ts";
import { ownPort } from "../../support/own-port.ts";
import { openDump, readColumns, readDump, restoreDump } from "./dump.ts";

const MIGRATIONS = join(import.meta.dirname, "../../../src/db/migrations");
const hashes = readMigrationFiles({ migrationsFolder: MIGRATIONS }).map(({ hash }) => hash);
const dumps = globSync("*.br", { cwd: import.meta.dirname });
/** The newest release before this version: its dump, and its tag. The first release writes them here; until then there is none. */
const BEFORE = null as { readonly dump: string; readonly version: string } | null;

interface Database {
  readonly url: string;
  readonly sql: postgres.Sql;
}

const endings: (() => Promise<void>)[] = [];
afterAll(async () => {
  for (const end of endings) await end();
});

async function createDatabase(): Promise<Database> {
  const name = `recon_test_${randomBytes(6).toString("hex")}`;
  const admin = postgres(inject("adminUrl"), { max: 1, onnotice: () => {} });
  await admin.unsafe(`create database ${name}`);
  const url = new URL(inject("adminUrl"));
  url.pathname = `/${name}`;
  const sql = postgres(url.href, { max: 1, onnotice: () => {} });
  endings.push(async () => {
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

/** A database as the version of this dump left it. @returns also the number of its migrations */
async function restoreDatabase(name: string) {
  const { recon_migrations: history, ...tables } = Object.fromEntries(
    openDump(join(import.meta.dirname, name)),
  );
  // A released migration never changes: a database that has run it would differ from a new one.
  const count = hashesIn(history).length;
  expect(hashes.slice(0, count).toSorted()).toEqual(hashesIn(history).toSorted());
  const { url, sql } = await createDatabase();
  await migrateDatabase(url, silentLog, firstMigrations(count));
  const { recon_migrations: _, ...columns } = Object.fromEntries(await readColumns(sql));
  const older = new Map(Object.entries(columns));
  await restoreDump(sql, new Map(Object.entries(tables)), older);
  return { url, sql, older, count, tables: Object.keys(tables) };
}

/** The functions and triggers, with their settings and rights. */
async function readProgram(sql: postgres.Sql): Promise<string[]> {
  const rows = await sql<{ text: string }[]>`
    select concat(pg_get_functiondef(oid), proacl) as text from pg_proc where pronamespace = 'public'::regnamespace
    union all
    select concat(pg_get_triggerdef(oid), tgenabled) from pg_trigger where not tgisinternal
    order by text`;
  return rows.map(({ text }) => text);
}

/** By the names of their dumps. */
const migrated = new Map<string, Database>();

test.each(dumps)(
  "%s is migrated, keeps every value, has the functions of a new database, and its mismatches are shown",
  async (name) => {
    const { url, sql, older, count, tables } = await restoreDatabase(name);
    const before = await readDump(sql, older);
    expect([...before.keys()]).toEqual(tables);

    expect(await migrateDatabase(url)).toBe(hashes.length - count);
    expect(await readDump(sql, older)).toEqual(before);
    const fresh = await createDatabase();
    await migrateDatabase(fresh.url);
    expect(await readProgram(sql)).toEqual(await readProgram(fresh.sql));

    migrated.set(name, { url, sql });
    const [found] = await sql`select count(*)::int as all from mismatches where status = 'open'`;
    const shown = await startRecon(["mismatches", "list", "--json", "--limit", "1000"], { DATABASE_URL: url })
      .ended;
    expect(shown).toMatchObject({ code: 0, stderr: "" });
    expect(JSON.parse(shown.stdout).mismatches).toHaveLength(found?.["all"]);
  },
);

/** Checks out an older version from the history of this repository. @returns its program; null if the history lacks it */
function checkOut(version: string): string | null {
  const root = join(import.meta.dirname, "../../..");
  const git = (...args: string[]) =>
    spawnSync("git", args, { cwd: root, maxBuffer: 256 * 1024 * 1024, stdio: ["ignore", "pipe", "ignore"] });
  const archive = git("archive", version, "src", "jobs", "package.json");
  if (archive.status !== 0) return null;
  const folder = mkdtempSync(join(tmpdir(), "recon-before-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  expect(spawnSync("tar", ["-x", "-C", folder], { input: archive.stdout }).status).toBe(0);
  symlinkSync(join(root, "node_modules"), join(folder, "node_modules"));
  return join(folder, "src/cli/main.ts");
}

function unmigrated(): never {
  throw new Error("the test before this failed");
}

test.skipIf(BEFORE === null)(
  "a worker of the version before pulls and compares in the migrated database, without an error",
  async ({ skip }) => {
    if (BEFORE === null) return;
    const program = checkOut(BEFORE.version);
    if (program === null) return skip(`git has no ${BEFORE.version}: fetch the whole history.`);
    const { url, sql } = migrated.get(BEFORE.dump) ?? unmigrated();
    // As if the dump were of a moment ago.
    await sql`update pull_states set head = now() - interval '1 minute'`;
    const [last] = await sql`select max(id) as mismatch, now() as moment from mismatches`;
    const { child, said, ended } = startRecon(
      ["worker"],
      { DATABASE_URL: url, OPS_PORT: String(await ownPort()), LOG_LEVEL: "warn" },
      program,
    );
    await eventually("every product is pulled on, and a new mismatch is found", async () => {
      if (child.exitCode !== null) throw new Error(said());
      const [row] = await sql`
      select (select count(*) from pull_states where head > ${last?.["moment"]})::int as pulled,
        exists (select from mismatches where id > ${last?.["mismatch"]}) as found`;
      return row?.["found"] && row["pulled"] > 0;
    });
    child.kill("SIGTERM");
    expect(await ended).toMatchObject({ code: 0 });
    expect(said()).toContain("newer version");
    expect(said()).not.toMatch(/"level":[56]0/);
  },
);
