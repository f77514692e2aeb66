import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { generateDrizzleJson, generateMigration } from "drizzle-kit/api";
import { is } from "drizzle-orm";
import { getTableConfig, PgTable } from "drizzle-orm/pg-core";
import postgres from "postgres";
import { afterAll, expect, inject, onTestFinished, test } from "vitest";
import { ensureIndexes, migrateDatabase } from "../../src/db/migrate.ts";
import * as alerts from "../../src/db/schema/alerts.ts";
import * as closing from "../../src/db/schema/closing.ts";
import * as ledger from "../../src/db/schema/ledger.ts";
import * as mismatches from "../../src/db/schema/mismatches.ts";
import * as pulling from "../../src/db/schema/pulling.ts";
import * as records from "../../src/db/schema/records.ts";
import * as retention from "../../src/db/schema/retention.ts";
import * as verification from "../../src/db/schema/verification.ts";
import * as wallet from "../../src/db/schema/wallet.ts";
import * as ops from "../../src/db/schema/work.ts";
import * as work from "../../src/db/schema/work.ts";
import { silentLog } from "../../src/log.ts";
import { useDatabase } from "../support/database.ts";
import { eventually } from "../support/eventually.ts";
import { writeNewerMigrations } from "../support/newer-migrations.ts";

const { sql, url: ownUrl } = useDatabase();
const schema = {
  ...alerts,
  ...closing,
  ...ledger,
  ...mismatches,
  ...ops,
  ...pulling,
  ...records,
  ...retention,
  ...verification,
  ...wallet,
  ...work,
};
const META = join(import.meta.dirname, "../../src/db/migrations/meta");
const readMeta = (name: string) => JSON.parse(readFileSync(join(META, name), "utf8"));
const journal: { entries: { idx: number; tag: string }[] } = readMeta("_journal.json");

const admin = postgres(inject("adminUrl"), { max: 1, onnotice: () => {} });
const created: string[] = [];
const newer = writeNewerMigrations();
afterAll(async () => {
  newer.remove();
  for (const name of created) await admin.unsafe(`drop database if exists ${name} with (force)`);
  await admin.end();
});

async function createEmptyDatabase(): Promise<string> {
  const name = `recon_test_${randomBytes(6).toString("hex")}`;
  await admin.unsafe(`create database ${name}`);
  created.push(name);
  const url = new URL(inject("adminUrl"));
  url.pathname = `/${name}`;
  return url.href;
}

test("five workers that start at once on an empty database all succeed, and one of them runs each migration", async () => {
  const url = await createEmptyDatabase();
  const run = await Promise.all(Array.from({ length: 5 }, () => migrateDatabase(url)));
  expect(run.toSorted()).toEqual([0, 0, 0, 0, journal.entries.length]);
  expect(await countApplied(url)).toBe(journal.entries.length);
});

async function countApplied(url: string): Promise<number> {
  const client = postgres(url, { max: 1 });
  const applied = await client`select hash from recon_migrations`;
  await client.end();
  return applied.length;
}

test("a database that is up to date stays unchanged", async () => {
  const url = await createEmptyDatabase();
  expect(await migrateDatabase(url)).toBe(journal.entries.length);
  expect(await migrateDatabase(url)).toBe(0);
});

test("a missing database is an error at once, which names the database", async () => {
  await expect(migrateDatabase("postgres://nobody@127.0.0.1:1/none")).rejects.toMatchObject({
    code: "database-unreachable",
    message: expect.stringMatching(/none at 127\.0\.0\.1:1 .*ECONNREFUSED/),
  });
});

