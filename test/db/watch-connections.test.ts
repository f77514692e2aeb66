import { execFileSync } from "node:child_process";
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { openDatabase } from "../../src/db/client.ts";
import { migrateDatabase } from "../../src/db/migrate.ts";
import { openPipelinedPool } from "../../src/db/pipelined-pool.ts";
import { PROOF, proveWrite } from "../../src/db/prove-write.ts";
import { openQueuePool } from "../../src/db/queue-pool.ts";
import { watchConnections } from "../../src/db/watch-connections.ts";
import { startEmbeddedPostgres } from "../../src/embedded/postgres/postgres.ts";
import { useDatabase } from "../support/database.ts";
import { eventually } from "../support/eventually.ts";
import { startTcpProxy } from "../support/tcp-proxy.ts";

const { sql, url } = useDatabase();
const SOON_MS = 100;

/** A pool with its watch, and a pool of each other kind beside it. */
async function openWatched(address: string) {
  const pool = openDatabase(address, 3);
  const pipelined = openPipelinedPool(pool, [], 2_000);
  const queues = openQueuePool(
    address,
    "public",
    async () => {},
    PROOF,
    () => {},
    pool,
  );
  const changes: (string | null)[] = [];
  const unwatch = watchConnections([pool], (refusal) => changes.push(refusal), SOON_MS);
  onTestFinished(async () => {
    unwatch();
    await Promise.all([pipelined.close(), queues.close(), pool.end({ timeout: 0 })]);
  });
  const write = { text: PROOF, values: [] };
  /** Whether each kind of connection can write. */
  const canWrite = async () =>
    (await Promise.allSettled([proveWrite(pool), pipelined.run(write), queues.check()])).map(
      ({ status }) => status === "fulfilled",
    );
  return { pool, changes, canWrite };
}

const ALL = [true, true, true];

async function setReadOnly(value: "on" | "off"): Promise<void> {
  const [row] = await sql`select current_database() as name`;
  await sql.unsafe(`alter database ${row?.["name"]} set default_transaction_read_only = ${value}`);
}

test("connections that were made while the database was read-only are replaced once it is not", async () => {
  await setReadOnly("on");
  onTestFinished(() => setReadOnly("off"));
  const { pool, changes, canWrite } = await openWatched(url);
  await expect(proveWrite(pool)).rejects.toMatchObject({
    code: "database-refuses-writes",
    message: expect.stringMatching(
      /refuses writes: default_transaction_read_only is on for this database\.$/,
    ),
  });
  expect(await canWrite()).toEqual([false, false, false]);
  const reading = pool.begin(async (tx) => {
    await tx`select 1`;
    await eventually("the brake is seen", () => changes.length > 0);
    await setReadOnly("off");
    await eventually("all kinds of connections write", async () => expect(await canWrite()).toEqual(ALL));
    return await tx`select 'not cut off' as work`;
  });
  expect(await reading).toEqual([{ work: "not cut off" }]);
  expect(changes).toEqual(["default_transaction_read_only is on for this database", null]);
});

test("a database that was read-only only between two checks leaves no read-only connection behind", async () => {
  const { pool, changes, canWrite } = await openWatched(url);
  await eventually("it has looked", async () => {
    const looks = await sql`select from pg_stat_activity where query like '%pg_postmaster_start_time%'`;
    return looks.length > 0 || changes.length > 0;
  });
  // Its own session can be read-only without a check noticing it.
  await pool`set default_transaction_read_only = on`;
  await eventually("all kinds of connections write", async () => expect(await canWrite()).toEqual(ALL));
  expect(changes).toEqual([]);
});

test("behind one name a replica is named, and after a failover connections lead to the new primary", async () => {
  const home = mkdtempSync(join(tmpdir(), "recon-failover-"));
  chmodSync(home, 0o711);
  onTestFinished(() => rmSync(home, { recursive: true, force: true }));
  const [one, other] = [join(home, "one"), join(home, "other")];
  const start = async (folder: string) => {
    const server = await startEmbeddedPostgres({ home: folder });
    onTestFinished(() => server.release());
    return server;
  };
  const first = await startEmbeddedPostgres({ home: one });
  await migrateDatabase(first.url);
  await first.release();
  // The copy keeps its owner, because PostgreSQL runs as another account for root.
  execFileSync("cp", ["-a", one, other]);
  writeFileSync(join(other, "postgres/cluster/data/standby.signal"), "");
  const [primary, replica] = [await start(one), await start(other)];
  const proxy = await startTcpProxy(primary.url);
  onTestFinished(() => proxy.close());
  const { pool, canWrite } = await openWatched(proxy.url);
  expect(await canWrite()).toEqual(ALL);
  const countSessions = async () =>
    (await pool<[{ all: number }]>`select sum(sessions)::int as all from pg_stat_database`)[0].all;
  const sessions = await countSessions();
  // Looks follow each other, and each is a session.
  await eventually("it has looked", async () => (await countSessions()) > sessions + 3);
  proxy.lead(replica.url);
  await eventually("the replica is named", () =>
    expect(proveWrite(pool)).rejects.toThrow(/refuses writes: it is a replica\.$/),
  );
  expect(await canWrite()).toEqual([false, false, false]);

  // The old primary does not answer, and closes nothing. A transaction waits for it.
  proxy.lead(primary.url);
  await eventually("all kinds of connections write", async () => expect(await canWrite()).toEqual(ALL));
  const waiting = pool.begin(async (tx) => {
    proxy.strand();
    proxy.lead(replica.url);
    await tx`select 'waits for ever'`;
  });
  const promoting = openDatabase(replica.url, 1);
  onTestFinished(() => promoting.end());
  await Promise.all([expect(waiting).rejects.toThrow("CONNECTION"), promoting`select pg_promote()`]);
  await eventually("all kinds of connections write", async () => expect(await canWrite()).toEqual(ALL));
  expect(await pool`select pg_postmaster_start_time() as server`).toEqual(
    await promoting`select pg_postmaster_start_time() as server`,
  );
});
