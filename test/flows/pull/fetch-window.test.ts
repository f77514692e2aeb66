import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { formatInstant, type Instant } from "../../../src/clock.ts";
import { parseConfig } from "../../../src/config-file.ts";
import type { PullContext } from "../../../src/flows/context.ts";
import { planProduct } from "../../../src/flows/pull/plan-product.ts";
import { silentLog } from "../../../src/log.ts";
import { type RequestBudget, withinBudget } from "../../../src/provider/budget.ts";
import { openProvider, type ProviderClient } from "../../../src/provider/client.ts";
import { readCoverage } from "../../../src/sync/coverage-store.ts";
import { readPullProgress } from "../../../src/sync/progress-store.ts";
import { resumeStopped } from "../../../src/sync/pull-state-store.ts";
import { lengthOf, type TimeRange } from "../../../src/window.ts";
import { createTestClock, type TestClock } from "../../support/clock.ts";
import { emptyTables, useDatabase } from "../../support/database.ts";
import { eventually } from "../../support/eventually.ts";
import { HOUR_MS, MINUTE_MS, NOON } from "../../support/examples.ts";
import {
  betItem,
  body,
  CREDENTIALS,
  cutShort,
  drop,
  hang,
  page,
  pageBody,
  type ReceivedRequest,
  type Respond,
  status,
  useHttpProvider,
} from "../../support/http-provider.ts";
import { fetchNextWindow, pullProduct } from "../../support/pull-product.ts";

const { sql } = useDatabase();
const provider = useHttpProvider();
const never = new AbortController().signal;
const clients: ProviderClient[] = [];
let clock: TestClock;

beforeEach(async () => {
  await emptyTables(sql);
  clock = createTestClock(NOON);
});
afterEach(() => {
  for (const client of clients.splice(0)) client.close();
});

/** All time settles at once and nothing is fetched twice, except in tests about that. */
const EACH_INSTANT_ONCE = { settleDelay: "PT0S", overlap: "PT0S", resweepAfter: [] };

/**
 * A worker that pulls P1 since some hours before noon.
 * @param hanging how many of its first requests hang, with a short time-out; later requests have a long one
 */
function worker(hoursBehind: number, pull: Record<string, unknown> = {}, hanging = 0): PullContext {
  const parsed = parseConfig({
    products: [{ productId: "P1", since: formatInstant(NOON - hoursBehind * HOUR_MS) }],
    // Time that passes during a wait is not fetched before the next tick.
    pull: { ...EACH_INSTANT_ONCE, requestTimeout: "PT1M", every: "PT1H", ...pull },
  });
  // Windows of a whole hour give round times; this provider would answer longer ranges.
  const windowMax = pull["windowMax"] === undefined ? HOUR_MS : parsed.pull.windowMax;
  const config = { ...parsed, pull: { ...parsed.pull, windowMax } };
  const open = (requestTimeoutMs: number) => {
    const limits = { requestTimeoutMs, connections: 4, production: false };
    const client = openProvider({ baseUrl: provider.url(), ...CREDENTIALS }, limits, clock);
    clients.push(client);
    return client;
  };
  const [patient, impatient] = [open(config.pull.requestTimeout), open(500)];
  const fetchPage: PullContext["fetchPage"] = (request, signal) =>
    (provider.asked.length < hanging ? impatient : patient).fetchBetPage(request, signal);
  return { sql, config, clock, log: silentLog, fetchPage };
}

const pull = (context: PullContext, signal = never) => pullProduct(context, "P1", signal);

interface ListedBet {
  readonly at: Instant;
  readonly item: string;
}

function betsIn(range: TimeRange, everyMs: number): ListedBet[] {
  const bets: ListedBet[] = [];
  for (let at = range.from; at < range.to; at += everyMs) {
    const time = JSON.stringify(formatInstant(at));
    bets.push({ at, item: betItem({ id: `"${at}"`, accountingDate: time, updatedDate: time }) });
  }
  return bets;
}

