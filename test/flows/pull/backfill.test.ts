import { beforeEach, describe, expect, test } from "vitest";
import { type BetPageRequest, type BetRecord, REQUEST_URGENCIES } from "../../../src/bet.ts";
import { formatInstant, showInstant } from "../../../src/clock.ts";
import { watchConditions } from "../../../src/flows/alerts/watch-conditions.ts";
import type { PullContext } from "../../../src/flows/context.ts";
import {
  changeBackfill,
  findBackfill,
  listBackfillPage,
  planBackfill,
  requestBackfill,
} from "../../../src/flows/pull/backfill.ts";
import { rangeLimits } from "../../../src/flows/pull/fetch-window.ts";
import { openBackfillRunner } from "../../../src/flows/pull/run-backfills.ts";
import { readStatus } from "../../../src/flows/read/read-status.ts";
import { readPullProgress } from "../../../src/sync/progress-store.ts";
import { ensurePullState } from "../../../src/sync/pull-state-store.ts";
import { initialRange } from "../../../src/sync/range-control.ts";
import { BEYOND_ENDS_MS, LONGEST_WINDOW_MS, lengthOf, type TimeRange } from "../../../src/window.ts";
import { emptyTables, useDatabase } from "../../support/database.ts";
import { eventually } from "../../support/eventually.ts";
import { HOUR_MS, MINUTE_MS, NOON } from "../../support/examples.ts";
import { listedRecords, openPastWorld, PAGE_SIZE, PLAYED, PRODUCT } from "../../support/past-world.ts";
import { pullProduct } from "../../support/pull-product.ts";
import { runBackfills } from "../../support/run-backfills.ts";

const { sql } = useDatabase();
const never = new AbortController().signal;

beforeEach(async () => {
  await emptyTables(sql);
});

async function ask(context: PullContext, range: TimeRange = PLAYED) {
  return await requestBackfill(context, await planBackfill(context, { productId: PRODUCT, ...range }));
}

const run = (context: PullContext) => openBackfillRunner(context)(never);
const find = (context: PullContext, id: number) => findBackfill(context, String(id));
const change = (context: PullContext, id: number, to: "pause" | "resume" | "cancel") =>
  changeBackfill(context, String(id), to);

/** Hours of the played time, each as long as the longest window, counted from its beginning. */
const hours = (from: number, to: number): TimeRange => ({
  from: PLAYED.from + from * LONGEST_WINDOW_MS,
  to: PLAYED.from + to * LONGEST_WINDOW_MS,
});

const countRecords = async () => (await sql`select from bet_records`).length;
const pageOf = (asked: BetPageRequest | undefined) => JSON.stringify([asked?.from, asked?.to, asked?.nextId]);

