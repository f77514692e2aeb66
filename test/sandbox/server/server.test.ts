import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type Sandbox, type SandboxOptions, startSandbox } from "../../../src/sandbox/server/server.ts";
import { createWorld } from "../../../src/sandbox/world/world.ts";
import type { TimeRange } from "../../../src/window.ts";
import {
  ask,
  askPage,
  askPages,
  CREDENTIALS,
  type Item,
  parsePage,
  rangeOf,
  type TxnPage,
  written,
} from "../agent.ts";
import { HOUR, MINUTE, planOf, START } from "../plans.ts";
import { createStillClock } from "../still-clock.ts";

const RANGE: TimeRange = { from: START, to: START + HOUR };
const QUIET = START + 3 * HOUR;

let clock = createStillClock(QUIET);
let sandbox: Sandbox;
const world = createWorld(planOf());

async function start(changes: Partial<SandboxOptions> = {}): Promise<void> {
  sandbox = await startSandbox({
    ...CREDENTIALS,
    world,
    clock,
    waitingClock: clock,
    host: "127.0.0.1",
    port: 0,
    pageSize: 100,
    ...changes,
  });
}

async function readPage(response: Response): Promise<TxnPage> {
  expect(response.headers.get("content-type")).toMatch(/^application\/json/);
  return parsePage(await response.text());
}

async function readAll(
  parameters: Record<string, string>,
  afterEach: () => void = () => {},
): Promise<Item[]> {
  const txns: Item[] = [];
  for await (const page of askPages(sandbox.url, parameters)) {
    txns.push(...page.txns);
    afterEach();
  }
  return txns;
}

beforeEach(() => {
  clock = createStillClock(QUIET);
});

afterEach(async () => {
  await sandbox.close();
});

