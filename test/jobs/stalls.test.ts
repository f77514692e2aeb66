/** Work that stalls in a running worker, and goes on again. */

import { beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { openBackend } from "../../jobs/backend.ts";
import { startWorker, type WorkerContext } from "../../jobs/worker.ts";
import { systemClock } from "../../src/clock.ts";
import { parseConfig } from "../../src/config-file.ts";
import { readHealth } from "../../src/flows/read/read-health.ts";
import { openOverview } from "../../src/flows/read/read-overview.ts";
import { readStatus } from "../../src/flows/read/read-status.ts";
import { type Log, silentLog } from "../../src/log.ts";
import { judgeHealth } from "../../src/ops/dashboard/overview/health-verdict.ts";
import { SECRET_PATH, useAlertListener } from "../support/alert-listener.ts";
import { emptyTables, useDatabase } from "../support/database.ts";
import { eventually } from "../support/eventually.ts";
import { startTcpProxy } from "../support/tcp-proxy.ts";
import { QUEUE_PLACES } from "./queue-places.ts";

const database = useDatabase();
const { sql } = database;
const redis = QUEUE_PLACES[0].open(database);
const beats = useAlertListener();
const BEAT_MS = 200;

/** How far the clock is moved forward. */
let ahead = 0;
const clock = { ...systemClock, now: () => systemClock.now() + ahead };
const config = parseConfig({
  products: [{ productId: "P1" }],
  pull: { every: "PT0.2S", settleDelay: "PT0S" },
  diff: { every: "PT0.2S" },
  alerts: { every: "PT0.2S" },
  verify: { every: "PT0.2S" },
  ledger: { relation: "casino.ledger" },
});
const lines: string[] = [];
const heardBy = (level: string) => (about: unknown, line?: string) =>
  lines.push(`${level} ${JSON.stringify(about)} ${line}`);
const log = Object.assign(Object.create(silentLog) as object, {
  child: () => log,
  warn: heardBy("warn"),
  error: heardBy("error"),
}) as unknown as Log;
const base = { sql, config, clock, log };

async function start(redisUrl: string | null): Promise<void> {
  const context: WorkerContext = {
    ...base,
    fetchPage: async () => ({ records: [], rejected: [], nextId: null, requestedAt: clock.now(), tookMs: 1 }),
    ask: () => Promise.reject(new Error("nothing is to be asked")),
    heartbeat: { url: beats.url(), everyMs: BEAT_MS },
  };
  const worker = await startWorker(context, { redisUrl, databaseUrl: database.url }, 200);
  onTestFinished(() => worker.stop());
}

const createView = () => sql`create view casino.ledger as select * from casino.log`;
const kinds = async () => {
  const rows = await sql<{ kind: string }[]>`select kind from alerts order by id`;
  return rows.map(({ kind }) => kind);
};
const problem = async () => (await readStatus(base)).comparing.problem;
const tone = async () => judgeHealth(await openOverview(base)()).tone;
const beatsAgain = async () => {
  const before = beats.heard.length;
  await eventually("it beats", () => beats.heard.length > before + 1);
};

/** The clock that the test moves does not move the queues' time: a tick of each minute would be waited for. */
async function runTickNow(name: string): Promise<void> {
  const backend = openBackend(redis.redisUrl(), database.url, silentLog);
  const queue = backend.openQueue(name);
  await queue.promoteJobs();
  await queue.close();
  await backend.close();
}

beforeEach(async () => {
  ahead = 0;
  lines.length = 0;
  await emptyTables(sql);
  await sql`drop schema if exists casino cascade`;
  await sql`create schema casino`;
  await sql`create table casino.log (like callback_entries including defaults)`;
  await createView();
  await sql`
    insert into casino.log (entry_id, callback, request_id, product_id, username, currency, txn_id, status,
      skip_balance_update, occurred_at, received_at)
    values ('e', 'placeBets', 'e', 'P1', 'anna', 'THB', 'e', 'OPEN', false, now(), now())`;
});

describe("the view of the ledger is dropped", () => {
  test("the stall is alerted, the status says what delays comparing, nothing counts as well, and the heartbeat stops; all of that ends when the view is back", async () => {
    await start(null);
    await eventually("all is well", async () => (await tone()) === "good");
    expect(await problem()).toBeNull();
    await beatsAgain();

    await sql`drop view casino.ledger`;
    await eventually("it is alerted", async () => (await kinds()).includes("ledger-unreadable"));
    const whatFailed = /^the ledger "casino.ledger" has not been read since .*no such table/;
    await eventually("the status names it", async () => whatFailed.test((await problem()) ?? ""));
    await eventually("nothing counts as well", async () => (await tone()) === "bad");
    await eventually("the heartbeat is held back", () =>
      lines.some((line) => line.includes("the heartbeat was not sent")),
    );
    const before = beats.heard.length;
    await new Promise((resolve) => setTimeout(resolve, 4 * BEAT_MS));
    expect(beats.heard.length).toBeLessThanOrEqual(before + 1);

    await createView();
    await eventually("it is over", async () => (await kinds()).includes("ledger-unreadable-over"));
    await eventually("all is well", async () => (await tone()) === "good");
    expect(await problem()).toBeNull();
    await beatsAgain();
    expect(await kinds()).toEqual(["ledger-unreadable", "ledger-unreadable-over"]);
  });

  test("rejected rows of the ledger are reported all the same", async () => {
    await start(null);
    await eventually("the ledger is read", async () => (await problem()) === null);
    await sql`drop view casino.ledger`;
    await sql`
      insert into rejected_entries (entry_digest, raw, reason, first_seen_at)
      values ('d', '{}', 'amount is no number', now())`;
    await eventually("they are reported", async () => (await kinds()).includes("rejected-entries"));
  });
});

describe("the heartbeat", () => {
  test("is one request, and an error about a service that refuses it names the setting, never the address", async () => {
    beats.answer((_, response) => response.writeHead(503).end());
    await start(null);
    await eventually("it is refused", () =>
      lines.some((line) => line.includes("HEARTBEAT_URL answered with HTTP 503")),
    );
    expect(lines.join("\n")).not.toContain(SECRET_PATH);
    beats.answer((_, response) => response.writeHead(302, { location: `${beats.url()}-elsewhere` }).end());
    await eventually("a redirect is not followed", () =>
      lines.some((line) => line.includes("HEARTBEAT_URL answered with HTTP 302")),
    );
    const heartbeat = async () => (await readHealth(base)).heartbeat;
    await eventually("the page about health names the error", async () =>
      ((await heartbeat()).finding?.what ?? "").includes("HEARTBEAT_URL answered with HTTP 302"),
    );
    beats.answer((_, response) => response.writeHead(200).end());
    await eventually("it is accepted", async () => (await heartbeat()).doneAt !== null);
    expect((await heartbeat()).finding).toBeNull();
  });
});

test("without Redis the worker reports stalls without a queue, the heartbeat stops, and all work continues when Redis is back", async () => {
  const proxy = await startTcpProxy(redis.redisUrl() ?? "");
  onTestFinished(() => proxy.close());
  await start(proxy.url);
  await eventually("all is well", async () => (await tone()) === "good");
  await proxy.refuse();
  // Minutes pass, and only the worker itself runs the alert job.
  const lookedAt = async () =>
    (await sql`select done_at from work_states where work = 'alerting'`)[0]?.["done_at"];
  for (let step = 0; step < 4; step += 1) {
    const before = Number(await lookedAt());
    ahead += 150_000;
    await eventually("it is looked for out of turn", async () => Number(await lookedAt()) > before + 100_000);
  }
  expect(await kinds()).toEqual(
    expect.arrayContaining(["queue-unserved", "comparing-stalled", "ledger-unreadable", "verifying-stalled"]),
  );
  expect(await tone()).toBe("bad");
  expect(await problem()).not.toBeNull();

  await proxy.restore();
  const isOver = async () => {
    const all = await kinds();
    const begun = all.filter((kind) => !kind.endsWith("-over"));
    return begun.every((kind) => all.includes(`${kind}-over`));
  };
  await eventually("everything goes on", isOver);
  await runTickNow("closing");
  await eventually("all is well", async () => (await tone()) === "good");
  await beatsAgain();
});