/** What a healthy provider answers: the bets of the range, in chunks. A cursor counts the bets before it. */
function chunkOf(bets: readonly ListedBet[], asked: ReceivedRequest, size: number): Respond {
  const found = bets.filter(({ at }) => at >= asked.from && at < asked.to);
  const end = Number(asked.nextId ?? 0) + size;
  const items = found.slice(end - size, end).map(({ item }) => item);
  return page(items, end < found.length ? String(end) : undefined);
}

/** Gives these answers one after another, then empty pages for ever. */
function answerInTurn(...answers: Respond[]): void {
  const left = [...answers];
  provider.answer(() => left.shift() ?? page([]));
}

const SECONDS_2 = 2 / 60;
const minutesAsked = () => provider.asked.map(({ from, to }) => [minutesFromNoon(from), minutesFromNoon(to)]);
const cursorsAsked = () => provider.asked.map(({ nextId }) => nextId);
const minutesFromNoon = (at: Instant) => (at - NOON) / MINUTE_MS;

interface WindowRow extends TimeRange {
  readonly status: string;
  readonly code: string | null;
  readonly message: string | null;
  readonly isLeased: boolean;
  readonly pages: number;
  readonly records: number;
  readonly created: number;
}

const readWindows = () => sql<WindowRow[]>`
  select from_at as "from", to_at as "to", status, error_code as code, error_message as message,
    lease_token is not null as "isLeased", pages, records, created
  from windows order by from_at, to_at desc`;

const readFetched = async () => (await readWindows()).filter(({ status }) => status === "done");

async function readProgress() {
  const [progress] = await readPullProgress(sql);
  return progress;
}

async function countRecords(): Promise<number> {
  return (await sql`select from bet_records`).length;
}

/** Asserts that each instant of the range is in exactly one of the windows. */
function expectExactly(windows: readonly TimeRange[], range: TimeRange): void {
  const ends = windows.map(({ to }) => to);
  expect(windows.map(({ from }) => from)).toEqual([range.from, ...ends.slice(0, -1)]);
  expect(ends.at(-1)).toBe(range.to);
}

