import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Redis } from "ioredis";
import { afterAll, beforeEach, expect, test } from "vitest";
import { systemClock } from "../../src/clock.ts";
import { parseConfig } from "../../src/config-file.ts";
import { measureStorage } from "../../src/flows/retention/measure-storage.ts";
import { appendEntries } from "../../src/ledger/store.ts";
import { silentLog } from "../../src/log.ts";
import { writeRecords } from "../../src/sync/record-store.ts";
import { emptyTables, useDatabase } from "../support/database.ts";
import { amount, exampleEntry, exampleRecord, NOON } from "../support/examples.ts";
import { CREDENTIALS, page, useHttpProvider } from "../support/http-provider.ts";
import { startRedis } from "../support/redis-server.ts";
import { callRecon } from "./call-recon.ts";
import { startRecon } from "./run-recon.ts";

const { sql, url } = useDatabase();
const provider = useHttpProvider();
const folder = mkdtempSync(join(tmpdir(), "recon-doctor-"));
afterAll(() => rmSync(folder, { recursive: true }));

beforeEach(async () => {
  await sql`drop schema if exists casino cascade`;
  await sql`create schema casino`;
  await emptyTables(sql, ["callback_entries", "rejected_entries", "diff_marks", "entry_days", "entry_notes"]);
});

async function doctor(
  relation: string | null,
  databaseUrl = url,
  args: readonly string[] = ["--json"],
  more: Readonly<Record<string, string>> = {},
  run = callRecon,
  balances = "partial",
) {
  const path = join(folder, "recon.config.json");
  const config = {
    products: [{ productId: "P1" }],
    ledger: { relation, balances },
    pull: { requestTimeout: "PT1M" },
  };
  writeFileSync(path, JSON.stringify(config));
  const environment = { DATABASE_URL: databaseUrl, RECON_CONFIG: path, ...more };
  return await run(["doctor", ...args], environment);
}

test("doctor names the largest tables and says how long the disk lasts, or what to set so that it is known", async () => {
  const config = parseConfig({ products: [{ productId: "P1" }] });
  const context = { sql, config, clock: systemClock, log: silentLog };
  await measureStorage(context, null);
  expect(checkOf((await doctor(null)).stdout, "disk")).toMatchObject({
    ok: true,
    found: expect.stringMatching(
      /MB, its growth is known after a day; days of disk unknown: set DATABASE_DISK; .*; measured [\dminsh ]+ ago/,
    ),
    mend: expect.stringContaining("set DATABASE_DISK"),
  });
  const path = join(folder, "recon.config.json");
  const status = await callRecon(["status"], { DATABASE_URL: url, RECON_CONFIG: path });
  expect(status.stdout).toMatch(/\ndatabase {4}.*; measured [\dminsh ]+ ago\n/);
  await measureStorage(context, 1_000_000);
  const full = await doctor(null);
  expect(checkOf(full.stdout, "disk")).toMatchObject({
    ok: false,
    found: expect.stringContaining("no space left of the 1.0 MB that DATABASE_DISK allows"),
  });
  expect(full.code).toBe(1);
  await emptyTables(sql, ["storage_states", "storage_days", "storage_tables"]);
});

const credentials = { PROVIDER_USERNAME: CREDENTIALS.username, PROVIDER_PASSWORD: CREDENTIALS.password };
const doctorOf = async (providerUrl: string) =>
  await doctor(null, url, ["--json"], { PROVIDER_BASE_URL: providerUrl, ...credentials });

interface DoctorReport {
  readonly ok: boolean;
  readonly checks: readonly {
    check: string;
    ok: boolean | null;
    found: string;
    mend: string | null;
    where: string | null;
  }[];
}

/** The place of every check that is about the database of the tests. */
const { host, pathname } = new URL(url);
const where = `${host}, database "${pathname.slice(1)}"`;

const checkOf = (stdout: string, name: string) =>
  (JSON.parse(stdout) as DoctorReport).checks.find(({ check }) => check === name);

function verdicts(stdout: string) {
  const { checks } = JSON.parse(stdout) as DoctorReport;
  const namesOf = (verdict: boolean | null) =>
    checks.filter(({ ok }) => ok === verdict).map(({ check }) => check);
  return { right: namesOf(true), wrong: namesOf(false), unchecked: namesOf(null) };
}

