/** The log of a worker whose stores are away for a while. */

import { setTimeout as pause } from "node:timers/promises";
import { expect, inject, onTestFinished, test } from "vitest";
import { startRecon } from "../cli/run-recon.ts";
import { useDatabase } from "../support/database.ts";
import { eventually } from "../support/eventually.ts";
import { startTcpProxy } from "../support/tcp-proxy.ts";

const { sql, url } = useDatabase();
/** Shorter than the minute after which a store that is still away is named again. */
const AWAY_MS = 8_000;

test.each([
  ["PostgreSQL", 0],
  ["Redis", 1],
])("%s that is away is named once by each kind of work, without stack traces", async (_, which) => {
  const proxies = [await startTcpProxy(url), await startTcpProxy(inject("redisUrl"))] as const;
  onTestFinished(async () => {
    await Promise.all(proxies.map((one) => one.close()));
  });
  const worker = startRecon(["worker"], {
    DATABASE_URL: proxies[0].url,
    REDIS_URL: proxies[1].url,
    REDIS_PREFIX: `away-${which}`,
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
  await proxies[which]?.refuse();
  await pause(AWAY_MS);
  const said = worker.said().slice(before);
  expect(said).not.toMatch(/\\n {4}at |\n {4}at |ioredis\]/);
  const lines = said.split("\n").filter((line) => line.trim() !== "");
  expect(lines.length).toBeGreaterThan(0);
  expect(lines.length).toBeLessThan(6);
});