describe("a window", () => {
  test("is read page by page, and each page is committed with its records", async () => {
    const bets = betsIn({ from: NOON - HOUR_MS, to: NOON }, 6 * MINUTE_MS);
    provider.answer((asked) => chunkOf(bets, asked, 4));
    expect(await pull(worker(1))).toEqual({ windows: 1, records: 10, gaps: 0 });
    expect(cursorsAsked()).toEqual([null, "4", "8"]);
    expect(await readWindows()).toMatchObject([
      { status: "done", pages: 3, records: 10, created: 10, isLeased: false },
    ]);
    expect(await countRecords()).toBe(10);
  });

  test("is never longer than the provider allows, and never reaches time that has not settled", async () => {
    clock.set(NOON + 7 * MINUTE_MS);
    await pull(worker(2, { settleDelay: "PT2M" }));
    expect(minutesAsked()).toEqual([
      [-55, 5],
      [-115, -55],
      [-120, -115],
    ]);
  });

  test("near now begins an overlap before the head, and known records of the overlap change nothing", async () => {
    const bets = betsIn({ from: NOON - HOUR_MS, to: NOON + HOUR_MS }, MINUTE_MS);
    provider.answer((asked) => chunkOf(bets, asked, 100));
    const context = worker(1, { settleDelay: "PT2M", overlap: "PT5M" });
    await pull(context);
    clock.advance(MINUTE_MS);
    await pull(context);
    expect(minutesAsked().at(-1)).toEqual([-7, -1]);
    const latest = (await readWindows()).find(({ to }) => to === NOON - MINUTE_MS);
    expect(latest).toMatchObject({ records: 6, created: 1 });
    expect(await countRecords()).toBe(59);
  });

  test("keeps good records and stores each bad record once as rejected", async () => {
    const bad = betItem({ id: '"bad"', stake: '"1\\u0000"' });
    provider.answer(() => page([betItem(), bad, betItem({ id: '"rec-2"' })]));
    const context = worker(2);
    await pull(context);
    expect(await countRecords()).toBe(2);
    expect(await sql`select raw from rejected_records`).toEqual([{ raw: bad }]);
  });

  test("stays whole, however strange a record is", async () => {
    const strange = [
      { accountingDate: '"0001-01-01T00:00:00Z"' },
      { accountingDate: '"9999-12-31T23:59:59.9999999Z"' },
      { updatedDate: '"2026-11-20T23:00:00.123456789123456789+18:00"' },
      { updatedDate: '"0000-01-01T00:00:00Z"' },
      { stake: "-0.0", payout: `1${"0".repeat(59)}` },
      { stake: "1e-60" },
      { stake: "1e999999999" },
      { gameName: `"${"x".repeat(100_000)}"` },
      { roundId: `"${"é".repeat(256)}"`, betId: `"${"ü".repeat(256)}"`, username: `"${"ö".repeat(256)}"` },
      { betId: `"${randomText(3_000)}"` },
      { odds: "1e999", small: "1e-999", long: "9".repeat(1_000) },
      { odds: "1e1000000" },
      { nested: '{"a":[{"b":[{"c":[]}]}]}', "": '""', __proto__: "{}", '"\\': "null" },
      { deep: "[".repeat(3_000) + "]".repeat(3_000) },
      { deep: "[".repeat(64) + "]".repeat(64) },
      { note: '"\\ud83d"' },
      { note: '"\\\\u0000 \\\\ud83d"' },
    ].map((fields, i) => betItem({ id: `"strange-${i}"`, ...(fields as Record<string, string>) }));
    provider.answer(() => page([...strange, betItem()]));
    expect(await pull(worker(1))).toMatchObject({ windows: 1, gaps: 0 });
    const rejected = await sql`select from rejected_records`;
    expect((await countRecords()) + rejected.length).toBe(strange.length + 1);
    expect(await sql`select from bet_records where id = 'rec-1'`).toHaveLength(1);
  });
});

describe("an answer that is too slow", () => {
  test("is requested once more, then the window is halved until the provider can answer", async () => {
    const bets = betsIn({ from: NOON - HOUR_MS, to: NOON }, MINUTE_MS);
    provider.answer((asked) => (lengthOf(asked) > 20 * MINUTE_MS ? status(504) : chunkOf(bets, asked, 100)));
    await pull(worker(1));
    expect(minutesAsked()).toEqual([
      [-60, 0],
      [-60, 0],
      [-60, -30],
      [-60, -30],
      [-60, -45],
      [-45, -30],
      // 29 min 58 s, requested as 30 minutes, is shorter than what failed, so it is tried.
      [-30, -SECONDS_2],
      [-30, -SECONDS_2],
      [-30, -15 - SECONDS_2],
      [-15 - SECONDS_2, -2 * SECONDS_2],
      [-2 * SECONDS_2, -SECONDS_2],
      [-SECONDS_2, 0],
    ]);
    expectExactly(await readFetched(), { from: NOON - HOUR_MS, to: NOON });
    expect(await countRecords()).toBe(60);
  });

  test.each<[what: string, answer: Respond]>([
    ["no answer in time", hang],
    ["HTTP 408", status(408)],
    ["a dropped connection", drop],
    ["an answer cut short", cutShort(pageBody([betItem()]))],
    ["half a JSON", body(pageBody([betItem()]).slice(0, 100))],
  ])("halves the window in every form: %s", async (_, answer) => {
    answerInTurn(answer, answer);
    await pull(worker(1, {}, answer === hang ? 2 : 0));
    expect(minutesAsked()).toEqual([
      [-60, 0],
      [-60, 0],
      [-60, -30],
      [-30, 0],
    ]);
  });

  test("in the middle of a window leaves the pages read before, and both halves begin at their first page", async () => {
    const bets = betsIn({ from: NOON - HOUR_MS, to: NOON }, 10 * MINUTE_MS);
    provider.answer((asked) => (asked.nextId === "4" ? status(504) : chunkOf(bets, asked, 2)));
    await pull(worker(1));
    expect(cursorsAsked()).toEqual([null, "2", "4", "4", null, "2", null, "2"]);
    expect(await countRecords()).toBe(6);
    expect(await readWindows()).toMatchObject([
      { status: "split", created: 4 },
      { status: "done", created: 0, records: 3 },
      { status: "done", created: 2, records: 3 },
    ]);
  });

  test("makes the next windows shorter, and quick answers make them longer again", async () => {
    let isBusy = true;
    provider.answer((asked) => (isBusy && lengthOf(asked) > 20 * MINUTE_MS ? status(504) : page([])));
    const context = worker(2);
    await pull(context);
    const longest = (since: Instant) =>
      Math.max(...provider.asked.filter(({ from }) => from >= since).map((asked) => lengthOf(asked)));
    expect(longest(NOON - 2 * HOUR_MS)).toBe(HOUR_MS);
    const beforeIt = provider.asked.filter(({ to }) => to <= NOON - HOUR_MS).map((asked) => lengthOf(asked));
    expect(Math.max(...beforeIt)).toBeLessThan(HOUR_MS);
    isBusy = false;
    clock.advance(48 * HOUR_MS);
    await pull(context);
    expect(longest(NOON)).toBe(HOUR_MS);
    expectExactly(await readFetched(), { from: NOON - 2 * HOUR_MS, to: clock.now() });
  });
});

