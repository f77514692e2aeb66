import { execFile } from "node:child_process";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { promisify } from "node:util";
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { type JobQueue, openBackend, type QueueBackend } from "../../jobs/backend.ts";
import { ensureSchedules, schedulesFor } from "../../jobs/schedules.ts";
import { startWorker } from "../../jobs/worker.ts";
import { type Instant, systemClock } from "../../src/clock.ts";
import { openDatabase } from "../../src/db/client.ts";
import type { FlowContext, PullContext } from "../../src/flows/context.ts";
import { deliverCallbacks } from "../../src/flows/ledger/deliver-callbacks.ts";
import { readStatus } from "../../src/flows/read/read-status.ts";
import { appendEntries } from "../../src/ledger/store.ts";
import { silentLog } from "../../src/log.ts";
import { MISMATCH_STATUSES } from "../../src/mismatch.ts";
import { listMismatches, type StoredMismatch } from "../../src/mismatches/store.ts";
import { openProvider } from "../../src/provider/client.ts";
import type { PlantedFault } from "../../src/sandbox/world/world.ts";
import { emptyTables, useDatabase } from "../support/database.ts";
import { eventually } from "../support/eventually.ts";
import { exampleEntry, exampleSettle } from "../support/examples.ts";
import { CREDENTIALS, hang, useHttpProvider } from "../support/http-provider.ts";
import { QUEUE_PLACES } from "./queue-places.ts";
import { useSmallWorld } from "./small-world.ts";

const SCHEDULE_CHECK_MS = 200;
/** A process must start, work and end in this time, on a busy machine too. */
const A_MINUTE_MS = 60_000;
/** BullMQ alone opens about forty connections to PostgreSQL, each a process of the server. */
const MOST_CONNECTIONS = 12;
const run = promisify(execFile);
const small = useSmallWorld();
const provider = useHttpProvider();