describe("a backfill", () => {
  test("of time that was never fetched creates every record, and repeated changes none", async () => {
    const { context } = await openPastWorld(sql);
    const records = listedRecords().length;
    const first = await ask(context);
    expect(first).toMatchObject({
      status: "queued",
      windowsTotal: 4,
      windowsDone: 0,
      records: 0,
      startedAt: null,
    });
    await run(context);
    expect(await find(context, first.id)).toMatchObject({
      ...{ status: "done", windowsTotal: 4, windowsDone: 4, startedAt: NOON, endedAt: NOON },
      ...{ records, created: records, changed: 0, unchanged: 0 },
    });
    const second = await ask(context);
    await run(context);
    expect(await find(context, second.id)).toMatchObject({
      records,
      created: 0,
      changed: 0,
      unchanged: records,
    });
  });

  test("of time that was fetched while bets were open counts records that are new, changed and unchanged since", async () => {
    const { context, clock } = await openPastWorld(sql, { pull: { settleDelay: "PT0S" } });
    const early = PLAYED.from + 100 * MINUTE_MS;
    clock.set(early);
    const known = new Map(
      listedRecords({ ...PLAYED, to: early }, early).map((one) => [one.id, content(one)]),
    );
    await ask(context, { ...PLAYED, to: early });
    await run(context);

    clock.set(NOON);
    const listed = listedRecords();
    const created = listed.filter(({ id }) => !known.has(id)).length;
    const unchanged = listed.filter((one) => known.get(one.id) === content(one)).length;
    const changed = listed.length - created - unchanged;
    expect(Math.min(created, changed, unchanged)).toBeGreaterThan(10);
    const { id } = await ask(context);
    await run(context);
    expect(await find(context, id)).toMatchObject({ records: listed.length, created, changed, unchanged });
    expect(await sql`select from bet_record_versions`).toHaveLength(changed);
  });

  test("moves neither the head nor the watermark", async () => {
    const { context } = await openPastWorld(sql, { since: formatInstant(NOON - HOUR_MS) });
    await pullProduct(context, PRODUCT, never);
    const place = async () => {
      const { head, watermark, lagSeconds } = (await readStatus(context)).products[0] ?? {};
      return { head, watermark, lagSeconds };
    };
    const before = await place();
    await ask(context);
    await run(context);
    expect(await countRecords()).toBe(listedRecords().length);
    expect(await place()).toEqual(before);
  });

  test("has the least urgency: everything else comes first", async () => {
    const { context } = await openPastWorld(sql);
    const urgencies = new Set<string | undefined>();
    await ask(context, hours(0, 1));
    await run({
      ...context,
      fetchPage: (request, signal, urgency) => {
        urgencies.add(urgency);
        return context.fetchPage(request, signal);
      },
    });
    expect([...urgencies]).toEqual([REQUEST_URGENCIES.at(-1)]);
  });

  test("is planned in windows of the product's learned length", async () => {
    const { context } = await openPastWorld(sql);
    await pullProduct(context, PRODUCT, never);
    await sql`update pull_states set window_ms = ${25 * MINUTE_MS}`;
    const plan = await planBackfill(context, { productId: PRODUCT, ...hours(0, 1) });
    expect(plan.windowMs).toBe(25 * MINUTE_MS);
    expect(plan.windows.map(lengthOf)).toEqual([
      25 * MINUTE_MS,
      25 * MINUTE_MS,
      LONGEST_WINDOW_MS - 50 * MINUTE_MS,
    ]);
  });

  test("that is only planned knows how much was fetched before, and changes nothing", async () => {
    const { context } = await openPastWorld(sql);
    await ask(context, hours(0.5, 2.25));
    await run(context);
    const before = await sql`select * from windows`;
    const plan = await planBackfill(context, { productId: PRODUCT, ...hours(1, 4) });
    expect(plan).toMatchObject({ coveredMs: 1.25 * LONGEST_WINDOW_MS, windowMs: LONGEST_WINDOW_MS });
    expect(await sql`select * from windows`).toEqual(before);
    expect((await listBackfillPage(context, { limit: 10, after: null })).backfills).toHaveLength(1);
  });

  test("of time that has not settled yet, or of too many windows, is refused", async () => {
    const { context } = await openPastWorld(sql);
    const unsettled = { from: NOON - HOUR_MS, to: NOON - MINUTE_MS };
    await expect(ask(context, unsettled)).rejects.toMatchObject({
      code: "usage",
      message: expect.stringMatching(/^to "2026-11-20T11:59:00.000Z" .* 2026-11-20T11:58:00.000Z /),
    });
    const plan = (count: number) =>
      planBackfill(context, {
        productId: PRODUCT,
        from: PLAYED.to - count * LONGEST_WINDOW_MS,
        to: PLAYED.to,
      });
    await expect(plan(100_001)).rejects.toMatchObject({
      code: "usage",
      message: expect.stringContaining("100001 windows"),
    });
    expect((await plan(100_000)).windows).toHaveLength(100_000);
  });

  test("counts a record once, even if its window was split after a page", async () => {
    const { context } = await openPastWorld(sql, {
      faults: [{ when: { page: 2, longerThan: "PT20M" }, do: { kind: "status", status: 504 } }],
    });
    const records = listedRecords().length;
    const { id } = await ask(context);
    await run(context);
    expect(await find(context, id)).toMatchObject({
      status: "done",
      records,
      created: records,
      unchanged: 0,
    });
    const [split] = await sql`select count(*) from windows where status = 'split' and created > 0`;
    expect(split?.["count"]).toBeGreaterThan(0);
    const again = await ask(context);
    await run(context);
    expect(await find(context, again.id)).toMatchObject({ records, created: 0, unchanged: records });
  });
});