test("a user that may not create tables is refused; one line says what is missing and who may run it", async () => {
  const url = new URL(await createEmptyDatabase());
  const guest = `${url.pathname.slice(1)}_guest`;
  await admin.unsafe(`create role ${guest} login password 'guest'`);
  onTestFinished(async () => {
    await admin.unsafe(`drop role ${guest}`);
  });
  url.username = guest;
  url.password = "guest";
  await expect(migrateDatabase(url.href)).rejects.toMatchObject({
    code: "schema-outdated",
    message: expect.stringMatching(
      /^the database is not up to date: it lacks \d+ of the \d+ migrations .* may not run them \(permission denied .* Run "recon migrate" as a user that may create in the schema public, or set DATABASE_SCHEMA to a schema of the user's own\.$/,
    ),
  });
});

test("a database that a newer version has migrated stays unchanged, and the log says so", async () => {
  const url = await createEmptyDatabase();
  expect(await migrateDatabase(url, silentLog, newer.folder)).toBe(journal.entries.length + 1);
  const warned: string[] = [];
  const log = Object.assign(Object.create(silentLog), {
    warn: (line: string) => warned.push(line),
  });
  expect(await migrateDatabase(url, log)).toBe(0);
  // On PostgreSQL 14 it also says that every role may create in the schema.
  const own = warned.filter((line) => !line.includes("may create functions"));
  expect(own).toEqual([expect.stringContaining("a newer version of wallet-recon")]);
});

test("a database that begins with other migrations is refused unchanged: one line says to use another database", async () => {
  const url = await createEmptyDatabase();
  const client = postgres(url, { max: 1 });
  await client`create table recon_migrations (id serial primary key, hash text not null, created_at bigint)`;
  // The first migration of a checkout from before the first release.
  await client`insert into recon_migrations (hash, created_at) values ('8c35e1f2', 1795208611560), ('cff48201', 1795273333353)`;
  await expect(migrateDatabase(url)).rejects.toMatchObject({
    code: "schema-outdated",
    message: expect.stringMatching(
      /made by a version before the first release of wallet-recon, and cannot be upgraded\. Point DATABASE_URL at an empty database /,
    ),
  });
  expect(await client`select tablename from pg_tables where schemaname = 'public'`).toEqual([
    { tablename: "recon_migrations" },
  ]);
  await client.end();
});

test("a migration that waits for a table gives way to live work, and succeeds once the table is free", async () => {
  const url = await createEmptyDatabase();
  await migrateDatabase(url);
  const client = postgres(url, { max: 2 });
  const report = await client.reserve();
  await report`begin`;
  await report`select from bet_records`;
  const migrated = migrateDatabase(url, silentLog, newer.folder);
  await eventually("the migration waits for the table", async () => {
    const [row] = await client`select count(*)::int as waiting from pg_locks where not granted`;
    return row?.["waiting"] > 0;
  });
  // Behind a migration that waits for its lock, this query would not be answered before the report is over.
  expect(await client`select from bet_records`).toEqual([]);
  await report`commit`;
  expect(await migrated).toBe(1);
  report.release();
  await client.end();
});

test("the migrations make the whole schema: `npm run db:generate` finds no change", async () => {
  const last = String(journal.entries.at(-1)?.idx).padStart(4, "0");
  const snapshot = readMeta(`${last}_snapshot.json`);
  expect(await generateMigration(snapshot, generateDrizzleJson(schema, snapshot.id))).toEqual([]);
});

test("the migrated database has the columns of the schema, and no others", async () => {
  const tables = Object.values(schema).filter((value) => is(value, PgTable));
  const declared = tables.flatMap((table) => {
    const { name, columns } = getTableConfig(table);
    return columns.map(
      (column) => `${name}.${column.name} ${column.getSQLType()}${column.notNull ? " not null" : ""}`,
    );
  });
  const rows = await sql<{ column: string }[]>`
    select c.relname || '.' || a.attname || ' ' || format_type(a.atttypid, a.atttypmod)
      || case when a.attnotnull then ' not null' else '' end as column
    from pg_attribute a join pg_class c on c.oid = a.attrelid
    where c.relnamespace = 'public'::regnamespace and c.relkind = 'r' and c.relname <> 'recon_migrations'
      and a.attnum > 0 and not a.attisdropped`;
  const spaceless = (text: string) => text.replace(" (", "(");
  expect(rows.map(({ column }) => column).toSorted()).toEqual(declared.map(spaceless).toSorted());
});

test("an index of a large table is built once, by several starts at the same time, and what an interrupted build left is replaced", async () => {
  const readIndexes = async () => {
    const rows = await sql<{ text: string }[]>`
      select concat_ws(' ', i.indexrelid::regclass, case when i.indisvalid then 'valid' else 'broken' end) as text
      from pg_index i
      where i.indexrelid in (to_regclass('callback_entries_player'), to_regclass('transfers_sent'), to_regclass('top_ups_sent'))
      order by 1`;
    return rows.map(({ text }) => text);
  };
  expect(await readIndexes()).toEqual([]);
  await ensureIndexes(ownUrl, false);
  expect(await readIndexes()).toEqual(["top_ups_sent valid", "transfers_sent valid"]);
  const all = ["callback_entries_player valid", "top_ups_sent valid", "transfers_sent valid"];
  await Promise.all([ensureIndexes(ownUrl, true), ensureIndexes(ownUrl, true)]);
  expect(await readIndexes()).toEqual(all);
  await sql`update pg_index set indisvalid = false where indexrelid = 'callback_entries_player'::regclass`;
  await ensureIndexes(ownUrl, true);
  expect(await readIndexes()).toEqual(all);
});