describe("a window that cannot be fetched", () => {
  const isBad = ({ from, to }: TimeRange) => from < NOON - 108 * MINUTE_MS && to > NOON - 112 * MINUTE_MS;

  test("becomes a gap with its reason at the shortest length, and pulling continues after it", async () => {
    const bets = betsIn({ from: NOON - 3 * HOUR_MS, to: NOON }, MINUTE_MS);
    provider.answer((asked) => (isBad(asked) ? status(504) : chunkOf(bets, asked, 100)));
    const context = worker(3, { windowMin: "PT15M", attempts: 3 });
    expect(await pull(context)).toMatchObject({ gaps: 1 });
    const windows = await readWindows();
    const gap = { from: NOON - 2 * HOUR_MS, to: NOON - 105 * MINUTE_MS };
    const message = expect.stringContaining("HTTP 504");
    expect(windows.filter(({ status }) => status === "gap")).toMatchObject([
      { ...gap, code: "provider-http-504", message, isLeased: false },
    ]);
    expect(await readProgress()).toMatchObject({ head: NOON, firstGapAt: gap.from });
    const filled = windows.filter(({ status }) => status === "done" || status === "gap");
    expectExactly(filled, { from: NOON - 3 * HOUR_MS, to: NOON });
  });

  test("is retried when it is due, not before, and then nothing is missing", async () => {
    const bets = betsIn({ from: NOON - 3 * HOUR_MS, to: NOON + HOUR_MS }, MINUTE_MS);
    let isMended = false;
    provider.answer((asked) => (!isMended && isBad(asked) ? status(504) : chunkOf(bets, asked, 100)));
    const context = worker(3, { windowMin: "PT15M", attempts: 3 });
    await pull(context);
    const asked = provider.asked.length;
    await pull(context);
    expect(provider.asked.slice(asked).filter(isBad)).toEqual([]);
    isMended = true;
    clock.advance(2 * MINUTE_MS);
    await pull(context);
    expect(await readProgress()).toMatchObject({ head: clock.now(), firstGapAt: null, gaps: 0 });
    expectExactly(await readFetched(), { from: NOON - 3 * HOUR_MS, to: clock.now() });
    expect(await countRecords()).toBe(bets.filter(({ at }) => at < clock.now()).length);
  });

  test.each<[what: string, answer: Respond, code: string, requests: number]>([
    ["HTTP 504", status(504), "provider-http-504", 3],
    ["HTTP 500", status(500), "provider-server-error", 3],
    ["a code other than 0", body('{"code":7,"message":"\\u0000 no"}'), "provider-rejected", 3],
    ["HTTP 429", status(429), "provider-throttled", 3],
    ["HTML", body("<html>\0</html>"), "provider-not-json", 4],
    ["no envelope", body("{}"), "provider-bad-envelope", 4],
    ["a cursor that leads to itself", page([], "c"), "cursor-loop", 2],
  ])("because of %s becomes a gap, if it cannot be halved", async (_, answer, code, requests) => {
    provider.answer(() => answer);
    const context = worker(1, { attempts: 3, windowMin: "PT45M" });
    expect(await pull(context)).toEqual({ windows: 1, records: 0, gaps: 1 });
    expect(await readWindows()).toMatchObject([{ status: "gap", code, from: NOON - HOUR_MS, to: NOON }]);
    expect(provider.asked).toHaveLength(requests);
  });

  test("because it has more pages than the limit becomes a gap", async () => {
    let count = 0;
    provider.answer(() => page([], `c${count++}`));
    await pull(worker(1, { maxPages: 3, attempts: 2, windowMin: "PT45M" }));
    expect(await readWindows()).toMatchObject([{ status: "gap", code: "page-limit" }]);
    expect(cursorsAsked().filter((cursor) => cursor === null)).toHaveLength(3);
    expect(provider.asked).toHaveLength(9);
  });

  test("is no such window if its pages are exactly the limit", async () => {
    answerInTurn(page([], "a"), page([], "b"), page([]));
    await pull(worker(1, { maxPages: 3 }));
    expect(await readWindows()).toMatchObject([{ status: "done", pages: 3 }]);
  });
});

