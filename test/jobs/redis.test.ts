import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { Redis } from "ioredis";
import { beforeEach, expect, onTestFinished, test } from "vitest";
import { startWorker } from "../../jobs/worker.ts";
import { systemClock } from "../../src/clock.ts";
import { readStatus } from "../../src/flows/read/read-status.ts";
import { emptyTables, type TestDatabase, useDatabase } from "../support/database.ts";
import { eventually } from "../support/eventually.ts";
import { startRedis } from "../support/redis-server.ts";
import { startTcpProxy } from "../support/tcp-proxy.ts";
import { useSmallWorld } from "./small-world.ts";

const CACHE = join(import.meta.dirname, "../../.recon/test/redis");
const SOON_MS = 200;
const small = useSmallWorld();
const one = useDatabase();
const other = useDatabase();

beforeEach(async () => {
  await Promise.all([one, other].map(({ sql }) => emptyTables(sql)));
});

async function openRedis() {
  const server = await startRedis({ cache: CACHE });
  const client = new Redis(server.url);
  // A replica would write what it gets to the server's folder, which an ordinary user may not.
  await client.config("SET", "repl-diskless-load", "swapdb");
  onTestFinished(async () => {
    client.disconnect();
    await server.stop();
  });
  return { url: server.url, port: server.port, client };
}

function contextOf({ sql }: TestDatabase) {
  return small.context(sql);
}

async function work(database: TestDatabase, redisUrl: string, changes: { redisPrefix?: string } = {}) {
  const connections = { redisUrl, databaseUrl: database.url, ...changes };
  const worker = await startWorker(contextOf(database), connections, SOON_MS);
  onTestFinished(() => worker.stop());
  return worker;
}

async function untilPulled(database: TestDatabase): Promise<void> {
  const since = systemClock.now();
  await eventually("every product is pulled up to now", async () => {
    const { products } = await readStatus(contextOf(database));
    return products.every(({ head }) => head !== null && Date.parse(head) > since);
  });
}

const why = async (check: () => Promise<void>) => {
  const failure = await check().then(
    () => null,
    (error: unknown) => error,
  );
  return failure === null ? "" : (failure as Error).message;
};

test("after a failover behind one name, work continues at the new primary while the old one lives on as its replica", async () => {
  const [old, next] = [await openRedis(), await openRedis()];
  await next.client.replicaof("127.0.0.1", old.port);
  await eventually("the replica has all keys", async () =>
    /master_link_status:up/.test(await next.client.info("replication")),
  );
  const proxy = await startTcpProxy(old.url);
  onTestFinished(() => proxy.close());
  const worker = await work(one, proxy.url);
  await untilPulled(one);

  await old.client.replicaof("127.0.0.1", next.port);
  await eventually("the refusal is seen", async () => /READONLY|UNBLOCKED/.test(await why(worker.check)));
  await next.client.replicaof("NO", "ONE");
  proxy.lead(next.url);
  await untilPulled(one);
  await worker.check();
});

test("connections to a Redis that stands still are replaced, although it closes none", async () => {
  const redis = await openRedis();
  const proxy = await startTcpProxy(redis.url);
  onTestFinished(() => proxy.close());
  const worker = await work(one, proxy.url);
  await untilPulled(one);
  proxy.strand();
  expect(await why(worker.check)).toMatch(/^Redis at .* does not answer/);
  await untilPulled(one);
  await worker.check();
});

test("a Redis without memory is named, asked now and then, and used again once it has room", async () => {
  const { url, client } = await openRedis();
  const worker = await work(one, url);
  await untilPulled(one);
  await client.config("SET", "maxmemory", "1");
  await eventually("it is named", async () =>
    /^Redis at .* refuses writes: OOM /.test(await why(worker.check)),
  );
  const refused = async () => {
    const stats = await client.info("errorstats");
    return Number(/errorstat_OOM:count=(\d+)/.exec(stats)?.[1] ?? 0);
  };
  const before = await refused();
  await pause(3_000);
  // Each queue asks once a second. Without the wait there are thousands.
  expect((await refused()) - before).toBeLessThan(300);
  await client.config("SET", "maxmemory", "0");
  await untilPulled(one);
  await worker.check();
});

test("a second installation is refused in words, and a prefix of its own lets it share the Redis", async () => {
  const { url, client } = await openRedis();
  await work(one, url);
  await expect(work(other, url)).rejects.toMatchObject({
    code: "redis-shared",
    retryable: false,
    message: expect.stringMatching(
      /^Redis at .* has the queues of another installation \([\w-]{36}; this one is [\w-]{36}\).* REDIS_PREFIX/,
    ),
  });
  await work(one, url);
  await work(other, url, { redisPrefix: "second" });
  await Promise.all([untilPulled(one), untilPulled(other)]);
  const [row] = await other.sql`select installation_id as id from installations`;
  expect(await client.get("second:installation")).toBe(row?.["id"]);
  expect(await client.get("bull:installation")).not.toBe(row?.["id"]);
});

test("an installation that another one has taken the Redis from says so, until it has it back", async () => {
  const { url, client } = await openRedis();
  const worker = await work(one, url);
  const kinds = async () => (await one.sql`select kind from alerts order by id`).map(({ kind }) => kind);
  await client.set("bull:installation", "another one");
  expect(await why(worker.check)).toMatch(/another installation \(another one; /);
  await eventually("it is reported", async () => (await kinds()).includes("redis-shared"));
  await client.del("bull:installation");
  await eventually("it is over", async () => (await kinds()).includes("redis-shared-over"));
  await worker.check();
});