describe.each(QUEUE_PLACES)("with the queues in $place", ({ open }) => {
  const database = useDatabase();
  const { sql } = database;
  const queues = open(database);
  const context = small.context(sql);

  afterEach(async () => {
    await eventually("every connection of every worker is closed", async () => {
      expect(await queues.connections()).toEqual([]);
      return true;
    });
    await queues.empty();
    await emptyTables(sql);
  });

  /** Starts a worker, and stops it at the end of the test. */
  async function start(changes: Partial<PullContext> = {}) {
    const connections = { redisUrl: queues.redisUrl(), databaseUrl: database.url };
    const worker = await startWorker({ ...context, ...changes }, connections, SCHEDULE_CHECK_MS);
    return { ...worker, [Symbol.asyncDispose]: () => worker.stop() };
  }

  test("a worker holds few connections, shows its queues in a browser, and at its end closes all connections of that page", async () => {
    await using worker = await start();
    await eventually("every product is pulled", () => isPulledSince(context, small.begin));
    const held = (await queues.connections()).length;
    expect(held).toBeGreaterThan(0);
    expect(held).toBeLessThanOrEqual(MOST_CONNECTIONS);
    const board = await worker.openBoard();
    const shown = (await board.inject("/queues/api/queues")).json();
    const names = shown.queues.map(({ name }: { name: string }) => name);
    expect(names).toEqual((await worker.countJobs()).map(({ queue }) => queue));
    expect((await board.inject("/queues/api/job-schedulers")).json().schedulers.length).toBeGreaterThan(0);
    await board.close();
  });

  test("two workers at the same time pull and compare every product, find exactly the planted faults, and do nothing twice", async () => {
    await fillLedger(context);
    const second = openDatabase(database.url, 5);
    onTestFinished(() => second.end());
    await using _one = await start();
    await using _other = await start({ sql: second });
    await eventually("the list is what was planted", () => expectPlanted(context));
    const [counted] = await sql`
      select (select count(*) from bet_records) as records, (select sum(created)::bigint from windows) as created,
        (select count(*) from bet_record_versions) as replaced,
        (select count(*) from mismatches) as mismatches, (select count(*) from mismatch_events) as changes`;
    expect(counted?.["created"]).toBe(counted?.["records"]);
    expect(counted?.["replaced"]).toBe(0);
    expect(counted?.["changes"]).toBe(counted?.["mismatches"]);
  });

  test("a confirm fetch does not wait for the next regular pull", async () => {
    await using _worker = await start({ config: small.config({ pullEvery: "PT1H" }) });
    await eventually("every product is pulled", () => isPulledSince(context, small.begin));
    await settleUnheardBet(context, "unheard");
    await eventually("the bet is confirmed as missing", () => hasUnheardBet(context, "unheard"));
  });

  test("a worker continues after its queues were emptied, which it fills again, and after every connection broke", async () => {
    await using _worker = await start();
    await eventually("every product is pulled", () => isPulledSince(context, small.begin));
    await queues.empty();
    await expectWorkGoesOn("unheard");
    expect(await readSchedules()).toEqual(ALL_EVERY_200_MS);
    await queues.breakDown();
    await expectWorkGoesOn("unheard either");
  });

  async function expectWorkGoesOn(bet: string): Promise<void> {
    const now = systemClock.now();
    await settleUnheardBet(context, bet);
    await eventually("every product is pulled on", () => isPulledSince(context, now));
    await eventually("the bet is found", () => hasUnheardBet(context, bet));
  }

  test("each product has its schedules, and a product that left the config has none", async () => {
    await (await start()).stop();
    expect(await readSchedules()).toEqual(ALL_EVERY_200_MS);
    await (await start({ config: small.config({ products: ["SPORT"], pullEvery: "PT7S" }) })).stop();
    expect(await readSchedules()).toEqual(["diff SPORT 200", "pull SPORT 7000"]);
  });

  describe("when the schedules are checked long after ticks were due", () => {
    const schedules = schedulesFor(small.config(), 200);
    const anHourOn = systemClock.now() + 3_600_000;
    let backend: QueueBackend;
    let queue: JobQueue;

    beforeEach(async () => {
      backend = openBackend(queues.redisUrl(), database.url, silentLog);
      queue = backend.openQueue("pull");
      // Not in the order in which the test checks them.
      await ensureSchedules(queue, schedules.toReversed(), systemClock.now());
    });
    afterEach(async () => {
      await queue.close();
      await backend.close();
    });

    const readProducts = async () => (await queue.getJobs()).map(({ data }) => data.productId).sort();

    test("ticks that wait for a free worker keep their places, and none is doubled", async () => {
      const inTurn = async () => (await queue.getWaiting()).map(({ data }) => data.productId);
      const waiting = await inTurn();
      expect(waiting).toEqual(["SPORT", "SLOT 2", "TABLE:1"]);
      await pause(5);
      for (let check = 0; check < 2; check++) await ensureSchedules(queue, schedules, anHourOn);
      expect(await inTurn()).toEqual(waiting);
      expect(await readProducts()).toHaveLength(3);
    });

    test("a tick that a killed worker had taken comes again", async () => {
      // Takes a tick as a worker does, up to the moment before it would schedule the next one.
      Object.assign(queue.opts, { lockDuration: 30_000 });
      const { backend: taking } = queue as unknown as {
        backend: { moveToActive(token: string): Promise<unknown> };
      };
      await taking.moveToActive("of a worker that died");
      expect(await queue.getActiveCount()).toBe(1);
      await ensureSchedules(queue, schedules, anHourOn);
      expect([...new Set(await readProducts())]).toEqual(["SLOT 2", "SPORT", "TABLE:1"]);
      expect((await queue.getDelayed()).length + (await queue.getWaiting()).length).toBe(3);
    });
  });

  /** "<queue> <product> <interval>" of each schedule. @throws Error if a job is queued for a product without a schedule */
  async function readSchedules(): Promise<string[]> {
    const backend = openBackend(queues.redisUrl(), database.url, silentLog);
    const schedules: string[] = [];
    for (const name of ["diff", "pull"]) {
      const queue = backend.openQueue(name);
      const schedulers = await queue.getJobSchedulers();
      const products = schedulers.map(({ template }) => String(template?.data?.productId));
      for (const { data } of await queue.getDelayed()) expect(products).toContain(data.productId);
      schedules.push(...schedulers.map(({ every }, index) => `${name} ${products[index]} ${every}`));
      await queue.close();
    }
    await backend.close();
    return schedules.sort();
  }

  test("a worker ends although a request hangs, and the next worker takes its work over at once", async () => {
    provider.answer(() => hang);
    const limits = { requestTimeoutMs: 3_600_000, connections: 8, production: false };
    const client = openProvider({ baseUrl: provider.url(), ...CREDENTIALS }, limits, systemClock);
    onTestFinished(() => client.close());
    const worker = await start({ fetchPage: client.fetchBetPage });
    await eventually("a request hangs", () => provider.asked.length > 0);
    // The request would hang for longer than any test may take.
    await Promise.all([worker.stop(), worker.stop()]);

    await using _next = await start();
    await eventually("every product is pulled", () => isPulledSince(context, small.begin));
  });

  test("a process ends by itself after its worker was stopped", async () => {
    const script = join(import.meta.dirname, "start-and-stop.ts");
    const { stdout } = await run(process.execPath, [script, database.url, queues.redisUrl() ?? ""], {
      timeout: 2 * A_MINUTE_MS,
    });
    expect(stdout).toBe("stopped");
  });

  test("without its queues a worker does not start, says so, and leaves nothing open", async () => {
    const { name, ...connections } = queues.unreachable();
    const failure = await startWorker(context, connections).catch((error: unknown) => error);
    expect(failure).toMatchObject({ code: "queue-unreachable", message: expect.stringContaining(name) });
    expect(String(failure)).not.toMatch(/hidden/);
  });
});