describe("a failure that needs patience", () => {
  test("such as HTTP 500 is repeated with growing waits, for the same range", async () => {
    const asked: Instant[] = [];
    const answers = [status(500), status(502), status(503)];
    provider.answer(() => {
      asked.push(clock.now());
      return answers.shift() ?? page([]);
    });
    await pull(worker(1));
    expect(await readWindows()).toMatchObject([{ status: "done", from: NOON - HOUR_MS, to: NOON }]);
    const waits = asked.slice(1).map((at, i) => at - (asked[i] ?? 0));
    expect(waits).toHaveLength(3);
    for (const [i, waitMs] of waits.entries()) {
      expect(waitMs).toBeGreaterThanOrEqual(250 * 2 ** i);
      expect(waitMs).toBeLessThanOrEqual(500 * 2 ** i);
    }
  });

  test("such as HTTP 429 is repeated when the provider says", async () => {
    const asked: Instant[] = [];
    provider.answer(() => {
      asked.push(clock.now());
      return asked.length === 1 ? status(429, { "retry-after": "77" }) : page([betItem()]);
    });
    await pull(worker(1));
    expect(asked).toEqual([NOON, NOON + 77_000]);
    expect(await sql`select requested_at from bet_records`).toEqual([{ requested_at: NOON + 77_000 }]);
  });

  test("counts only in a row: rare failures on many pages make no gap", async () => {
    const oneOfEach = ["a", "b", "c", "d", undefined].flatMap((next) => [status(500), page([], next)]);
    answerInTurn(...oneOfEach);
    expect(await pull(worker(1, { attempts: 2 }))).toMatchObject({ gaps: 0 });
    expect(await readWindows()).toMatchObject([{ status: "done", pages: 5 }]);
  });

  test("such as refused credentials stops the product for an hour, or until a worker starts", async () => {
    provider.answer(() => status(401));
    const context = worker(1);
    await expect(pull(context)).rejects.toMatchObject({ code: "provider-refused" });
    expect(provider.asked).toHaveLength(1);
    expect(await readWindows()).toMatchObject([{ status: "planned", isLeased: false }]);
    expect(await pull(context)).toMatchObject({ windows: 0 });
    expect((await readPullProgress(sql))[0]?.stoppedUntil).toBe(NOON + HOUR_MS);
    expect(provider.asked).toHaveLength(1);

    clock.advance(HOUR_MS);
    await expect(pull(context)).rejects.toMatchObject({ code: "provider-refused" });
    await resumeStopped(sql);
    provider.answer(() => page([]));
    expect(await pull(context)).toMatchObject({ gaps: 0 });
    expect((await readPullProgress(sql))[0]?.stoppedUntil).toBeNull();
  });
});

