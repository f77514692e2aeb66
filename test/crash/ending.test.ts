import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, inject, type TestContext, test } from "vitest";
import { formatInstant, systemClock } from "../../src/clock.ts";
import { exampleEnvelope, post } from "../callbacks/operator.ts";
import { CALLBACKS, WORKER } from "../simulation/crew.ts";
import { type ReconProcess, startRecon } from "../simulation/recon-process.ts";
import { useDatabase } from "../support/database.ts";
import { eventually } from "../support/eventually.ts";
import { CREDENTIALS } from "../support/http-provider.ts";
import { untilSomebodyWaits } from "../support/lock-wait.ts";
import { startTcpProxy, type TcpProxy } from "../support/tcp-proxy.ts";

const PASSWORD = "not to be seen";

const folder = mkdtempSync(join(tmpdir(), "recon-ending-"));
const config = join(folder, "recon.config.json");
writeFileSync(
  config,
  JSON.stringify({
    products: [{ productId: "P1", since: formatInstant(systemClock.now() - 3_600_000) }],
    pull: { every: "PT0.2S", settleDelay: "PT0S", concurrency: 2 },
    diff: { every: "PT0.5S" },
  }),
);

/** The requests to /silent, which the provider never answers. At other paths it has no records. */
let silentlyAsked = 0;
const provider = createServer(({ url }, response) => {
  if (url?.startsWith("/silent")) silentlyAsked += 1;
  else response.end('{"code":0,"data":{"txns":[],"nextId":""}}');
});
beforeAll(() => new Promise<void>((resolve) => provider.listen(0, "127.0.0.1", resolve)));
afterAll(() => {
  provider.closeAllConnections();
  provider.close();
  rmSync(folder, { recursive: true });
});

/** The services that a process needs. The test can take each of them away. */
interface Services {
  readonly database: TcpProxy;
  readonly redis: TcpProxy;
}

async function openServices(databaseUrl: string, { onTestFinished }: TestContext): Promise<Services> {
  const database = await startTcpProxy(databaseUrl);
  const redis = await startTcpProxy(inject("redisUrl"));
  onTestFinished(async () => {
    await database.close();
    await redis.close();
  });
  return { database, redis };
}

type Queues = "Redis" | "PostgreSQL";
let redisDatabases = 0;

function start(
  { name, awaited }: typeof WORKER,
  { database, redis }: Services,
  { onTestFinished }: TestContext,
  { queues = "PostgreSQL" as Queues, path = "" } = {},
): ReconProcess {
  // No test may see the jobs of another.
  redisDatabases += 1;
  const recon = startRecon(
    [name],
    {
      DATABASE_URL: database.url,
      ...(queues === "Redis" ? { REDIS_URL: `${redis.url}/${redisDatabases}` } : {}),
      PROVIDER_BASE_URL: `http://127.0.0.1:${(provider.address() as AddressInfo).port}${path}`,
      PROVIDER_USERNAME: CREDENTIALS.username,
      PROVIDER_PASSWORD: PASSWORD,
      RECON_CONFIG: config,
      OPS_PORT: "0",
      CALLBACK_PORT: "0",
      LOG_LEVEL: "info",
    },
    awaited,
  );
  onTestFinished(() => recon.kill("SIGKILL"));
  return recon;
}

/** @returns the log lines that say what was cut off */
async function expectToEnd(recon: ReconProcess, signal: "SIGTERM" | "SIGINT" = "SIGTERM"): Promise<string[]> {
  let code: number | null | undefined;
  void recon.ended.then((one) => {
    code = one;
  });
  recon.kill(signal);
  await eventually("it has ended", () => code !== undefined);
  expect({ code, said: recon.lastLines() }).toMatchObject({ code: 0 });
  expect(recon.lines.join("\n")).not.toContain(PASSWORD);
  return recon.lines.filter((line) => line.includes("cut off"));
}

async function untilSaid(recon: ReconProcess, what: RegExp): Promise<void> {
  await eventually(`it says ${what}`, () => recon.lines.some((line) => what.test(line)));
}

/** Something that happens to a worker right before it is asked to end. */
interface State {
  readonly state: string;
  readonly queues: Queues;
  readonly path?: string;
  /** the services are down at the start, and come up one after the other */
  readonly waitsAtFirst?: true;
  happen(services: Services, worker: ReconProcess): unknown;
}