test("doctor says that a correct system is in order, and that nothing is compared while no entry is known", async () => {
  await sql`create view casino.ledger as select * from callback_entries`;
  const alone: typeof callRecon = (asked, environment) => startRecon(asked, environment).ended;
  const { code, stdout } = await doctor("casino.ledger", url, ["--json"], {}, alone);
  expect(code).toBe(0);
  expect(JSON.parse(stdout)).toEqual({
    ok: true,
    checks: [
      { check: "settings", ok: true, found: "every setting is right", mend: null, where: null },
      {
        check: "database",
        ok: true,
        found: expect.stringMatching(/^PostgreSQL \d+\.\d+ answers$/),
        mend: null,
        where,
      },
      { check: "migrations", ok: true, found: "the database is up to date", mend: null, where },
      {
        check: "connections",
        ok: true,
        found: "a write succeeded over a connection of each kind: work, pages, callbacks, queues",
        mend: null,
        where,
      },
      {
        check: "redis",
        ok: true,
        found: "REDIS_URL is not set: the queues are in the database",
        mend: null,
        where,
      },
      {
        check: "ledger",
        ok: true,
        found: '"casino.ledger" can be read; no entry is known yet: nothing is compared until the first one',
        mend: null,
        where,
      },
      {
        check: "money",
        ok: true,
        found: expect.stringMatching(
          /^no money moved outside the comparison since .+; no worker has added up the statements yet$/,
        ),
        mend: null,
        where,
      },
      {
        check: "vacuum",
        ok: true,
        found: expect.stringMatching(/^\d+ % of the transaction ids are used, and autovacuum keeps up$/),
        mend: null,
        where,
      },
      {
        check: "disk",
        ok: true,
        found: "the size of the database is unknown: no worker has measured yet",
        mend: "start a worker; it measures every ten minutes",
        where,
      },
      { check: "books", ok: true, found: "no day is closed", mend: null, where },
      {
        check: "provider",
        ok: true,
        found: "PROVIDER_BASE_URL is not set: the worker starts a stand-in provider",
        mend: null,
        where: null,
      },
    ],
  });
});

test("doctor and status name products that have bets and are not in the settings, and doctor says how they age", async () => {
  const seen = { now: NOON, requestedAt: NOON };
  await sql.begin((tx) => writeRecords(tx, "P4", [exampleRecord()], seen));
  await sql`update bet_records set accounting_date = '2025-01-01T00:00:00Z'`;
  const { stdout, code } = await doctor(null);
  expect([code, checkOf(stdout, "products")]).toEqual([
    0,
    {
      check: "products",
      ok: true,
      found: expect.stringContaining("not in the settings: P4; they are neither compared nor deleted"),
      mend: expect.stringContaining('with walletMode "transfer"'),
      where,
    },
  ]);
  const there = { DATABASE_URL: url, RECON_CONFIG: join(folder, "recon.config.json") };
  const line = /\nunknown {5}P4, not in the settings: neither compared nor deleted \(recon doctor\)\n/;
  expect((await callRecon(["status"], there)).stdout).toMatch(line);
  await emptyTables(sql, ["bet_records"]);
  expect(checkOf((await doctor(null)).stdout, "products")).toBeUndefined();
  expect((await callRecon(["status"], there)).stdout).not.toMatch(line);
});

test("doctor names every column that is missing or has another type, with both types", async () => {
  await sql`
    create table casino.ledger (entry_id bigint, callback varchar(20), request_id text, product_id text, username text,
      currency char(3), txn_id uuid, status text, bet_amount double precision, payout_amount integer,
      transaction_type text, skip_balance_update integer, moved money, balance_before numeric(20, 2),
      balance_after text, occurred_at timestamp, received_at bigint)`;
  const { code, stdout, stderr } = await doctor("casino.ledger", url, []);
  expect({ code, stderr }).toEqual({ code: 1, stderr: "" });
  const [, after = ""] = stdout.split("WRONG  ledger      ");
  const [problem = ""] = after.split(/\n(?=ok|WRONG)/);
  expect(problem.split("\n").map((line) => line.trim())).toEqual([
    'ledger.relation "casino.ledger" cannot be read:',
    "the column entry_id is bigint, but must be text; cast it with ::text",
    "the column round_id is missing; it must be text",
    "the column bet_amount is double precision, but must be numeric: a floating point number cannot hold every amount exactly",
    "the column skip_balance_update is integer, but must be boolean",
    "the column moved is money, but must be numeric: the text of a money value depends on the locale; cast it to numeric",
    "the column balance_after is text, but must be numeric",
    "the column occurred_at is timestamp without time zone, but must be timestamp with time zone: without a time zone the instant is unknown. Find out the zone of the clock that writes the column, and name it in the view: occurred_at at time zone '…'",
    "the column received_at is bigint, but must be timestamp with time zone; convert milliseconds since 1970 with to_timestamp(ms / 1000.0)",
    expect.stringMatching(/^-> give the user of DATABASE_URL a table or view with these columns/),
  ]);
});