describe("a cursor", () => {
  test("that the provider refuses makes the window begin again at its first page", async () => {
    answerInTurn(
      page([betItem()], "c2"),
      body('{"code":4,"message":"unknown cursor"}'),
      page([betItem()], "c3"),
    );
    expect(await pull(worker(1))).toEqual({ windows: 1, records: 1, gaps: 0 });
    expect(cursorsAsked()).toEqual([null, "c2", null, "c3"]);
    expect(await readWindows()).toMatchObject([{ status: "done", pages: 2, records: 1, created: 1 }]);
  });

  test("that comes a second time makes the window a gap, without the page that it came with; its retry is halved", async () => {
    provider.answer(({ nextId, from, to }) => {
      if (to - from < HOUR_MS) return page([betItem()]);
      return nextId === null ? page([], "a") : page([betItem()], nextId === "a" ? "b" : "a");
    });
    const context = worker(1);
    await pull(context);
    expect(cursorsAsked()).toEqual([null, "a", "b"]);
    expect(await readWindows()).toMatchObject([{ status: "gap", code: "cursor-loop", records: 0 }]);
    expect(await countRecords()).toBe(1);
    clock.advance(MINUTE_MS);
    await pull(context);
    const statuses = (await readWindows()).map(({ status }) => status);
    expect(statuses).toEqual(["split", "done", "done", "done"]);
  });

  test("that grew too old during a long wait is not sent, and the window counts as fetched since its new beginning", async () => {
    answerInTurn(page([], "a"), status(429, { "retry-after": "601" }));
    await pull(worker(1, { cursorMaxAge: "PT10M" }));
    expect(cursorsAsked()).toEqual([null, "a", null]);
    const hour = { from: NOON - HOUR_MS, to: NOON };
    expect(await readCoverage(sql, "P1", hour, NOON + 601_000)).toEqual([hour]);
  });
});

test("a cursor that grew too old while its request waited for a slot is not sent, and the window begins again", async () => {
  answerInTurn(page([], "a"), page([], "b"));
  const { fetchPage, ...context } = worker(1, { cursorMaxAge: "PT10M" });
  let waits = [0, 11 * MINUTE_MS];
  const budget: RequestBudget = {
    spend: async (_, request) => {
      const [waitMs = 0, ...rest] = waits;
      waits = rest;
      clock.advance(waitMs);
      return await request(null);
    },
  };
  await pull({ ...context, fetchPage: withinBudget(fetchPage, budget) });
  expect(cursorsAsked()).toEqual([null, null, "b"]);
  expect(await readWindows()).toMatchObject([{ status: "done", pages: 2 }]);
});