const ALL_EVERY_200_MS = ["diff", "pull"].flatMap((queue) =>
  ["SLOT 2", "SPORT", "TABLE:1"].map((product) => `${queue} ${product} 200`),
);

async function fillLedger(context: FlowContext): Promise<void> {
  await deliverCallbacks(context, small.world, small.begin, systemClock.now());
}

/** Throws while the open mismatches are not the planted ones. */
async function expectPlanted({ sql }: FlowContext): Promise<true> {
  const nameOf = (one: PlantedFault | StoredMismatch) =>
    [one.kind, one.productId, one.username, one.betId, one.transactionId].join(" ");
  const filter = {
    statuses: MISMATCH_STATUSES,
    kind: null,
    productId: null,
    username: null,
    limit: 1000,
    after: null,
  };
  const { mismatches } = await listMismatches(sql, filter);
  expect(mismatches.map(nameOf).sort()).toEqual(small.world.plantedBy(systemClock.now()).map(nameOf).sort());
  return true;
}

async function isPulledSince(context: FlowContext, since: Instant): Promise<boolean> {
  const { products } = await readStatus(context);
  return products.every(({ head }) => head !== null && Date.parse(head) > since);
}

/** A bet of this moment that the provider never had. */
async function settleUnheardBet({ sql }: FlowContext, txnId: string): Promise<void> {
  const at = systemClock.now();
  const bet = { productId: "SPORT", txnId, roundId: txnId, occurredAt: at, receivedAt: at };
  const entries = [exampleEntry(bet), exampleSettle(bet)];
  await appendEntries(sql, entries);
}

async function hasUnheardBet({ sql }: FlowContext, txnId: string): Promise<boolean> {
  const filter = { statuses: [], kind: null, productId: "SPORT", username: null, limit: 1000, after: null };
  const { mismatches } = await listMismatches(sql, filter);
  return mismatches.some((one) => one.transactionId === txnId && one.kind === "missing-at-provider");
}
