import { existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Redis } from "ioredis";
import { afterAll, expect, test } from "vitest";
import { eventually } from "../support/eventually.ts";
import { ownPort } from "../support/own-port.ts";
import { startRedis } from "../support/redis-server.ts";
import { startHolder } from "./holder.ts";
import { listProcesses } from "./processes.ts";

const cache = mkdtempSync(join(tmpdir(), "redis-test-"));
afterAll(() => rmSync(cache, { recursive: true, force: true }));

const serving = (port: number) => listProcesses().filter((one) => one.command.includes(`127.0.0.1:${port}`));

async function ping(url: string): Promise<string> {
  const client = new Redis(url, { lazyConnect: true, retryStrategy: () => null });
  client.on("error", () => undefined);
  try {
    await client.connect();
    return await client.ping();
  } finally {
    client.disconnect();
  }
}

test("two processes that need Redis at the same time both get one, and leave no half-done download", async () => {
  const [one, other] = await Promise.all([startRedis({ cache }), startRedis({ cache })]);
  expect(await Promise.all([ping(one.url), ping(other.url)])).toEqual(["PONG", "PONG"]);
  expect(one.port).not.toBe(other.port);
  await Promise.all([one.stop(), other.stop()]);
  expect(serving(one.port)).toEqual([]);
  if (existsSync(cache)) expect(readdirSync(cache).filter((name) => name.includes("unfinished"))).toEqual([]);
});

test("Redis never evicts keys and writes nothing to disk", async () => {
  const redis = await startRedis({ cache });
  const client = new Redis(redis.url);
  expect(await client.config("GET", "maxmemory-policy")).toEqual(["maxmemory-policy", "noeviction"]);
  expect(await client.config("GET", "save")).toEqual(["save", ""]);
  expect(await client.config("GET", "appendonly")).toEqual(["appendonly", "no"]);
  client.disconnect();
  await redis.stop();
});

test("a killed Redis can be started again on its port", async () => {
  const first = await startRedis({ cache, port: await ownPort() });
  first.kill();
  await first.stop();
  await expect(ping(first.url)).rejects.toThrow();
  const second = await startRedis({ cache, port: first.port });
  expect(second.url).toBe(first.url);
  expect(await ping(second.url)).toBe("PONG");
  await second.stop();
});

test("the error names a port that is taken", async () => {
  const redis = await startRedis({ cache });
  await expect(startRedis({ cache, port: redis.port })).rejects.toMatchObject({
    code: "embedded-failed",
    message: expect.stringContaining(`did not start on port ${redis.port}`),
  });
  await redis.stop();
});

test("Redis dies with its parent, even by kill -9", async () => {
  const holder = startHolder(["redis", cache]);
  const { url } = await holder.ready();
  expect(await ping(url)).toBe("PONG");
  holder.child.kill("SIGKILL");
  await eventually("Redis is gone", () => serving(Number(new URL(url).port)).length === 0);
});
