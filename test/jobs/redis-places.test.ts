/** Redis as services hand it out: TLS, users, databases and sentinels, all real servers; a cluster is refused. */

import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { type AddressInfo, connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createServer } from "node:tls";
import { Redis } from "ioredis";
import { afterAll, beforeEach, expect, onTestFinished, test } from "vitest";
import { checkRedis } from "../../jobs/redis.ts";
import { startWorker } from "../../jobs/worker.ts";
import { systemClock } from "../../src/clock.ts";
import { freePort } from "../../src/embedded/child-process.ts";
import { readStatus } from "../../src/flows/read/read-status.ts";
import { readRedisUrl } from "../../src/redis-url.ts";
import { PROGRAM, startRecon } from "../cli/run-recon.ts";
import { makeCertificates } from "../support/certificates.ts";
import { emptyTables, useDatabase } from "../support/database.ts";
import { eventually } from "../support/eventually.ts";
import { findRedis, startRedis } from "../support/redis-server.ts";
import { useSmallWorld } from "./small-world.ts";

const CACHE = join(import.meta.dirname, "../../.recon/test/redis");
const small = useSmallWorld();
const { sql, url: databaseUrl } = useDatabase();
const own = await makeCertificates({ type: "ip", value: "127.0.0.1" });
afterAll(() => rmSync(own.folder, { recursive: true }));
beforeEach(() => emptyTables(sql));

async function openRedis() {
  const server = await startRedis({ cache: CACHE });
  const client = new Redis(server.url);
  client.on("error", () => {});
  await client.config("SET", "repl-diskless-load", "swapdb");
  onTestFinished(async () => {
    client.disconnect();
    await server.stop();
  });
  return { url: server.url, port: server.port, client, kill: server.kill };
}

/** Whether the program of Redis was built with TLS, as Debian's is. */
async function hasTls(): Promise<boolean> {
  const { path, environment } = await findRedis(CACHE);
  const options = ["--tls-port", "0", "--port", "0", "--loglevel", "nonsense"];
  const { stderr } = spawnSync(path, options, { env: environment ?? process.env, encoding: "utf8" });
  // It stops at the first option that it does not know.
  return stderr.includes("loglevel");
}

/** Runs the program of Redis with this file of settings, which a sentinel and a cluster rewrite. */
async function runRedis(settings: readonly string[], ...options: string[]) {
  const folder = mkdtempSync(join(tmpdir(), "recon-redis-"));
  const port = await freePort();
  const file = join(folder, "redis.conf");
  writeFileSync(file, [`port ${port}`, "bind 127.0.0.1", `dir ${folder}`, ...settings, ""].join("\n"));
  const { path, environment } = await findRedis(CACHE);
  const child = spawn(path, [file, ...options], { env: environment ?? process.env, stdio: "ignore" });
  onTestFinished(async () => {
    const ended = once(child, "exit");
    child.kill("SIGKILL");
    await ended;
    rmSync(folder, { recursive: true });
  });
  const client = new Redis(port, "127.0.0.1");
  client.on("error", () => {});
  onTestFinished(() => client.disconnect());
  await eventually("it answers", async () => (await client.ping()) === "PONG");
  return { port, client };
}

async function work(redisUrl: string) {
  const context = small.context(sql);
  const worker = await startWorker(context, { redisUrl, databaseUrl }, 200);
  onTestFinished(() => worker.stop());
  const untilPulled = async () => {
    const since = systemClock.now();
    await eventually("every product is pulled up to now", async () => {
      const { products } = await readStatus(context);
      return products.every(({ head }) => head !== null && Date.parse(head) > since);
    });
  };
  await untilPulled();
  return { worker, untilPulled };
}

test("a user with a password full of signs, and a database of its own", async () => {
  const { port, client } = await openRedis();
  const password = "p%40@#/?:";
  await client.call("ACL", "SETUSER", "recon", "on", `>${password}`, "~*", "&*", "+@all");
  await work(`redis://recon:${encodeURIComponent(password)}@127.0.0.1:${port}/3`);
  await client.select(3);
  expect(await client.exists("bull:installation")).toBe(1);
});

test.each([
  ["the master was lost", false],
  ["a failover by hand, whose old master lives on", true],
])("work continues through sentinels after %s", async (_, byHand) => {
  const [master, replica] = [await openRedis(), await openRedis()];
  await replica.client.replicaof("127.0.0.1", master.port);
  await eventually("the replica has all keys", async () =>
    /master_link_status:up/.test(await replica.client.info("replication")),
  );
  const sentinel = await runRedis(
    [
      `sentinel monitor main 127.0.0.1 ${master.port} 1`,
      "sentinel down-after-milliseconds main 1000",
      "sentinel failover-timeout main 5000",
    ],
    "--sentinel",
  );
  await eventually("the sentinel knows the replica", async () =>
    /slaves=1/.test(await sentinel.client.info("sentinel")),
  );
  const { worker, untilPulled } = await work(`redis+sentinel://127.0.0.1:1,127.0.0.1:${sentinel.port}/main`);
  if (byHand) await sentinel.client.call("SENTINEL", "FAILOVER", "main");
  else master.kill();
  await eventually("the replica leads", async () =>
    /role:master/.test(await replica.client.info("replication")),
  );
  await untilPulled();
  await worker.check();
});

