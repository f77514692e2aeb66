import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { Client } from "pg";
import { describe, expect, onTestFinished, test } from "vitest";
import { checkDatabase, openDatabase } from "../../src/db/client.ts";
import { migrateDatabase } from "../../src/db/migrate.ts";
import { exampleEnvelope, startOperator } from "../callbacks/operator.ts";
import { callRecon } from "../cli/call-recon.ts";
import { useDatabase } from "../support/database.ts";
import { eventually } from "../support/eventually.ts";
import { type PoolMode, startPooler } from "../support/pooler.ts";

const { url } = useDatabase();

async function open(mode: PoolMode, sessions: number) {
  const pooler = await startPooler(url, mode, sessions);
  onTestFinished(() => pooler.close());
  return pooler;
}

describe("a pooler that gives each transaction a session", () => {
  test.each([1, 3])("is refused before anything is left in its %i sessions", async (sessions) => {
    const pooler = await open("transaction", sessions);
    await expect(migrateDatabase(pooler.url)).rejects.toThrow(
      /shares the sessions .* \(transaction pooling\)/,
    );
    const other = new Client(pooler.url);
    await other.connect();
    const states = [];
    for (let session = 0; session < 2 * sessions; session += 1) {
      const { rows } = await other.query(`
        select current_setting('lock_timeout') as limit, current_setting('search_path') as path,
          (select count(*)::int from pg_locks where locktype = 'advisory' and database = (
            select oid from pg_database where datname = current_database())) as locks`);
      states.push(rows[0]);
    }
    await other.end();
    expect(new Set(states.map((state) => JSON.stringify(state)))).toEqual(
      new Set([JSON.stringify({ limit: "0", path: '"$user", public', locks: 0 })]),
    );
  });
});

test("commands say in one line that transaction pooling is refused", async () => {
  const { url: pooled } = await open("transaction", 2);
  const says =
    /a pooler at 127\.0\.0\.1:\d+ that shares the sessions of the database recon_test_\w+ between programs \(transaction pooling\): .* Use pool_mode = session there/;
  const migrated = await callRecon(["migrate"], { DATABASE_URL: pooled });
  expect(migrated.code).toBe(1);
  expect(migrated.stderr).toMatch(new RegExp(`^recon: [^\n]*${says.source}[^\n]*\n$`));
  const doctor = await callRecon(["doctor", "--json"], { DATABASE_URL: pooled });
  expect(doctor.code).toBe(1);
  expect(JSON.parse(doctor.stdout).checks).toContainEqual({
    check: "connections",
    ok: false,
    found: expect.stringMatching(says),
    mend: expect.stringContaining("pool_mode = session"),
    where: expect.stringMatching(/^127\.0\.0\.1:\d+, database "recon_test_\w+"$/),
  });
});

test("callbacks are answered through a pooler that gives each connection a session", async () => {
  const { url: pooled } = await open("session", 12);
  await migrateDatabase(pooled);
  const sql = openDatabase(pooled, 2);
  onTestFinished(() => sql.end({ timeout: 0 }));
  const operator = await startOperator(sql);
  const bet = { id: "bet-1", status: "OPEN", roundId: "round-1", betAmount: 10 };
  expect(await operator.outcomeOf("placeBets", bet)).toBe("0 90");
});

test("a caller that hangs up behind a pooler has its write cancelled in the database", async () => {
  const pooler = await open("session", 12);
  await migrateDatabase(pooler.url);
  const sql = openDatabase(pooler.url, 2);
  const direct = openDatabase(url, 2);
  onTestFinished(async () => {
    await Promise.all([sql.end({ timeout: 0 }), direct.end()]);
  });
  const operator = await startOperator(sql);
  const waiting = () => direct`
    select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
  await direct.begin(async (tx) => {
    await tx`select from wallets where username = ${operator.player} for update`;
    const hangUp = new AbortController();
    const body = JSON.stringify({
      ...exampleEnvelope(operator.player),
      txns: [{ id: "bet-1", status: "OPEN", roundId: "round-1", betAmount: 10 }],
    });
    const headers = { "content-type": "application/json" };
    const { signal } = hangUp;
    fetch(`${operator.url}/placeBets`, { method: "POST", headers, body, signal }).catch(() => {});
    await eventually("it waits", async () => (await waiting()).length === 1);
    hangUp.abort();
    await eventually("it does not wait any more", async () => (await waiting()).length === 0);
    expect(pooler.cancelled()).toBe(1);
  });
  expect(await operator.balance()).toBe("100");
});

/** A pooler that answers every start with this error. @returns its URL */
async function startRefusing(code: string, message: string): Promise<string> {
  const field = (type: string, value: string) => `${type}${value}\0`;
  const fields = Buffer.from(`${field("S", "FATAL")}${field("C", code)}${field("M", message)}\0`);
  const head = Buffer.alloc(5, "E");
  head.writeInt32BE(fields.length + 4, 1);
  const server = createServer((client) => {
    client.on("error", () => {});
    client.once("data", () => client.end(Buffer.concat([head, fields])));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.close();
  });
  return `postgres://recon:recon@127.0.0.1:${(server.address() as AddressInfo).port}/recon`;
}

test.each([
  ["0A000", "Feature not supported: RDS Proxy currently doesn’t support the option search_path."],
  ["08P01", "unsupported startup parameter in options: geqo. Please use unpooled connection"],
])("what other poolers say (%s) is told from a database that does not answer: %s", async (code, message) => {
  const sql = openDatabase(await startRefusing(code, message), 1);
  onTestFinished(() => sql.end({ timeout: 0 }));
  await expect(checkDatabase(sql)).rejects.toMatchObject({
    code: "database-unreachable",
    retryable: false,
    message: expect.stringMatching(
      /^the pooler at .* cannot be used .* point DATABASE_URL at PostgreSQL itself/,
    ),
  });
});

test.each([
  ["28000", 'no pg_hba.conf entry for host "10.0.0.1", user "recon", database "recon", no encryption'],
  ["28000", "SSL connection is required. Please specify SSL options and retry."],
])("a service that wants TLS (%s, %s) is told how to get it", async (code, message) => {
  const sql = openDatabase(await startRefusing(code, message), 1);
  onTestFinished(() => sql.end({ timeout: 0 }));
  await expect(checkDatabase(sql)).rejects.toMatchObject({
    retryable: false,
    message: expect.stringMatching(/ Add sslmode=verify-full, or sslmode=require, to DATABASE_URL\.$/),
  });
});

test("a pooler that refuses the limits of statements is told from a database that does not answer", async () => {
  const { url: pooled } = await open("session", 1);
  const sql = openDatabase(`${pooled}?options=-cgeqo%3Doff`, 1);
  onTestFinished(() => sql.end({ timeout: 0 }));
  await expect(checkDatabase(sql)).rejects.toMatchObject({
    code: "database-unreachable",
    retryable: false,
    message: expect.stringMatching(
      /^the pooler at .* unsupported startup parameter: options\. Add these to its ignore_startup_parameters: statement_timeout, /,
    ),
  });
});