describe("a window that waits for its next attempt", () => {
  const bets = betsIn({ from: NOON - HOUR_MS, to: NOON }, MINUTE_MS);

  test("is not leased meanwhile, and its pass continues if the same process retries it", async () => {
    let left = 1;
    provider.answer((asked) => {
      if (asked.nextId === "25" && left-- > 0) return status(503);
      return chunkOf(bets, asked, 25);
    });
    const waited: boolean[] = [];
    const context = worker(1);
    const sleep = async (waitMs: number) => {
      waited.push((await readWindows()).every(({ isLeased }) => !isLeased));
      clock.advance(waitMs);
    };
    await pull({ ...context, clock: { now: () => clock.now(), sleep } });
    expect(waited).toEqual([true]);
    expect(cursorsAsked()).toEqual([null, "25", "25", "50"]);
    expect(await sql`select status, pages, records, resumed from windows`).toEqual([
      { status: "done", pages: 3, records: 60, resumed: false },
    ]);
  });

  test("keeps its count of failures, whichever process tries next", async () => {
    provider.answer(() => status(503));
    const limits = { attempts: 3, windowMin: "PT45M" };
    const context = worker(1, limits);
    for (let attempt = 1; attempt <= 3; attempt++) {
      await fetchNextWindow(context, "P1", ["live"], clock.now(), never);
      if (attempt === 1) await planProduct(context, "P1", clock.now());
      await fetchNextWindow(worker(1, limits), "P1", ["live"], clock.now(), never);
      clock.advance(2_000);
    }
    expect(provider.asked).toHaveLength(3);
    expect(await sql`select status, failures from windows`).toEqual([{ status: "gap", failures: 0 }]);
  });
});

describe("a worker that ends in the middle of a window", () => {
  const bets = betsIn({ from: NOON - HOUR_MS, to: NOON }, MINUTE_MS);

  /** Holds back the answer of the second page until the test releases it. */
  function holdSecondPage() {
    const held = Promise.withResolvers<() => void>();
    let isFirst = true;
    provider.answer((asked) => {
      const answer = chunkOf(bets, asked, 25);
      if (asked.nextId !== "25" || !isFirst) return answer;
      isFirst = false;
      return (response) => held.resolve(() => answer(response));
    });
    return held.promise;
  }

  test("leaves the window resumable: the next worker continues with the page that was under way", async () => {
    const context = worker(1);
    const ending = new AbortController();
    const held = holdSecondPage();
    const pulled = pull(context, ending.signal);
    await held;
    ending.abort();
    expect(await pulled).toMatchObject({ records: 0, gaps: 0 });
    expect(await readWindows()).toMatchObject([
      { status: "planned", isLeased: false, pages: 1, created: 25 },
    ]);
    clock.advance(1);
    await pull(context);
    const [hour] = await readFetched();
    expect(hour).toMatchObject({ pages: 3, records: 60, created: 60 });
    expect(provider.asked.filter(({ to }) => to === NOON).map(({ nextId }) => nextId)).toEqual([
      null,
      "25",
      "25",
      "50",
    ]);
    // Its first page is as old as the first worker's request.
    expect(await readCoverage(sql, "P1", { from: NOON - HOUR_MS, to: NOON }, NOON + 1)).toEqual([]);
  });

  test("leaves the cursor known, so the next worker recognises a cursor that leads to itself", async () => {
    const ending = new AbortController();
    provider.answer(() => {
      if (provider.asked.length === 1) return page([], "c");
      if (provider.asked.length > 2) return provider.asked.length === 3 ? page([betItem()], "c") : page([]);
      ending.abort();
      return hang;
    });
    await pull(worker(1), ending.signal);
    await pull(worker(1));
    expect(cursorsAsked()).toEqual([null, "c", "c"]);
    expect(await readWindows()).toMatchObject([{ status: "gap", code: "cursor-loop" }]);
    expect(await countRecords()).toBe(0);
  });

  test("and comes back after another worker has taken over writes nothing", async () => {
    const context = worker(1);
    const held = holdSecondPage();
    const pulled = pull(context);
    const lost = expect(pulled).rejects.toMatchObject({ code: "lease-lost" });
    const letGo = await held;
    // The second page is requested while the first is written.
    await eventually("the first page was written", async () => (await readWindows())[0]?.pages === 1);
    await sql`update windows set lease_until = clock_timestamp() - interval '1 second'`;
    await pull(context);
    const windows = await readWindows();
    expect(windows).toMatchObject([{ status: "done", pages: 3, records: 60, created: 60 }]);
    letGo();
    await lost;
    expect(await readWindows()).toEqual(windows);
    expect(await sql`select from bet_record_versions`).toHaveLength(0);
  });

  test("because a page could not be written leaves that page to the next worker", async () => {
    const context = worker(1);
    provider.answer((asked) => chunkOf(bets, asked, 25));
    await sql.unsafe(`
      create function refuse() returns trigger language plpgsql as $$ begin raise exception 'disk full'; end $$;
      create trigger refuse before insert on bet_records for each row
        when (new.id = '${bets[30]?.at}') execute function refuse()`);
    try {
      await expect(pull(context)).rejects.toThrow("disk full");
    } finally {
      await sql`drop function refuse cascade`;
    }
    expect(await readWindows()).toMatchObject([
      { status: "planned", isLeased: false, pages: 1, created: 25 },
    ]);
    await pull(context);
    expect(await readWindows()).toMatchObject([{ status: "done", pages: 3, records: 60, created: 60 }]);
  });

  test("leaves a cursor that is too old to be used: the window begins again", async () => {
    const context = worker(1, { cursorMaxAge: "PT10M" });
    const ending = new AbortController();
    const held = holdSecondPage();
    const pulled = pull(context, ending.signal);
    await held;
    ending.abort();
    await pulled;
    clock.advance(10 * MINUTE_MS + 1);
    await pull(context);
    expect(provider.asked.filter(({ to }) => to === NOON).map(({ nextId }) => nextId)).toEqual([
      null,
      "25",
      null,
      "25",
      "50",
    ]);
    expect((await readWindows())[0]).toMatchObject({ status: "done", pages: 3, records: 60, created: 60 });
  });
});