const REFUSED = /ECONNREFUSED|broke|closed|terminated/i;
const goDown = async (proxy: TcpProxy, worker: ReconProcess) => {
  await proxy.refuse();
  await untilSaid(worker, REFUSED);
};
const STATES: readonly State[] = [
  {
    state: "without its database",
    queues: "PostgreSQL",
    happen: ({ database }, one) => goDown(database, one),
  },
  {
    state: "its database hanging, and a provider that never answers",
    queues: "PostgreSQL",
    path: "/silent",
    happen: async ({ database }) => {
      await eventually("the provider is asked", () => silentlyAsked > 0);
      database.hang();
    },
  },
  {
    state: "its database just back",
    queues: "PostgreSQL",
    happen: async ({ database }, one) => {
      await goDown(database, one);
      await database.restore();
    },
  },
  { state: "without Redis", queues: "Redis", happen: ({ redis }, one) => goDown(redis, one) },
  {
    state: "its Redis hanging, after a start that waited for its database and its Redis",
    queues: "Redis",
    waitsAtFirst: true,
    happen: ({ redis }) => redis.hang(),
  },
  {
    state: "its Redis just back",
    queues: "Redis",
    happen: async ({ redis }, one) => {
      await goDown(redis, one);
      await redis.restore();
    },
  },
];

const saysItWaits = (recon: ReconProcess, what: string) =>
  untilSaid(
    recon,
    new RegExp(`${what} at 127\\.0\\.0\\.1:\\d+ does not answer: .*ECONNREFUSED.* recon waits for`),
  );

async function refuseAll({ database, redis }: Services): Promise<void> {
  await database.refuse();
  await redis.refuse();
}

/** Each service comes up when the worker has said that it waits for it. */
async function comeUp({ database, redis }: Services, worker: ReconProcess): Promise<void> {
  await saysItWaits(worker, "the database \\w+");
  await database.restore();
  await saysItWaits(worker, "Redis");
  await redis.restore();
}

describe.concurrent.each(["PostgreSQL", "Redis"] as const)("queues in %s", (queues) => {
  const states = STATES.filter((one) => one.queues === queues).map((one) => ({ ...one, ...useDatabase() }));
  test.concurrent.for(states)(
    "a worker that is asked to end ends in good order: $state",
    async (state, context) => {
      const services = await openServices(state.url, context);
      if (state.waitsAtFirst) await refuseAll(services);
      const worker = start(WORKER, services, context, state);
      if (state.waitsAtFirst) await comeUp(services, worker);
      const { sql } = state;
      expect({ up: await worker.ready, said: worker.lastLines() }).toMatchObject({ up: true });
      await eventually("it pulls", async () => (await sql`select from pull_states`).length === 1);
      await state.happen(services, worker);
      expect((await expectToEnd(worker)).length).toBeLessThanOrEqual(1);
      expect(worker.lines.join("\n")).toContain("the worker ends");
    },
  );
});

describe.concurrent("a worker that waits for its database", () => {
  const { url } = useDatabase();

  test("says so, and ends when asked", async (context) => {
    const services = await openServices(url, context);
    await refuseAll(services);
    const worker = start(WORKER, services, context);
    await saysItWaits(worker, "the database \\w+");
    await expectToEnd(worker, "SIGINT");
    expect(worker.lines.join("\n")).toContain("before its start was complete");
  });
});

describe("recon callbacks", () => {
  const { url, sql } = useDatabase();

  test("waits for its database, ends although a callback waits for a lock, and logs that the callback is cut off", async (context) => {
    const services = await openServices(url, context);
    await services.database.refuse();
    const recon = start(CALLBACKS, services, context);
    await saysItWaits(recon, "the database \\w+");
    await services.database.restore();
    await untilSaid(recon, new RegExp(CALLBACKS.awaited));
    const [base = ""] = /http:\/\/127\.0\.0\.1:\d+/.exec(recon.lines.join("\n")) ?? [];
    await sql.begin(async (tx) => {
      await tx`lock table wallets`;
      const request = { ...exampleEnvelope("anna"), timestampMillis: Date.now() };
      const asked = post(base, "checkBalance", request).then(
        ({ json }) => json.statusCode,
        () => "no answer",
      );
      await untilSomebodyWaits(sql);
      expect(await expectToEnd(recon)).toHaveLength(1);
      // Nobody here knows the outcome; the caller asks again.
      expect(await asked).toBe("no answer");
    });
  });
});
