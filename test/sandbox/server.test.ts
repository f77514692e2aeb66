import { parse } from "lossless-json";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { Clock } from "../../src/clock.ts";
import { formatInstant } from "../../src/clock.ts";
import { type Sandbox, type SandboxOptions, startSandbox } from "../../src/sandbox/server.ts";
import { createWorld } from "../../src/sandbox/world.ts";
import type { TimeRange } from "../../src/window.ts";
import { HOUR, MINUTE, planOf, START } from "./plans.ts";

const RANGE: TimeRange = { from: START, to: START + HOUR };
const QUIET = START + 3 * HOUR;

interface Page {
  code: number;
  message: string;
  reqId: string;
  data: { nextId?: string; txns: Record<string, unknown>[] };
}

/** Time stands still; whoever sleeps is woken by the test or by his signal. */
function createStillClock() {
  const sleepers = new Set<() => void>();
  let now = QUIET;
  const clock: Clock = {
    now: () => now,
    sleep: (_, signal) =>
      new Promise((resolve) => {
        sleepers.add(resolve);
        signal?.addEventListener("abort", () => {
          sleepers.delete(resolve);
          resolve();
        });
      }),
  };
  return {
    clock,
    sleepers,
    setNow: (instant: number) => {
      now = instant;
    },
    wakeAll: () => {
      for (const wake of sleepers) wake();
    },
  };
}

let still = createStillClock();
let sandbox: Sandbox;
const world = createWorld(planOf());

async function start(changes: Partial<SandboxOptions> = {}): Promise<void> {
  sandbox = await startSandbox({
    world,
    clock: still.clock,
    host: "127.0.0.1",
    port: 0,
    username: "agent",
    password: "s3cret:with colon",
    pageSize: 100,
    slowness: null,
    ...changes,
  });
}

function ask(parameters: Record<string, string>, init: RequestInit = {}): Promise<Response> {
  const url = new URL(`${sandbox.url}/seamless/betTransactionsV2`);
  url.search = new URLSearchParams(parameters).toString();
  return fetch(url, { headers: { authorization: `Basic ${btoa("agent:s3cret:with colon")}` }, ...init });
}

function rangeOf(productId: string, { from, to }: TimeRange): Record<string, string> {
  return { productId, startTime: formatInstant(from), endTime: formatInstant(to) };
}

async function readPage(response: Response): Promise<Page> {
  expect(response.headers.get("content-type")).toMatch(/^application\/json/);
  return parse(await response.text(), null, (digits) => digits) as Page;
}

async function readAll(
  parameters: Record<string, string>,
  afterFirst: () => void = () => {},
): Promise<Page["data"]["txns"]> {
  const txns: Page["data"]["txns"] = [];
  let nextId: string | undefined;
  do {
    const page = await readPage(await ask(nextId === undefined ? parameters : { ...parameters, nextId }));
    expect(page.code).toBe("0");
    txns.push(...page.data.txns);
    nextId = page.data.nextId;
    afterFirst();
  } while (nextId !== undefined);
  return txns;
}

/** A record as the answer writes it, numbers as their text. */
function written(records: ReturnType<typeof world.recordsIn>): Record<string, unknown>[] {
  return records.map(({ extra: _, stake, payout, ...record }) => ({
    ...record,
    stake: stake.toFixed(),
    payout: payout.toFixed(),
  }));
}

beforeEach(() => {
  still = createStillClock();
});

afterEach(async () => {
  await sandbox.close();
});

