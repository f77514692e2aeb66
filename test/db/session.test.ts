/**
 * What a database, a role or a pooler would make of our sessions: unusual settings change nothing, and what cannot be changed is
 * refused in one line.
 */

import { execFileSync, spawn, spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import postgres from "postgres";
import { describe, expect, inject, onTestFinished, test } from "vitest";
import { openBackend } from "../../jobs/backend.ts";
import { parseConfig } from "../../src/config-file.ts";
import { inSchema } from "../../src/database-url.ts";
import { openDatabase } from "../../src/db/client.ts";
import { TO_IGNORE } from "../../src/db/session.ts";
import { freePort } from "../../src/embedded/child-process.ts";
import { compareProduct } from "../../src/flows/compare/compare-product.ts";
import { readReport } from "../../src/flows/reports/read-report.ts";
import { appendEntries } from "../../src/ledger/store.ts";
import { silentLog } from "../../src/log.ts";
import { readReportDay } from "../../src/ops/input/report-query.ts";
import { openProvider } from "../../src/provider/client.ts";
import { callRecon } from "../cli/call-recon.ts";
import { startRecon } from "../cli/run-recon.ts";
import { callbacksOf, minute } from "../flows/compare/comparison-world.ts";
import { createTestClock } from "../support/clock.ts";
import { eventually } from "../support/eventually.ts";
import { NOON } from "../support/examples.ts";
import { betItem, CREDENTIALS, page, useHttpProvider } from "../support/http-provider.ts";
import { pullProduct } from "../support/pull-product.ts";

const provider = useHttpProvider();

/** Settings that limit load. They are obeyed, and tested with the outages (docs/operations.md#outages). */
const BRAKES =
  /_timeout$|^default_transaction_read_only$|^temp_file_limit$|^log_|^debug_|^trace_|^jit|^max_stack_depth$|^transaction_/;
/** Only repair a damaged database, or are refused (the test below). */
const REPAIRS =
  /^(ignore_|zero_damaged|allow_system|session_replication_role|session_preload|local_preload|role$|session_auth)/;
/** Texts have no list of values. */
const TEXTS: Readonly<Record<string, string>> = {
  DateStyle: "German, DMY",
  TimeZone: "Asia/Kathmandu",
  search_path: "app, public",
  client_encoding: "LATIN1",
  default_text_search_config: "pg_catalog.german",
  "plpgsql.extra_errors": "none",
};

async function administer<Result>(work: (admin: postgres.Sql) => Promise<Result>): Promise<Result> {
  const admin = postgres(inject("adminUrl"), { max: 1, onnotice: () => {} });
  try {
    return await work(admin);
  } finally {
    await admin.end();
  }
}

async function createDatabase(how: string): Promise<{ name: string; url: string }> {
  const name = `recon_test_${randomBytes(6).toString("hex")}`;
  await administer((admin) => admin.unsafe(`create database ${name} ${how}`));
  onTestFinished(() =>
    administer(async (admin) => {
      await admin.unsafe(`drop database if exists ${name} with (force)`);
    }),
  );
  const url = new URL(inject("adminUrl"));
  url.pathname = `/${name}`;
  return { name, url: url.href };
}

const CLONE = () => `template ${inject("template")} ${inject("strategy")}`;

/** A start, a page with three bets, callbacks of them, a comparison and a statement. */
async function workThrough(url: string, schema?: string) {
  const started = await callRecon(["migrate"], { DATABASE_URL: url, DATABASE_SCHEMA: schema });
  expect(started).toMatchObject({ code: 0, stderr: "" });
  const sql = openDatabase(inSchema(url, schema ?? null), 3);
  onTestFinished(() => sql.end({ timeout: 0 }));
  const clock = createTestClock(NOON);
  const config = parseConfig({ products: [{ productId: "P1" }], ledger: { since: "2026-11-20T00:00:00Z" } });
  const limits = { requestTimeoutMs: 10_000, connections: 2, production: false };
  const client = openProvider({ baseUrl: provider.url(), ...CREDENTIALS }, limits, clock);
  onTestFinished(() => client.close());
  const bet = (id: string, fields: Record<string, string> = {}) =>
    betItem({ id: `"rec-${id}"`, betId: `"bet-${id}"`, roundId: `"round-${id}"`, ...fields });
  const bets = [
    bet("1"),
    bet("2", { payout: "25.5", payoutStatus: '"WIN"', extra: '{"a":[null,1.10]}' }),
    bet("3", { roundId: '"UNKNOWN"', payout: "7", payoutStatus: '"WIN"' }),
  ];
  provider.answer(() => page(bets));
  const context = { sql, config, clock, log: silentLog, fetchPage: client.fetchBetPage };
  await pullProduct(context, "P1", new AbortController().signal);
  await appendEntries(sql, [
    ...callbacksOf("0"),
    ...callbacksOf("20", { txnId: "bet-2", roundId: "round-2" }),
    ...callbacksOf("7", { txnId: "bet-3", roundId: "UNKNOWN" }),
  ]);
  for (const minutes of [60, 180]) {
    clock.set(minute(minutes));
    await pullProduct(context, "P1", new AbortController().signal);
    await compareProduct(context, "P1", new AbortController().signal);
  }
  const mismatches = await sql<{ kind: string; status: string; subject: string }[]>`
    select kind, status, subject from mismatches order by id`;
  const report = await readReport(context, readReportDay({ day: "2026-11-20", zone: "Asia/Bangkok" }));
  const { rejected } = (await sql`select count(*)::int as rejected from rejected_records`)[0] as {
    rejected: number;
  };
  return {
    rows: report.rows,
    rejected,
    mismatches: [...mismatches],
  };
}

let usual: Awaited<ReturnType<typeof workThrough>> | null = null;

test("the journey finds the difference that it has", async () => {
  const { url } = await createDatabase(CLONE());
  usual = await workThrough(url);
  expect(usual.mismatches).toMatchObject([{ kind: "payout-differs", status: "open" }]);
  expect(usual.rows).toMatchObject([
    { provider: { bets: 3, payout: "32.5" }, ledger: { bets: 3, payout: "27" } },
  ]);
});

/** Every setting of a session with a value that no installation has by itself. */
async function unusualSettings(): Promise<{ name: string; value: string }[]> {
  const rows = await administer(
    (admin) => admin<
      { name: string; vartype: string; setting: string; min: string; values: string[] | null }[]
    >`
      select name, vartype, boot_val as setting, min_val as min, enumvals as values from pg_settings
      where context in ('user', 'superuser') order by name`,
  );
  return rows.flatMap(({ name, vartype, setting, min, values }) => {
    if (BRAKES.test(name) || REPAIRS.test(name)) return [];
    if (TEXTS[name] !== undefined) return [{ name, value: TEXTS[name] }];
    if (vartype === "bool") return [{ name, value: setting === "on" ? "off" : "on" }];
    if (vartype === "enum")
      return [{ name, value: (values ?? []).find((one) => one !== setting) ?? setting }];
    return vartype === "string" ? [] : [{ name, value: min }];
  });
}

test("work gives the same results in a database that sets every setting of a session to an unusual value", async () => {
  const { name, url } = await createDatabase("template template0");
  const settings = await unusualSettings();
  expect(settings.length).toBeGreaterThan(60);
  await administer(async (admin) => {
    for (const one of settings) {
      const value = one.name === "search_path" ? one.value : `'${one.value}'`;
      await admin.unsafe(`alter database ${name} set ${one.name} = ${value}`);
    }
  });
  expect(await workThrough(url)).toEqual(usual);
  const backend = openBackend(null, url, silentLog);
  onTestFinished(() => backend.close());
  await backend.check();
});

/** One by one too, in case one hides another. */
test.each([
  ["array_nulls", "off"],
  ["bytea_output", "escape"],
  ["DateStyle", "German, DMY"],
  ["DateStyle", "SQL, DMY"],
  ["default_transaction_isolation", "serializable"],
  ["exit_on_error", "on"],
  ["extra_float_digits", "-15"],
  ["IntervalStyle", "iso_8601"],
  ["quote_all_identifiers", "on"],
  ["search_path", "app, public"],
  ["standard_conforming_strings", "off"],
  ["TimeZone", "Asia/Kathmandu"],
  ["transform_null_equals", "on"],
])("work in a database with %s = %s comes to the same", async (setting, value) => {
  const { name, url } = await createDatabase(CLONE());
  await administer((admin) =>
    admin.unsafe(
      `alter database ${name} set ${setting} = ${setting === "search_path" ? value : `'${value}'`}`,
    ),
  );
  expect(await workThrough(url)).toEqual(usual);
});

test("a role with a schema of its name, tables in it that are named like ours, and settings of its own works as any other", async () => {
  const { name, url } = await createDatabase(CLONE());
  const role = `${name}_owner`;
  const own = new URL(url);
  own.username = role;
  own.password = encodeURIComponent("100%@home#/?");
  await administer((admin) =>
    admin.unsafe(`create role ${role} login password '100%@home#/?'; grant ${role} to current_user`),
  );
  onTestFinished(() =>
    administer(async (admin) => {
      await admin.unsafe(`drop database if exists ${name} with (force)`);
      await admin.unsafe(`drop role ${role}`);
    }),
  );
  await administer((admin) =>
    admin.unsafe(`alter database ${name} owner to ${role}; alter role ${role} set datestyle = 'German'`),
  );
  const owner = postgres(url, { max: 1, onnotice: () => {} });
  await owner.unsafe(`drop schema public cascade; create schema public authorization ${role};
    create schema ${role} authorization ${role}; create schema app authorization ${role};
    create table ${role}.callback_entries (mine int); create table app.bet_records (mine int);
    alter role ${role} in database ${name} set search_path = app, public`);
  await owner.end();
  expect(await workThrough(own.href)).toEqual(usual);
});

/** A role that owns nothing, in a database as PostgreSQL 15 makes it: it may create neither in `public` nor schemas. */
async function createGuest(): Promise<{ url: string; owner: postgres.Sql; role: string }> {
  const { name, url } = await createDatabase("template template0");
  const role = `${name}_guest`;
  const own = new URL(url);
  own.username = role;
  own.password = "guest";
  await administer((admin) => admin.unsafe(`create role ${role} login password 'guest'`));
  const owner = postgres(url, { max: 1, onnotice: () => {} });
  onTestFinished(async () => {
    await owner.end();
    await administer(async (admin) => {
      await admin.unsafe(`drop database if exists ${name} with (force)`);
      await admin.unsafe(`drop role ${role}`);
    });
  });
  await owner`revoke create on schema public from public`;
  return { url: own.href, owner, role };
}

test.each([
  ["may not be created in", ""],
  ["may not be used", "revoke all on schema public from public"],
  ["does not exist", "drop schema public"],
])("a schema public that %s is one line that says what to do", async (_, statement) => {
  const { url, owner } = await createGuest();
  if (statement !== "") await owner.unsafe(statement);
  for (const args of [["migrate"], ["callbacks"]]) {
    const { code, stderr } = await startRecon(args, {
      DATABASE_URL: url,
      CALLBACK_PORT: "0",
      LOG_LEVEL: "error",
    }).ended;
    expect(code).toBe(1);
    expect(stderr).toMatch(
      /^recon: [^\n]* may not run them \(permission denied for (schema public|database \w+)\)\. Run "recon migrate" as a user that may create in the schema public, or set DATABASE_SCHEMA to a schema of the user's own\.\n$/,
    );
  }
});

test("work gives the same results in a schema that a DBA made for a role without further rights", async () => {
  const { url, owner, role } = await createGuest();
  await owner.unsafe(
    `create schema books authorization ${role}; create table callback_entries (mine int); revoke all on schema public from public`,
  );
  expect(await workThrough(url, "books")).toEqual(usual);
  const tables = await owner`select from pg_tables where schemaname = 'public'`;
  expect(tables).toHaveLength(1);
  const again = await callRecon(["migrate"], { DATABASE_URL: `${url}?schema=books` });
  expect(again).toMatchObject({ code: 0, stderr: "" });
});

test("two schemas of one database are two installations, and each keeps its own queues", async () => {
  const { url } = await createDatabase(CLONE());
  for (const schema of ["public", "second"]) expect(await workThrough(url, schema)).toEqual(usual);
  const names = new Set<string>();
  for (const schema of ["public", "second"]) {
    const backend = openBackend(null, inSchema(url, schema), silentLog);
    onTestFinished(() => backend.close());
    await backend.check();
    names.add(backend.openQueue("pull").name);
  }
  expect(names.size).toBe(2);
});

test.each(["Books", "pg_books", "bullmq", "a-b", "x; drop schema public"])(
  'the schema "%s" is refused in words',
  async (schema) => {
    const { code, stderr } = await callRecon(["status"], {
      DATABASE_URL: inject("adminUrl"),
      DATABASE_SCHEMA: schema,
    });
    expect(code).toBe(1);
    expect(stderr).toMatch(/DATABASE_SCHEMA[^\n]* must be lower-case letters, digits and underscores/);
  },
);

test("a database that is not in UTF8 is refused in one line", async () => {
  const { name, url } = await createDatabase("encoding 'LATIN1' locale 'C' template template0");
  const says = new RegExp(
    `the database ${name} at 127\\.0\\.0\\.1:\\d+ has the encoding LATIN1, .* encoding 'UTF8' template template0`,
  );
  const line = new RegExp(`^recon: [^\\n]*${says.source}[^\\n]*\\n$`);
  for (const command of ["migrate", "status"])
    expect(await callRecon([command], { DATABASE_URL: url })).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(line),
    });
  for (const command of ["worker", "callbacks"]) {
    const started = startRecon([command], {
      DATABASE_URL: url,
      OPS_PORT: "0",
      CALLBACK_PORT: "0",
      LOG_LEVEL: "error",
    });
    expect(await started.ended).toMatchObject({ code: 1, stderr: expect.stringMatching(line) });
  }
  const doctor = await callRecon(["doctor", "--json"], { DATABASE_URL: url });
  expect(JSON.parse(doctor.stdout).checks).toContainEqual(
    expect.objectContaining({ check: "database", ok: false, found: expect.stringMatching(says) }),
  );
});

