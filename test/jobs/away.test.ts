/** The log of a worker whose stores are away for a while. */

import { setTimeout as pause } from "node:timers/promises";
import { expect, inject, onTestFinished, test } from "vitest";
import { openDatabase } from "../../src/db/client.ts";
import { startRecon } from "../cli/run-recon.ts";
import { emptyTables, useDatabase } from "../support/database.ts";
import { eventually } from "../support/eventually.ts";
import { startTcpProxy, type TcpProxy } from "../support/tcp-proxy.ts";

const { sql, url } = useDatabase();
/** Shorter than the minute after which a store that is still away is named again. */
const AWAY_MS = 8_000;

/** Changes the database under all sessions, until the test ends. */
async function change(statement: string): Promise<void> {
  const admin = openDatabase(inject("adminUrl"), 1);
  const own = openDatabase(url, 1);
  onTestFinished(async () => {
    await admin.unsafe(`alter database ${name} reset default_transaction_read_only`);
    await own.unsafe(`do $$ begin
      alter schema elsewhere rename to public; exception when invalid_schema_name then null; end $$`);
    await Promise.all([admin.end(), own.end()]);
  });
  await own.unsafe(statement);
  await admin`select pg_terminate_backend(pid) from pg_stat_activity where datname = ${name}`;
}

type Proxies = readonly [TcpProxy, TcpProxy];
const name = new URL(url).pathname.slice(1);

test.each([
  ["PostgreSQL that is away", ([database]: Proxies) => database.refuse()],
  ["Redis that is away", ([, redis]: Proxies) => redis.refuse()],
  [
    "PostgreSQL that is read-only",
    () => change(`alter database ${name} set default_transaction_read_only = on`),
  ],
  ["PostgreSQL whose schema was renamed", () => change("alter schema public rename to elsewhere")],
])("%s is named once by each kind of work, without stack traces", async (what, leave) => {
  await emptyTables(sql);
  const proxies = [await startTcpProxy(url), await startTcpProxy(inject("redisUrl"))] as const;
  onTestFinished(async () => {
    await Promise.all(proxies.map((one) => one.close()));
  });
  const worker = startRecon(["worker"], {
    DATABASE_URL: proxies[0].url,
    REDIS_URL: proxies[1].url,
    REDIS_PREFIX: what.replaceAll(" ", "-"),
    LOG_LEVEL: "info",
    OPS_PORT: "0",
  });
  onTestFinished(async () => {
    worker.child.kill("SIGKILL");
    await worker.ended;
  });
  await eventually("it works", async () => (await sql`select from windows limit 1`).length > 0, 60_000);
  await pause(1_000);
  const before = worker.said().length;
  await leave(proxies);
  await pause(AWAY_MS);
  const said = worker.said().slice(before);
  expect(said).not.toMatch(/\\n {4}at |\n {4}at |ioredis\]/);
  const lines = said.split("\n").filter((line) => line.trim() !== "");
  expect(lines.length).toBeGreaterThan(0);
  expect(lines.length).toBeLessThan(6);
});