describe("several windows", () => {
  test("are fetched side by side, up to pull.concurrency, however many runs there are", async () => {
    const { context } = await openPastWorld(sql, { pull: { concurrency: 3, windowMax: "PT30M" } });
    let underWay = 0;
    const seen = new Set<number>();
    const full = Promise.withResolvers<void>();
    const { fetchPage } = context;
    const counted: PullContext["fetchPage"] = async (request, signal) => {
      underWay += 1;
      seen.add(underWay);
      if (underWay === 3) full.resolve();
      await full.promise;
      const page = await fetchPage(request, signal);
      underWay -= 1;
      return page;
    };
    const { id } = await ask(context);
    const runBackfills = openBackfillRunner({ ...context, fetchPage: counted });
    await Promise.all([runBackfills(never), runBackfills(never), runBackfills(never)]);
    expect(Math.max(...seen)).toBe(3);
    expect(await find(context, id)).toMatchObject({ status: "done", windowsDone: 8 });
  });

  test("of backfills that run together take turns", async () => {
    const { context, asked } = await openPastWorld(sql, { pull: { concurrency: 1 } });
    await ask(context, hours(0, 3));
    await ask(context, hours(3, 4));
    await run(context);
    const windows = asked.filter(({ nextId }) => nextId === null);
    expect(windows.map(({ from }) => (from + BEYOND_ENDS_MS - PLAYED.from) / LONGEST_WINDOW_MS)).toEqual([
      0, 3, 1, 2,
    ]);
  });

  test("are shared by two runners: each page is requested once, and every record is created once", async () => {
    const { context, asked } = await openPastWorld(sql, { pull: { concurrency: 2, windowMax: "PT10M" } });
    const { id } = await ask(context);
    const shares = [0, 0];
    await Promise.all(
      shares.map((_, runner) =>
        run({
          ...context,
          fetchPage: (request, signal) => {
            shares[runner] = (shares[runner] ?? 0) + 1;
            return context.fetchPage(request, signal);
          },
        }),
      ),
    );
    expect(Math.min(...shares)).toBeGreaterThan(0);
    expect(new Set(asked.map(pageOf)).size).toBe(asked.length);
    const records = listedRecords().length;
    expect(await find(context, id)).toMatchObject({
      status: "done",
      windowsDone: 24,
      records,
      created: records,
    });
  });
});

describe("a paused backfill", () => {
  test("commits no further page, keeps what was read, and continues there when it is resumed", async () => {
    const { context, asked } = await openPastWorld(sql, { pull: { concurrency: 1 } });
    const { id } = await ask(context);
    await run(whenAnswered(context, 3, () => change(context, id, "pause")));
    const requests = asked.length;
    const kept = await countRecords();
    expect([PAGE_SIZE, 2 * PAGE_SIZE]).toContain(kept);
    expect(await find(context, id)).toMatchObject({ status: "paused", windowsDone: 0, records: kept });

    await run(context);
    expect(asked).toHaveLength(requests);

    expect(await change(context, id, "resume")).toMatchObject({ status: "running", startedAt: NOON });
    await run(context);
    expect(asked.filter(({ nextId }) => nextId === null)).toHaveLength(4);
    const records = listedRecords().length;
    expect(await find(context, id)).toMatchObject({
      status: "done",
      records,
      created: records,
      unchanged: 0,
    });
  });

  test("that waited for its beginning waits again when it is resumed", async () => {
    const { context, asked } = await openPastWorld(sql);
    const { id } = await ask(context);
    await change(context, id, "pause");
    await run(context);
    expect(asked).toEqual([]);
    expect(await change(context, id, "resume")).toMatchObject({ status: "queued", startedAt: null });
  });
});