test("doctor names a relation that does not exist, or exists only in small letters", async () => {
  const none = await doctor("casino.ledger");
  expect(none.code).toBe(1);
  expect(checkOf(none.stdout, "ledger")).toMatchObject({
    ok: false,
    found: expect.stringMatching(/this user sees no such table or view/),
  });
  await sql`create view casino.ledger as select * from callback_entries`;
  const folded = await doctor("casino.Ledger");
  expect(checkOf(folded.stdout, "ledger")?.found).toMatch(
    /there is casino\.ledger: PostgreSQL folds unquoted names to lower case/,
  );
});

test("doctor names amounts with the rounding errors of floating point, and the setting that accepts them", async () => {
  await emptyTables(sql, ["bet_records"]);
  const seen = { requestedAt: NOON, now: NOON };
  const record = exampleRecord({ stake: amount("0.30000000000000004"), payout: amount("0.30000000") });
  await sql.begin((tx) => writeRecords(tx, "P1", [record], seen));
  const { code, stdout } = await doctor(null);
  expect(code).toBe(0);
  expect(checkOf(stdout, "amounts")).toEqual({
    check: "amounts",
    ok: true,
    found:
      "P1 has amounts with more than 8 decimals at the provider, such as 0.30000000000000004 THB: one side computes in floating point",
    mend: expect.stringContaining('set diff.tolerance, such as { "THB": "0.01" }'),
    where,
  });
  await emptyTables(sql, ["bet_records"]);
  expect(checkOf((await doctor(null)).stdout, "amounts")).toBeUndefined();
});

test("doctor names entries without the balances that the settings promise", async () => {
  const at = { occurredAt: NOON, receivedAt: NOON };
  const known = { balanceBefore: amount("100"), balanceAfter: amount("90") };
  await appendEntries(sql, [
    exampleEntry({ entryId: "bare", ...at, balanceBefore: null, balanceAfter: null }),
  ]);
  const complete = () => doctor(null, url, ["--json"], {}, callRecon, "complete");
  const none = await complete();
  expect(none.code).toBe(1);
  expect(checkOf(none.stdout, "balances")).toMatchObject({
    ok: false,
    found: expect.stringMatching(
      /^1 of the newest 1 entries of P1 have neither balance_before nor balance_after/,
    ),
  });
  await appendEntries(sql, [exampleEntry({ entryId: "known", txnId: "bet-2", ...at, ...known })]);
  expect(checkOf((await complete()).stdout, "balances")).toMatchObject({ ok: true });
  expect(checkOf((await doctor(null)).stdout, "balances")).toBeUndefined();
});

test("doctor counts rows that cannot be used", async () => {
  await sql`create view casino.ledger as select * from callback_entries`;
  await sql`insert into rejected_entries (entry_digest, raw, reason, first_seen_at) values ('1', '{}', 'callback is "?"', now())`;
  const { code, stdout } = await doctor("casino.ledger");
  expect(code).toBe(1);
  expect(checkOf(stdout, "ledger")?.found).toBe(
    '"casino.ledger" can be read, but 1 of its rows cannot be used',
  );
});

test("without a relation doctor checks the program's own table", async () => {
  const { code, stdout } = await doctor(null);
  expect(code).toBe(0);
  expect(checkOf(stdout, "ledger")?.found).toMatch(/^the table callback_entries/);
});

