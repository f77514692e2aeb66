/** Reports on request: one at a time, none without a caller, and none that takes connections from other work. */

import { EventEmitter } from "node:events";
import { performance } from "node:perf_hooks";
import { setTimeout as pause } from "node:timers/promises";
import type { FastifyReply } from "fastify";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import type { Clock } from "../../src/clock.ts";
import { parseConfig } from "../../src/config-file.ts";
import { openDatabase, openPools, PEOPLE_LIMITS, type Sql } from "../../src/db/client.ts";
import { appendEntries } from "../../src/ledger/store.ts";
import { silentLog } from "../../src/log.ts";
import { openReportQueue } from "../../src/ops/http/report-queue.ts";
import { startOpsServer } from "../../src/ops/server.ts";
import { startRecon } from "../cli/run-recon.ts";
import { createTestClock } from "../support/clock.ts";
import { useDatabase } from "../support/database.ts";
import { eventually } from "../support/eventually.ts";
import { exampleEntry, HOUR_MS, NOON } from "../support/examples.ts";
import { untilSomebodyWaits } from "../support/lock-wait.ts";

const { sql, url } = useDatabase();
const DAY = "/api/report?day=2026-11-20";

/** Locks the records, so that no report can end, until the test ends or `release` is called. */
async function holdRecords(): Promise<() => Promise<void>> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const held = Promise.withResolvers<void>();
  const ended = sql.begin(async (tx) => {
    await tx`lock table bet_records in access exclusive mode`;
    held.resolve();
    await promise;
  });
  await held.promise;
  const release = async () => {
    resolve();
    await ended;
  };
  onTestFinished(release);
  return release;
}

async function serve(through: Sql): Promise<string> {
  await appendEntries(sql, [exampleEntry()]);
  const config = parseConfig({ products: [{ productId: "P1" }] });
  const context = { sql: through, config, clock: createTestClock(NOON), log: silentLog };
  const server = await startOpsServer(context, { host: "127.0.0.1", port: 0, tokens: [] }, async () => {});
  onTestFinished(() => server.close());
  return server.url;
}

function spin(forMs: number): void {
  for (const since = performance.now(); performance.now() - since < forMs; );
}

const countWaiting = async () => {
  const [row] = await sql<{ count: number }[]>`
    select count(*) as count from pg_stat_activity
    where datname = current_database() and cardinality(pg_blocking_pids(pid)) > 0`;
  return row?.count ?? 0;
};