test("a database without triggers is refused in one line", async () => {
  const { name, url } = await createDatabase(CLONE());
  await administer((admin) => admin.unsafe(`alter database ${name} set session_replication_role = replica`));
  const { code, stderr } = await callRecon(["migrate"], { DATABASE_URL: url });
  expect(code).toBe(1);
  expect(stderr).toMatch(/^recon: [^\n]* session_replication_role = replica, so no trigger runs[^\n]*\n$/);
});

/** A real PgBouncer before the test's PostgreSQL. */
async function startPgBouncer(target: string, ignored: readonly string[]): Promise<string> {
  const { hostname, port, username, password, pathname } = new URL(target);
  const folder = await mkdtemp(join(tmpdir(), "recon-pgbouncer-"));
  const own = await freePort();
  await writeFile(join(folder, "users.txt"), `"${username}" "${password}"\n`);
  await writeFile(
    join(folder, "pgbouncer.ini"),
    `[databases]
* = host=${hostname} port=${port}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${own}
unix_socket_dir =
auth_type = plain
auth_file = ${folder}/users.txt
pool_mode = session
default_pool_size = 30
ignore_startup_parameters = ${ignored.join(", ")}
`,
  );
  if (process.getuid?.() === 0) execFileSync("chown", ["-R", "nobody", folder]);
  const user = process.getuid?.() === 0 ? ["-u", "nobody"] : [];
  const child = spawn("pgbouncer", [...user, join(folder, "pgbouncer.ini")], { stdio: "ignore" });
  onTestFinished(async () => {
    const ended = once(child, "exit");
    child.kill("SIGKILL");
    await ended;
    await rm(folder, { recursive: true });
  });
  await eventually("it listens", async () => {
    const socket = connect(own, "127.0.0.1");
    return await once(socket, "connect").then(
      () => socket.destroy(),
      () => false,
    );
  });
  return `postgres://${username}:${password}@127.0.0.1:${own}${pathname}`;
}