test("doctor compares the entries of each day with what was accepted, and names what is missing", async () => {
  await sql.unsafe(`insert into callback_entries (entry_id, callback, request_id, product_id, username, currency, txn_id, status,
      skip_balance_update, occurred_at, received_at)
    select 'e' || n, 'placeBets', 'q' || n, 'P1', 'anna', 'THB', 'b' || n, 'OPEN', false, at, at
    from generate_series(1, 3) as n, (values ('2026-11-20T12:00:00Z'::timestamptz)) as t (at)`);
  expect(checkOf((await doctor(null)).stdout, "entries")).toMatchObject({
    ok: true,
    found: "the entries of 1 day are those that were accepted",
  });
  await sql.begin(async (tx) => {
    await tx`set local session_replication_role = replica`;
    await tx`delete from callback_entries where entry_id = 'e2'`;
  });
  const { code, stdout } = await doctor(null);
  expect(code).toBe(1);
  expect(checkOf(stdout, "entries")).toMatchObject({
    ok: false,
    found:
      "callback_entries does not have the entries that were accepted. By day (UTC): 2026-11-20: 3 accepted, 2 found",
    mend: expect.stringContaining("recon ledger accept --day 2026-11-20"),
  });
  const accepted = await callRecon(["ledger", "accept", "--day", "2026-11-20", "--note", "tried out"], {
    DATABASE_URL: url,
  });
  expect(accepted).toMatchObject({ code: 0 });
  expect(checkOf((await doctor(null)).stdout, "entries")).toMatchObject({ ok: true });
});

test("doctor fails and migrate warns if other roles may create functions beside the tables", async () => {
  expect(checkOf((await doctor(null)).stdout, "rights")).toBeUndefined();
  await sql`grant create on schema public to public`;
  const allowed = await doctor(null);
  expect(allowed.code).toBe(1);
  expect(checkOf(allowed.stdout, "rights")).toMatchObject({
    ok: false,
    found: "every role may create functions in the schema public (the default of PostgreSQL 14)",
    mend: expect.stringContaining("revoke create on schema public from public"),
  });
  const migrated = await callRecon(["migrate"], { DATABASE_URL: url });
  expect(migrated).toMatchObject({
    code: 0,
    stdout: "The database is up to date.\n",
    stderr: expect.stringMatching(/^recon: warning: every role may create functions in the schema public/),
  });
  await sql`revoke create on schema public from public`;
  expect((await callRecon(["migrate"], { DATABASE_URL: url })).stderr).toBe("");
});

test("doctor names entries of a product that is not in the settings", async () => {
  await sql`
    insert into callback_entries (entry_id, callback, request_id, product_id, username, currency, txn_id, status,
      skip_balance_update, occurred_at, received_at)
    select 'e' || product, 'placeBets', 'q', product, 'anna', 'THB', 'bet-1', 'OPEN', false, now(), now()
    from unnest(array['P1', 'P9', 'p1']) as product`;
  const { code, stdout } = await doctor(null);
  expect(code).toBe(1);
  const found = JSON.parse(stdout).checks.filter(({ check }: { check: string }) => check === "money");
  expect(found.map(({ found }: { found: string }) => found).sort()).toEqual([
    expect.stringMatching(/^P9 is not in the settings, so it is not compared: it has 1 entry/),
    expect.stringMatching(/^p1 is not in the settings/),
  ]);
});

test("doctor reports a database that is out of date or does not answer, and a wrong setting", async () => {
  const [{ name = "" } = {}] = await sql<{ name: string }[]>`select current_database() || '_empty' as name`;
  await sql.unsafe(`create database ${name}`);
  try {
    const empty = url.replace(/[^/]+$/, name);
    const { code, stdout } = await doctor(null, empty);
    expect(code).toBe(1);
    expect(checkOf(stdout, "migrations")).toMatchObject({
      ok: false,
      mend: expect.stringMatching(/recon migrate/),
    });
    // What needs the tables says so once, instead of failing with the same words five times.
    expect(verdicts(stdout)).toEqual({
      right: ["settings", "database", "connections", "redis", "vacuum", "provider"],
      wrong: ["migrations"],
      unchecked: ["ledger", "money", "rights", "entries", "disk", "books", "amounts"],
    });
    const text = (await doctor(null, empty, [])).stdout;
    expect(text).toContain("\n-      ledger       not checked: correct migrations first\n");
    expect(text).toMatch(
      new RegExp(`^ok {5}database {5}PostgreSQL \\d+\\.\\d+ answers \\(${host}, database "${name}"\\)$`, "m"),
    );
  } finally {
    await sql.unsafe(`drop database ${name} with (force)`);
  }
  const dead = await doctor(null, "postgres://anna:hidden@127.0.0.1:1/ledger");
  expect(dead.code).toBe(1);
  expect(verdicts(dead.stdout)).toEqual({
    right: ["settings", "redis", "provider"],
    wrong: ["database"],
    unchecked: [
      "migrations",
      "connections",
      "ledger",
      "money",
      "rights",
      "entries",
      "vacuum",
      "disk",
      "books",
      "amounts",
    ],
  });
  expect(checkOf(dead.stdout, "database")?.found).toMatch(
    /^the database ledger at 127\.0\.0\.1:1 does not answer/,
  );
  expect(checkOf(dead.stdout, "books")?.found).toBe("not checked: correct database first");
  expect(dead.stdout).not.toMatch(/hidden/);
  const wrong = await doctor("two words");
  expect(wrong.code).toBe(1);
  expect(checkOf(wrong.stdout, "settings")?.found).toMatch(/ledger\.relation: must be a table or view/);
});