describe("the stand-in provider", () => {
  it("gives each record once with every digit, over as many pages as it takes", async () => {
    await start();
    const txns = await readAll(rangeOf("LIVE", RANGE));
    expect(txns.length).toBeGreaterThan(300);
    const byKey = (records: Record<string, unknown>[]) =>
      new Map(records.map((record) => [String(record["id"]), record]));
    expect(byKey(txns)).toEqual(byKey(written(world.recordsIn("LIVE", RANGE, QUIET))));
    expect(new Set(txns.map(({ id }) => id)).size).toBe(txns.length);
    expect(sandbox.requests()).toMatchObject({ total: Math.ceil(txns.length / 100), refused: 0 });
  });

  it("answers a day at once", async () => {
    await start({ pageSize: 10_000 });
    const page = await readPage(await ask({ productId: "SPORT", date: "2026-11-20" }));
    expect(page.data.txns).toEqual(
      written(world.recordsIn("SPORT", { from: START - 10 * HOUR, to: START + 14 * HOUR }, QUIET)),
    );
    expect("nextId" in page.data).toBe(false);
    expect(page).toMatchObject({ code: "0", message: "success", reqId: expect.any(String) });
  });

  it("pages through what was there at the first page, while bets settle and new ones are placed", async () => {
    await start({ pageSize: 7 });
    const now = START + 30 * MINUTE;
    still.setNow(now);
    const txns = await readAll(rangeOf("SPORT", RANGE), () => still.setNow(still.clock.now() + 3 * MINUTE));
    expect(txns).toEqual(written(world.recordsIn("SPORT", RANGE, now)));
  });

  it.each([
    ["a product it does not have", { ...rangeOf("NONE", RANGE) }],
    ["more than an hour", { ...rangeOf("LIVE", { from: START, to: START + HOUR + 1 }) }],
    ["a nextId it never gave out", { ...rangeOf("LIVE", RANGE), nextId: "whatever" }],
  ])("refuses %s with a code other than 0", async (_, parameters) => {
    await start();
    const response = await ask(parameters);
    const page = await readPage(response);
    expect(response.status).toBe(200);
    expect(page.code).not.toBe("0");
    expect(page.data).toBeNull();
    expect(sandbox.requests()).toMatchObject({ answered: 0, refused: 1 });
  });

  it("refuses a nextId in another query than the one it came from", async () => {
    await start();
    const { data } = await readPage(await ask(rangeOf("LIVE", RANGE)));
    const shorter = rangeOf("LIVE", { from: START, to: START + HOUR - 1 });
    const page = await readPage(await ask({ ...shorter, nextId: data.nextId ?? "" }));
    expect(page.code).not.toBe("0");
  });

  it.each(["", "Basic", `Basic ${btoa("agent:wrong")}`, `Bearer ${btoa("agent:s3cret:with colon")}`])(
    "answers the credentials %j with 401, in the envelope",
    async (authorization) => {
      await start();
      const response = await ask(rangeOf("LIVE", RANGE), { headers: { authorization } });
      expect(response.status).toBe(401);
      expect((await readPage(response)).code).not.toBe("0");
      expect(sandbox.requests()).toMatchObject({ unauthorized: 1, answered: 0 });
    },
  );

  it("answers an unknown path with 404, in the envelope", async () => {
    await start();
    const headers = { authorization: `Basic ${btoa("agent:s3cret:with colon")}` };
    const response = await fetch(`${sandbox.url}/seamless/betTransactions`, { headers });
    expect(response.status).toBe(404);
    expect((await readPage(response)).message).toContain("GET /seamless/betTransactions");
    expect(sandbox.requests()).toMatchObject({ unknown: 1 });
  });

  it("names the address that it cannot have", async () => {
    await start();
    const port = Number(new URL(sandbox.url).port);
    const second = startSandbox({
      world,
      clock: still.clock,
      host: "127.0.0.1",
      port,
      username: "agent",
      password: "",
      pageSize: 1,
      slowness: null,
    });
    await expect(second).rejects.toMatchObject({
      code: "listen-failed",
      message: expect.stringContaining(`:${port}`),
    });
  });
});

describe("the provider's slow hours", () => {
  const slowHoursUtc = [3];
  const long = rangeOf("SLOT", { from: START + 30 * MINUTE, to: START + 90 * MINUTE });
  const short = rangeOf("SLOT", { from: START + 30 * MINUTE, to: START + 40 * MINUTE });
  const quick = rangeOf("SLOT", { from: START + HOUR, to: START + 2 * HOUR });

  it("answer long ranges with 504 at once, and short ones and other hours as always", async () => {
    await start({ slowness: { slowHoursUtc, longestMs: 10 * MINUTE, answer: 504 } });
    expect((await ask(long)).status).toBe(504);
    expect((await ask({ productId: "SLOT", date: "2026-11-20" })).status).toBe(504);
    expect((await ask(short)).status).toBe(200);
    expect((await ask(quick)).status).toBe(200);
    expect(sandbox.requests()).toMatchObject({ total: 4, answered: 2, troubled: 2 });
  });

  it("leave long ranges without an answer until the client goes away", async () => {
    await start({ slowness: { slowHoursUtc, longestMs: 10 * MINUTE, answer: "hang" } });
    const leaving = new AbortController();
    const asked = ask(long, { signal: leaving.signal });
    await vi.waitFor(() => expect(still.sleepers.size).toBe(1));
    leaving.abort();
    await expect(asked).rejects.toThrow();
    await vi.waitFor(() => expect(still.sleepers.size).toBe(0));
    expect(sandbox.requests()).toMatchObject({ total: 1, troubled: 1 });
  });

  it("free whoever waits very long with a 504", async () => {
    await start({ slowness: { slowHoursUtc, longestMs: 10 * MINUTE, answer: "hang" } });
    const asked = ask(long);
    await vi.waitFor(() => expect(still.sleepers.size).toBe(1));
    still.wakeAll();
    expect((await asked).status).toBe(504);
  });

  it("do not keep the provider from ending", async () => {
    await start({ slowness: { slowHoursUtc, longestMs: 10 * MINUTE, answer: "hang" } });
    const ended = ask(long).then(
      ({ status }) => status,
      () => "dropped",
    );
    await vi.waitFor(() => expect(still.sleepers.size).toBe(1));
    await sandbox.close();
    expect([504, "dropped"]).toContain(await ended);
    expect(still.sleepers.size).toBe(0);
  });
});