/** Debian's package; elsewhere `pooler.ts` stands in for it in test/db/poolers.test.ts. */
const hasPgBouncer = spawnSync("pgbouncer", ["--version"]).status === 0;

describe.skipIf(!hasPgBouncer)("behind a real PgBouncer with session pooling", () => {
  test("work gives the same results with the documented set-up", async () => {
    const { url } = await createDatabase(CLONE());
    expect(await workThrough(await startPgBouncer(url, TO_IGNORE))).toEqual(usual);
  });

  test("a parameter that it refuses is named in one line, with all that it must ignore", async () => {
    const { url } = await createDatabase(CLONE());
    const pooled = await startPgBouncer(url, ["extra_float_digits"]);
    const { stderr } = await callRecon(["migrate"], { DATABASE_URL: pooled });
    expect(stderr).toMatch(
      /^recon: the pooler at [^\n]* unsupported startup parameter: \w+\. Add these to its ignore_startup_parameters: [^\n]*statement_timeout, lock_timeout, idle_in_transaction_session_timeout[^\n]*\n$/,
    );
  });

  test("what its sessions inherit, and it does not replace, is named with the statement that takes it back", async () => {
    const { name, url } = await createDatabase(CLONE());
    await administer((admin) =>
      admin.unsafe(`alter database ${name} set array_nulls = off; alter database ${name} set search_path = app, public;
        alter database ${name} set datestyle = 'German'`),
    );
    const owner = postgres(url, { max: 1 });
    await owner`create schema app`;
    await owner.end();
    const pooled = await startPgBouncer(url, TO_IGNORE);
    const says =
      /start with array_nulls = 'off', search_path = 'app, public', and a pooler drops .* Run "alter role … set array_nulls = 'on'; alter role … set search_path = 'public'"/;
    const { stderr } = await callRecon(["migrate"], { DATABASE_URL: pooled });
    expect(stderr).toMatch(new RegExp(`^recon: [^\\n]*${says.source}[^\\n]*\\n$`));
  });
});