test("doctor asks the provider once, for nothing that moves money or changes anything, and compares its clock with ours", async () => {
  const { code, stdout } = await doctorOf(provider.url());
  expect(code).toBe(0);
  expect(checkOf(stdout, "provider")?.found).toMatch(
    /^it answers and accepts the credentials \(betTransactionsV2 of P1/,
  );
  expect(checkOf(stdout, "clock")).toMatchObject({ ok: true, where: provider.url() });
  expect(provider.asked.map(({ method, path }) => [method, path])).toEqual([
    ["GET", "/seamless/betTransactionsV2"],
  ]);
});

test("doctor says by how much and in which direction a clock differs from the provider's", async () => {
  provider.answer(() => (response) => {
    response.setHeader("date", new Date(Date.now() - 600_000).toUTCString());
    page([])(response);
  });
  const { code, stdout } = await doctorOf(provider.url());
  expect(code).toBe(1);
  expect(checkOf(stdout, "clock")).toMatchObject({
    ok: false,
    found: expect.stringMatching(
      /^this machine's clock is (10 min( \d+ s)?|9 min 5\d s) ahead of the provider's/,
    ),
    mend: expect.stringMatching(/NTP/),
  });
});

test("doctor says what to do about refused credentials and about an address at which nothing listens, without the password", async () => {
  provider.answer(() => (response) => response.writeHead(401).end());
  const refused = await doctorOf(provider.url());
  expect(refused.code).toBe(1);
  expect(checkOf(refused.stdout, "provider")).toMatchObject({
    ok: false,
    found: expect.stringMatching(/provider-refused/),
    mend: expect.stringMatching(/PROVIDER_USERNAME and PROVIDER_PASSWORD/),
  });
  const nobody = await doctorOf("http://127.0.0.1:1");
  expect(nobody.code).toBe(1);
  expect(checkOf(nobody.stdout, "provider")).toMatchObject({
    ok: false,
    found: expect.stringMatching(/provider-unreachable/),
    mend: expect.stringMatching(/PROVIDER_BASE_URL/),
  });
  expect(refused.stdout + nobody.stdout).not.toMatch(CREDENTIALS.password);
});

test("doctor reports a Redis that may drop jobs when memory is short, and a Redis that does not answer", async () => {
  const redis = await startRedis({ cache: join(import.meta.dirname, "../../.recon/test/redis") });
  try {
    const good = await doctor(null, url, ["--json"], { REDIS_URL: redis.url });
    expect(good.code).toBe(0);
    expect(checkOf(good.stdout, "redis")?.found).toMatch(
      /^Redis \d+\.\d+\.\d+ answers, takes writes, and evicts no keys$/,
    );
    const named = new URL(redis.url);
    named.pathname = "/3";
    const third = await doctor(null, url, [], { REDIS_URL: String(named) });
    expect(third.stdout).toMatch(new RegExp(`^ok {5}redis .* \\(${named.host}, database 3\\)$`, "m"));
    const client = new Redis(redis.url);
    await client.config("SET", "maxmemory-policy", "allkeys-lru");
    client.disconnect();
    const evicting = await doctor(null, url, ["--json"], { REDIS_URL: redis.url });
    expect(evicting.code).toBe(1);
    expect(checkOf(evicting.stdout, "redis")).toMatchObject({
      ok: false,
      found: expect.stringMatching(/maxmemory-policy allkeys-lru/),
      mend: expect.stringMatching(/set maxmemory-policy noeviction/),
    });
  } finally {
    await redis.stop();
  }
  const down = await doctor(null, url, ["--json"], { REDIS_URL: redis.url });
  expect(checkOf(down.stdout, "redis")).toMatchObject({
    ok: false,
    mend: expect.stringMatching(/start Redis/),
  });
});