describe("for any behaviour of the provider", () => {
  const FAILURES: Readonly<Record<string, Respond>> = {
    "504": status(504),
    drop,
    "cut short": cutShort(pageBody([betItem()])),
    "500": status(500),
    html: body("<html>"),
    refusal: body('{"code":1}'),
  };
  const script = fc.array(
    fc.oneof(
      { weight: 3, arbitrary: fc.constant("answer") },
      { weight: 2, arbitrary: fc.constant("504") },
      { weight: 1, arbitrary: fc.constantFrom(...Object.keys(FAILURES)) },
    ),
    { maxLength: 40 },
  );

  test("every instant is fetched exactly once in the end, by any number of workers at the same time", async () => {
    const since = NOON - 150 * MINUTE_MS;
    const bets = betsIn({ from: since, to: NOON + 24 * HOUR_MS }, 5 * MINUTE_MS + 7);
    await fc.assert(
      fc.asyncProperty(script, fc.integer({ min: 1, max: 3 }), async (outcomes, workers) => {
        await emptyTables(sql);
        clock.set(NOON);
        const left = [...outcomes];
        provider.answer((asked) => FAILURES[left.shift() ?? "answer"] ?? chunkOf(bets, asked, 7));
        const contexts = Array.from({ length: workers }, () =>
          worker(2.5, { windowMin: "PT10M", attempts: 2 }),
        );
        for (let run = 0; run < 20; run++) {
          await Promise.all(contexts.map((context) => pull(context)));
          const progress = await readProgress();
          if (progress?.head === clock.now() && progress.gaps === 0) break;
          clock.advance(5 * MINUTE_MS);
        }
        const end = clock.now();
        expectExactly(await readFetched(), { from: since, to: end });
        expect(await countRecords()).toBe(bets.filter(({ at }) => at < end).length);
        expect(await sql`select from bet_record_versions`).toHaveLength(0);
      }),
      { numRuns: 12 },
    );
  });
});

function randomText(length: number): string {
  return Array.from({ length }, (_, i) => String.fromCodePoint(0x4e00 + ((i * 7919) % 20_000))).join("");
}