test("a Redis Cluster is refused in one line", async () => {
  const { port } = await runRedis(["cluster-enabled yes"]);
  await expect(
    checkRedis({ redisUrl: `redis://127.0.0.1:${port}`, prefix: "bull", installationId: "one" }),
  ).rejects.toMatchObject({
    code: "queue-unreachable",
    retryable: false,
    message: expect.stringMatching(
      /^Redis at 127\.0\.0\.1:\d+ is a Redis Cluster, which is not supported\. Use /,
    ),
  });
});

test("TLS by the address, with an authority of our own, and in words without it", async () => {
  const { port } = await openRedis();
  // Debian's Redis has TLS, the one of a developer may not: what ends TLS here is Node.
  const tls = createServer({ cert: readFileSync(own.cert), key: readFileSync(own.key) }, (client) => {
    const upstream = connect(port, "127.0.0.1");
    client.on("error", () => upstream.destroy());
    upstream.on("error", () => client.destroy());
    client.pipe(upstream).pipe(client);
  });
  tls.listen(0, "127.0.0.1");
  await once(tls, "listening");
  onTestFinished(() => {
    tls.close();
  });
  const REDIS_URL = `rediss://127.0.0.1:${(tls.address() as AddressInfo).port}`;
  const doctor = async (environment: NodeJS.ProcessEnv) => {
    const { stdout } = await startRecon(["doctor", "--json"], {
      DATABASE_URL: databaseUrl,
      REDIS_URL,
      ...environment,
    }).ended;
    return JSON.parse(stdout).checks.find(({ check }: { check: string }) => check === "redis");
  };
  expect(await doctor({ NODE_EXTRA_CA_CERTS: own.ca })).toMatchObject({ ok: true });
  expect(await doctor({})).toMatchObject({
    ok: false,
    found: expect.stringMatching(
      /cannot be used: its certificate is signed by an unknown authority .* NODE_EXTRA_CA_CERTS/,
    ),
  });
});

test("a Redis that ends TLS itself is worked with, and one that wants a certificate of ours is refused in words", async ({
  skip,
}) => {
  skip(!(await hasTls()), "this Redis was built without TLS");
  const port = await freePort();
  const files = [`tls-cert-file ${own.cert}`, `tls-key-file ${own.key}`, `tls-ca-cert-file ${own.ca}`];
  const { client } = await runRedis([`tls-port ${port}`, ...files, "tls-auth-clients no"]);
  const environment = {
    DATABASE_URL: databaseUrl,
    REDIS_URL: `rediss://127.0.0.1:${port}`,
    NODE_EXTRA_CA_CERTS: own.ca,
    OPS_PORT: "0",
  };
  startRecon(["worker"], environment);
  await eventually("it works", async () => (await sql`select from windows limit 1`).length > 0, 60_000);
  expect(await client.exists("bull:installation")).toBe(1);
  await client.config("SET", "tls-auth-clients", "yes");
  const { stdout } = await startRecon(["doctor", "--json"], environment).ended;
  const check = JSON.parse(stdout).checks.find(({ check }: { check: string }) => check === "redis");
  expect(check).toMatchObject({
    ok: false,
    found: expect.stringMatching(/asks for a client certificate,.* let it accept clients without one/i),
  });
});

test.each([
  ["a pipe", []],
  ["a terminal", ["script", "-qefc"]],
])("what BullMQ prints is a line of the log on %s", async (_, terminal) => {
  const { port } = await runRedis(["maxmemory-policy allkeys-lru"]);
  const command = [process.execPath, PROGRAM, "worker"];
  const [program = "", ...options] =
    terminal.length === 0 ? command : [...terminal, command.join(" "), "/dev/null"];
  const child = spawn(program, options, {
    env: {
      PATH: process.env["PATH"],
      DATABASE_URL: databaseUrl,
      REDIS_URL: `redis://127.0.0.1:${port}`,
      LOG_LEVEL: "info",
      OPS_PORT: "0",
    },
    stdio: ["ignore", "pipe", "pipe"],
  });
  onTestFinished(async () => {
    child.kill("SIGTERM");
    await once(child, "exit");
  });
  let said = "";
  for (const stream of [child.stdout, child.stderr])
    stream.on("data", (chunk: Buffer) => {
      said += chunk.toString();
    });
  await eventually("BullMQ has said it", () => said.includes("Eviction policy"), 60_000);
  const lines = said.split(/\r?\n/).filter((line) => line.includes("Eviction policy"));
  for (const line of lines) expect(JSON.parse(line)).toMatchObject({ from: "a library", level: 40 });
});

test.each([
  ["redis://a,b", /Redis Cluster is not supported/],
  ["redis://host/0?family=6", /has the parameter "family", which is not known/],
  ["rediss://host?tls_cert_file=/a", /has the parameter "tls_cert_file", which is not known/],
  ["redis+sentinel://host", /names no master/],
  ["redis://:pa#ss@host", /write % as %25/],
  ["redis://host/mine", /has "mine" as database/],
  ["http://host", /must be redis:\/\//],
])("%s is refused in words", (url, says) => {
  expect(() => readRedisUrl(url)).toThrow(says);
});