test("a cancelled backfill fetches nothing more, and the records that it read stay", async () => {
  const { context, asked } = await openPastWorld(sql, { pull: { concurrency: 1 } });
  const { id } = await ask(context);
  await run(whenAnswered(context, 3, () => change(context, id, "cancel")));
  const requests = asked.length;
  const kept = await countRecords();
  expect([PAGE_SIZE, 2 * PAGE_SIZE]).toContain(kept);
  await run(context);
  expect(asked).toHaveLength(requests);
  expect(await countRecords()).toBe(kept);
  expect(await find(context, id)).toMatchObject({
    ...{ status: "cancelled", endedAt: NOON, windowsTotal: 4, windowsDone: 0, records: kept, created: kept },
  });
  const windows = await sql`select distinct status, lease_token from windows`;
  expect(windows).toEqual([{ status: "cancelled", lease_token: null }]);
});

test("an impossible change, or one of an unknown backfill, is refused and changes nothing", async () => {
  const { context } = await openPastWorld(sql);
  const { id } = await ask(context, hours(3, 4));
  await run(context);
  const done = await find(context, id);
  await expect(change(context, id, "resume")).rejects.toMatchObject({
    code: "conflict",
    message: `backfill ${id} is done: it cannot be resumed`,
  });
  expect(await find(context, id)).toEqual(done);
  for (const unknown of ["99", "x", "1; drop", ""]) {
    const changing = changeBackfill(context, unknown, "pause");
    await expect(changing).rejects.toMatchObject({
      code: "not-found",
      message: `there is no backfill "${unknown}"`,
    });
  }
});

test("a backfill whose worker was killed between two pages continues after the last page, and doubles nothing", async () => {
  const { context, asked } = await openPastWorld(sql, { pull: { concurrency: 1 } });
  const { id } = await ask(context);
  const silence = Promise.withResolvers<void>();
  const killed = run(whenAnswered(context, 3, () => silence.promise));
  await eventually("two pages are committed", async () => (await countRecords()) === 2 * PAGE_SIZE);
  await sql`update windows set lease_until = clock_timestamp() - interval '1 second' where lease_token is not null`;

  await run(context);
  expect(pageOf(asked[3])).toBe(pageOf(asked[2]));
  expect(asked.filter(({ nextId }) => nextId === null)).toHaveLength(4);
  const records = listedRecords().length;
  const done = await find(context, id);
  expect(done).toMatchObject({ status: "done", records, created: records, unchanged: 0 });

  silence.resolve();
  await killed;
  expect(await find(context, id)).toEqual(done);
});

describe("a backfill that cannot be fetched", () => {
  const recovery = NOON + 10 * HOUR_MS;
  /** The second of its four hours. */
  const open = () =>
    openPastWorld(sql, {
      pull: { attempts: 2, windowMin: "PT30M" },
      faults: [
        {
          when: {
            touches: [
              formatInstant(PLAYED.from + 70 * MINUTE_MS),
              formatInstant(PLAYED.from + 100 * MINUTE_MS),
            ],
            between: [formatInstant(NOON), formatInstant(recovery)],
          },
          do: { kind: "status", status: 503 },
        },
      ],
    });

  test("keeps running and shows its gaps, which are retried when they are due", async () => {
    const { context, clock, asked } = await open();
    const { id } = await ask(context);
    await runBackfills(context, clock);
    expect(await find(context, id)).toMatchObject({
      ...{ status: "running", windowsDone: 3, gaps: 1, gapCode: "provider-server-error", endedAt: null },
    });
    const before = asked.length;
    await run(context);
    expect(asked).toHaveLength(before);
    clock.set(recovery);
    await run(context);
    const records = listedRecords().length;
    expect(await find(context, id)).toMatchObject({ status: "done", windowsDone: 4, gaps: 0, records });
  });

  test("has failed when a window was a gap pull.attempts times, and tries again when it is resumed", async () => {
    const { context, clock } = await open();
    const { id } = await ask(context);
    await runBackfills(context, clock);
    clock.advance(HOUR_MS);
    await runBackfills(context, clock);
    expect(await find(context, id)).toMatchObject({
      ...{ status: "failed", windowsDone: 3, windowsTotal: 4, gaps: 1, endedAt: clock.now() },
    });
    clock.set(recovery);
    await run(context);
    expect(await find(context, id)).toMatchObject({ status: "failed" });
    expect(await change(context, id, "resume")).toMatchObject({ status: "running", endedAt: null });
    await run(context);
    expect(await find(context, id)).toMatchObject({ status: "done", windowsDone: 4, gaps: 0 });
  });

  test("is alerted each time it has failed, until it is resumed or a later one has fetched what it lacks", async () => {
    const { context, clock } = await open();
    const reported = async () => {
      await watchConditions(context, []);
      return await sql<{ kind: string; productId: string; body: { what: string; toDo: string } }[]>`
        select kind, product_id as "productId", body from alerts where kind like 'backfill%' order by id`;
    };
    const kinds = async () => (await reported()).map(({ kind }) => kind);
    const fail = async () => {
      await runBackfills(context, clock);
      clock.advance(HOUR_MS);
      await runBackfills(context, clock);
    };
    const { id } = await ask(context);
    await runBackfills(context, clock);
    expect(await kinds()).toEqual([]);
    clock.advance(HOUR_MS);
    await runBackfills(context, clock);
    const range = `from ${showInstant(PLAYED.from)} to ${showInstant(PLAYED.to)}`;
    expect(await reported()).toMatchObject([
      {
        kind: "backfill-failed",
        productId: PRODUCT,
        body: {
          what: expect.stringMatching(
            `^backfill ${id} of ${PRODUCT} ${range} has failed: 1 window could not be fetched \\(.*503`,
          ),
          toDo: expect.stringContaining(`recon backfill resume ${id},`),
        },
      },
    ]);
    expect(await kinds()).toEqual(["backfill-failed"]);

    await change(context, id, "resume");
    expect(await kinds()).toEqual(["backfill-failed", "backfill-failed-over"]);
    await fail();
    expect(await kinds()).toEqual(["backfill-failed", "backfill-failed-over", "backfill-failed"]);

    clock.set(recovery);
    await ask(context, hours(2, 4));
    await run(context);
    expect(await kinds()).toHaveLength(3);
    await ask(context, hours(1, 2));
    await run(context);
    expect((await kinds()).at(-1)).toBe("backfill-failed-over");
    expect(await find(context, id)).toMatchObject({ status: "failed" });
  });
});