describe("the stand-in provider", () => {
  it("gives each record once with every digit, over as many pages as needed", async () => {
    await start();
    const txns = await readAll(rangeOf("LIVE", RANGE));
    expect(txns.length).toBeGreaterThan(300);
    const byKey = (records: readonly Item[]) =>
      new Map(records.map((record) => [String(record["id"]), record]));
    expect(byKey(txns)).toEqual(byKey(written(world.recordsIn("LIVE", RANGE, QUIET))));
    expect(new Set(txns.map(({ id }) => id)).size).toBe(txns.length);
    expect(sandbox.requests()).toMatchObject({ total: Math.ceil(txns.length / 100), refused: 0 });
  });

  it("answers a day at once", async () => {
    await start({ pageSize: 10_000 });
    const page = await readPage(await ask(sandbox.url, { productId: "SPORT", date: "2026-11-20" }));
    expect(page.data.txns).toEqual(
      written(world.recordsIn("SPORT", { from: START - 10 * HOUR, to: START + 14 * HOUR }, QUIET)),
    );
    expect("nextId" in page.data).toBe(false);
    expect(page).toMatchObject({ code: "0", message: "success", reqId: expect.any(String) });
  });

  it("pages through the records of the first page's time, while bets settle and new ones are placed", async () => {
    await start({ pageSize: 7 });
    const now = START + 30 * MINUTE;
    clock.setNow(now);
    const txns = await readAll(rangeOf("SPORT", RANGE), () => clock.setNow(clock.now() + 3 * MINUTE));
    expect(txns).toEqual(written(world.recordsIn("SPORT", RANGE, now)));
  });

  it.each([
    ["a product that it lacks", { ...rangeOf("NONE", RANGE) }],
    ["more than an hour", { ...rangeOf("LIVE", { from: START, to: START + HOUR + 1 }) }],
    ["an unknown nextId", { ...rangeOf("LIVE", RANGE), nextId: "whatever" }],
  ])("refuses %s with a code other than 0", async (_, parameters) => {
    await start();
    const response = await ask(sandbox.url, parameters);
    const page = await readPage(response);
    expect(response.status).toBe(200);
    expect(page.code).not.toBe("0");
    expect(page.data).toBeNull();
    expect(sandbox.requests()).toMatchObject({ answered: 0, refused: 1 });
  });

  it("refuses a nextId in another query than its own", async () => {
    await start();
    const { data } = await askPage(sandbox.url, rangeOf("LIVE", RANGE));
    const shorter = rangeOf("LIVE", { from: START, to: START + HOUR - 1 });
    const page = await askPage(sandbox.url, { ...shorter, nextId: data.nextId ?? "" });
    expect(page.code).not.toBe("0");
  });

  it.each(["", "Basic", `Basic ${btoa("agent:wrong")}`, `Bearer ${btoa("agent:s3cret:with colon")}`])(
    "answers the credentials %j with 401, in the envelope",
    async (authorization) => {
      await start();
      const response = await ask(sandbox.url, rangeOf("LIVE", RANGE), { headers: { authorization } });
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

  it("names the address where it cannot listen", async () => {
    await start();
    const port = Number(new URL(sandbox.url).port);
    const second = startSandbox({ ...CREDENTIALS, world, clock, host: "127.0.0.1", port, pageSize: 1 });
    await expect(second).rejects.toMatchObject({
      code: "listen-failed",
      message: expect.stringContaining(`:${port}`),
    });
  });
});

describe("a provider with faults", () => {
  const slowHour = { hoursUtc: [3], longerThan: "PT10M" };
  const long = rangeOf("SLOT", { from: START + 30 * MINUTE, to: START + 90 * MINUTE });
  const short = rangeOf("SLOT", { from: START + 30 * MINUTE, to: START + 40 * MINUTE });
  const quick = rangeOf("SLOT", { from: START + HOUR, to: START + 2 * HOUR });

  it("strikes the requests that match its faults, including a whole day, and answers the others", async () => {
    await start({ faults: [{ when: slowHour, do: { kind: "status", status: 504 } }] });
    expect((await ask(sandbox.url, long)).status).toBe(504);
    expect((await ask(sandbox.url, { productId: "SLOT", date: "2026-11-20" })).status).toBe(504);
    expect((await ask(sandbox.url, short)).status).toBe(200);
    expect((await ask(sandbox.url, quick)).status).toBe(200);
    expect(sandbox.requests()).toMatchObject({ total: 4, answered: 2, faults: { status: 2, hang: 0 } });
  });

  it("strikes no request that it would refuse anyway", async () => {
    await start({ faults: [{ do: { kind: "drop" } }] });
    expect((await askPage(sandbox.url, rangeOf("NONE", RANGE))).code).not.toBe("0");
    expect((await ask(sandbox.url, long, { headers: {} })).status).toBe(401);
    expect(sandbox.requests()).toMatchObject({ refused: 1, unauthorized: 1, faults: { drop: 0 } });
  });

  it("forgets a hanging request when its client goes away", async () => {
    await start({ faults: [{ do: { kind: "hang" } }] });
    const leaving = new AbortController();
    const asked = ask(sandbox.url, long, { signal: leaving.signal });
    await expect.poll(() => clock.sleeping()).toHaveLength(1);
    leaving.abort();
    await expect(asked).rejects.toThrow();
    await expect.poll(() => clock.sleeping()).toEqual([]);
    expect(sandbox.requests()).toMatchObject({ total: 1, faults: { hang: 1 } });
  });

  it.each([{ kind: "hang" }, { kind: "drip" }, { kind: "slow", delay: "PT1H" }] as const)(
    "ends at once while a request waits: $kind",
    async (action) => {
      await start({ faults: [{ do: action }] });
      const asked = ask(sandbox.url, long).then(
        (response) => response.text().catch(() => "ended"),
        () => "ended",
      );
      await expect.poll(() => clock.sleeping()).toHaveLength(1);
      await sandbox.close();
      await asked;
      expect(clock.sleeping()).toEqual([]);
    },
  );

  it("does not start with malformed faults", async () => {
    await start();
    const faults = [{ when: { product: "NONE" }, do: { kind: "drop" as const } }];
    const wrong = startSandbox({
      ...CREDENTIALS,
      world,
      clock,
      host: "127.0.0.1",
      port: 0,
      pageSize: 1,
      faults,
    });
    await expect(wrong).rejects.toMatchObject({ code: "settings-invalid" });
  });
});