describe("a report", () => {
  test.each(["/api/report?day=2026-11-20", "/report?day=2026-11-20", "/report.csv?day=2026-11-20"])(
    "whose caller leaves is cancelled in the database (%s)",
    async (path) => {
      const server = await serve(sql);
      await holdRecords();
      const leaving = new AbortController();
      const asked = fetch(`${server}${path}`, { signal: leaving.signal }).catch(() => "left");
      await untilSomebodyWaits(sql);
      leaving.abort();
      expect(await asked).toBe("left");
      await eventually("nothing waits in the database any more", async () => (await countWaiting()) === 0);
    },
  );

  test("waits for the one before, and takes one connection", async () => {
    const server = await serve(sql);
    const release = await holdRecords();
    const asked = Array.from({ length: 5 }, () => fetch(`${server}${DAY}`));
    await untilSomebodyWaits(sql);
    expect(await countWaiting()).toBe(1);
    await release();
    for (const answer of await Promise.all(asked)) expect(answer.status).toBe(200);
  });

  test("that a reload leaves behind delays no other: the last request is answered", async () => {
    const server = await serve(sql);
    const release = await holdRecords();
    for (let reload = 0; reload < 20; reload += 1) {
      const leaving = new AbortController();
      const asked = fetch(`${server}${DAY}`, { signal: leaving.signal }).catch(() => "left");
      await untilSomebodyWaits(sql);
      leaving.abort();
      expect(await asked).toBe("left");
      await eventually("it is cancelled", async () => (await countWaiting()) === 0);
    }
    await release();
    expect((await fetch(`${server}${DAY}`)).status).toBe(200);
  });

  test("is refused if too many wait, and the error says how many and what to do", async () => {
    const server = await serve(sql);
    const release = await holdRecords();
    const asked = Array.from({ length: 12 }, () => fetch(`${server}${DAY}`));
    // One report is being made, ten wait, and none is answered yet.
    const refused = await Promise.race(asked);
    expect(refused.status).toBe(503);
    expect(await refused.json()).toMatchObject({
      detail: expect.stringMatching(/^10 reports wait already, which is the limit.*Try again in a minute/),
    });
    await release();
    const others = (await Promise.all(asked)).filter((answer) => answer !== refused);
    expect(others.map(({ status }) => status)).toEqual(Array(11).fill(200));
  });

  test("that waits too long for a lock says which limit it reached, and what to do", async () => {
    const pool = openDatabase(url, 2, { ...PEOPLE_LIMITS, lockMs: 200 });
    onTestFinished(() => pool.end());
    const server = await serve(pool);
    await holdRecords();
    const answer = await fetch(`${server}${DAY}`);
    expect(answer.status).toBe(503);
    expect(await answer.json()).toMatchObject({
      detail: expect.stringMatching(
        /other sessions have locked the needed rows for longer than the limit of 0\.2 s.*Try again/,
      ),
    });
    const page = await fetch(`${server}/report?day=2026-11-20`);
    expect(page.status).toBe(503);
    expect(await page.text()).toContain(
      "other sessions have locked the needed rows for longer than the limit of 0.2 s",
    );
  });

  test("whose statement takes too long says so, and is never half a report", async () => {
    const pool = openDatabase(url, 2, { statementMs: 200, lockMs: 5_000 });
    onTestFinished(() => pool.end());
    const server = await serve(pool);
    await holdRecords();
    const answer = await fetch(`${server}${DAY}`);
    expect(answer.status).toBe(503);
    expect(await answer.json()).toMatchObject({
      detail: expect.stringContaining("did not finish a statement within the limit of 0.2 s"),
    });
  });

  test.each([
    ["for a short time on an idle machine", false],
    ["eight times as long where the process works", true],
  ])("rests between its pieces of work: %s", async (_, isBusy) => {
    await appendEntries(sql, [exampleEntry()]);
    if (!isBusy) {
      // A machine that works for other processes interrupts this one, which then seems to work.
      const quiet = { idle: 100, active: 0, utilization: 0 };
      const measured = vi.spyOn(performance, "eventLoopUtilization").mockReturnValue(quiet);
      onTestFinished(() => measured.mockRestore());
    }
    let [workedMs, restedMs] = [0, 0];
    // Each reading of the time counts as a second of work.
    const clock: Clock = {
      now: () => {
        workedMs += 1_000;
        return NOON + workedMs + restedMs;
      },
      sleep: async (waitMs) => {
        restedMs += waitMs;
        const since = performance.now();
        await pause(1);
        // Half of the time, however long the pause became.
        if (isBusy) spin(performance.now() - since);
      },
    };
    const config = parseConfig({ products: [{ productId: "P1" }] });
    const queue = openReportQueue({ sql, config, clock, log: silentLog });
    const from = Date.parse("2026-11-20T00:00:00Z");
    const day = { day: "2026-11-20", zone: "UTC", from, to: from + 24 * HOUR_MS, isZoneAsked: true };
    await queue.read(day, { raw: new EventEmitter() } as unknown as FastifyReply);
    expect(restedMs).toBeGreaterThan(0);
    if (isBusy) expect(restedMs).toBeGreaterThan(workedMs);
    else expect(restedMs).toBeLessThan(workedMs);
  });

  test("of the command line ends in the database too on Ctrl-C", async () => {
    await appendEntries(sql, [exampleEntry()]);
    await holdRecords();
    const running = startRecon(["report", "--day", "2026-11-20"], { DATABASE_URL: url });
    await untilSomebodyWaits(sql);
    running.child.kill("SIGINT");
    expect(await running.ended).toMatchObject({
      code: 1,
      stdout: "",
      stderr: expect.stringContaining("stopped"),
    });
    await eventually("nothing waits in the database any more", async () => (await countWaiting()) === 0);
  });
});

test("the connections of a process are divided: users have a quarter, and no more", async () => {
  const pools = openPools(url, 20);
  onTestFinished(() => pools.close());
  expect([pools.work.options.max, pools.people.options.max]).toEqual([15, 5]);
  const smallest = openPools(url, 4);
  onTestFinished(() => smallest.close());
  expect([smallest.work.options.max, smallest.people.options.max]).toEqual([2, 2]);
});