test("refused credentials stop the run, and no request follows before pull.every has passed", async () => {
  const { context, clock, asked } = await openPastWorld(sql, {
    pull: { concurrency: 2, every: "PT1M" },
    faults: [{ when: { times: 2 }, do: { kind: "status", status: 401 } }],
  });
  const { id } = await ask(context);
  const runBackfills = openBackfillRunner(context);
  await expect(runBackfills(never)).rejects.toMatchObject({ code: "provider-refused" });
  const before = asked.length;
  await runBackfills(never);
  expect(asked).toHaveLength(before);
  clock.advance(MINUTE_MS);
  await runBackfills(never);
  expect(await find(context, id)).toMatchObject({ status: "done" });
});

test("refused credentials stop the product of a backfill as they stop live pulling", async () => {
  const { context, clock, asked } = await openPastWorld(sql, {
    pull: { concurrency: 1, every: "PT1M" },
    faults: [{ when: { times: 1 }, do: { kind: "status", status: 401 } }],
  });
  const { id } = await ask(context);
  await ensurePullState(sql, PRODUCT, clock.now(), initialRange(rangeLimits(context)));
  const runBackfills = openBackfillRunner(context);
  await expect(runBackfills(never)).rejects.toMatchObject({ code: "provider-refused" });
  expect(await readPullProgress(sql)).toMatchObject([{ stoppedUntil: clock.now() + 60 * MINUTE_MS }]);
  clock.advance(59 * MINUTE_MS);
  await runBackfills(never);
  expect(asked).toHaveLength(1);
  clock.advance(MINUTE_MS);
  await runBackfills(never);
  expect(await find(context, id)).toMatchObject({ status: "done" });
});

/** The same context, in which something happens before the answer to the n-th request is read. */
function whenAnswered(context: PullContext, nth: number, happens: () => Promise<unknown>): PullContext {
  let count = 0;
  return {
    ...context,
    fetchPage: async (request, signal) => {
      const page = await context.fetchPage(request, signal);
      count += 1;
      if (count === nth) await happens();
      return page;
    },
  };
}

function content({ stake, payout, ...fields }: BetRecord): string {
  return JSON.stringify({ ...fields, stake: stake.toFixed(), payout: payout.toFixed() });
}
