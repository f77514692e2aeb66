import { get } from "node:http";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { Fault } from "../../../src/sandbox/faults/fault.ts";
import { type Sandbox, startSandbox } from "../../../src/sandbox/server/server.ts";
import { isInvented } from "../../../src/sandbox/server/spoil-answer.ts";
import { createWorld } from "../../../src/sandbox/world/world.ts";
import {
  ask,
  askPage,
  askPages,
  CREDENTIALS,
  type Item,
  observe,
  parsePage,
  rangeOf,
  readPages,
  type TxnPage,
  written,
} from "../agent.ts";
import { HOUR, planOf, START } from "../plans.ts";
import { createStillClock } from "../still-clock.ts";

const RANGE = { from: START, to: START + HOUR };
const QUERY = rangeOf("SPORT", RANGE);
const QUIET = START + 3 * HOUR;
const PAGE_SIZE = 40;

const world = createWorld(planOf());
const RECORDS = written(world.recordsIn("SPORT", RANGE, QUIET));
/** More than three; the last one is not full. */
const PAGES = Math.ceil(RECORDS.length / PAGE_SIZE);
/** The content of page n without a fault. */
const pageOf = (page: number) => RECORDS.slice((page - 1) * PAGE_SIZE, page * PAGE_SIZE);

let clock = createStillClock(QUIET);
let sandbox: Sandbox;

beforeEach(() => {
  clock = createStillClock(QUIET);
});

afterEach(async () => {
  await sandbox.close();
});

async function start(...faults: Fault[]): Promise<void> {
  const place = { host: "127.0.0.1", port: 0 };
  sandbox = await startSandbox({
    ...CREDENTIALS,
    ...place,
    world,
    clock,
    waitingClock: clock,
    pageSize: PAGE_SIZE,
    faults,
  });
}

/** Lets the time pass that an answer is delayed, until the request is over. */
async function outlast<T>(asked: Promise<T>): Promise<T> {
  let over = false;
  const done = asked.finally(() => {
    over = true;
  });
  await vi.waitFor(
    () => {
      clock.wakeAll();
      expect(over).toBe(true);
    },
    { interval: 1, timeout: 180_000 },
  );
  return await done;
}

async function readAll(): Promise<TxnPage["data"][]> {
  return await readPages(sandbox.url, QUERY);
}

async function secondPage(): Promise<TxnPage> {
  const { data } = await askPage(sandbox.url, QUERY);
  return await askPage(sandbox.url, { ...QUERY, nextId: data.nextId ?? "" });
}

const idsOf = (items: readonly Item[]) => items.map(({ id }) => String(id));

describe("no answer, or a slow one", () => {
  it("hang: nothing comes, until the connection is dropped after two minutes", async () => {
    await start({ do: { kind: "hang" } });
    const asked = observe(sandbox.url, QUERY);
    await expect.poll(() => clock.sleeping()).toEqual([120_000]);
    clock.wakeAll();
    expect(await asked).toMatchObject({ status: null, whole: false });
  });

  it("drop: the connection ends before an answer", async () => {
    await start({ do: { kind: "drop" } });
    expect(await observe(sandbox.url, QUERY)).toMatchObject({ status: null, whole: false });
  });

  it("cut-short: half of the promised bytes come, then the connection ends", async () => {
    await start({ do: { kind: "cut-short" } });
    const { status, headers, body, whole } = await observe(sandbox.url, QUERY);
    expect({ status, whole }).toEqual({ status: 200, whole: false });
    expect(Buffer.byteLength(body)).toBe(Math.floor(Number(headers["content-length"]) / 2));
    expect(body).toMatch(/^\{"reqId":/);
  });

  it("drip: the headers come at once, then single bytes for two minutes", async () => {
    await start({ do: { kind: "drip" } });
    const { status, body, whole } = await outlast(observe(sandbox.url, QUERY));
    expect({ status, whole }).toEqual({ status: 200, whole: false });
    expect(body).toBe(" ".repeat(120));
  });

  it("slow: the correct answer comes after its delay", async () => {
    await start({ do: { kind: "slow", delay: "PT1.5S" } });
    const asked = askPage(sandbox.url, QUERY);
    await expect.poll(() => clock.sleeping()).toEqual([1500]);
    clock.wakeAll();
    expect((await asked).data.txns).toEqual(pageOf(1));
  });

  it("huge: the correct answer comes after megabytes of white space", async () => {
    await start({ do: { kind: "huge", megabytes: 3 } });
    const { headers, body, whole } = await observe(sandbox.url, QUERY);
    expect(whole).toBe(true);
    expect(headers["content-length"]).toBeUndefined();
    expect(body.length).toBeGreaterThan(3 * 1024 * 1024);
    expect(parsePage(body.trimStart()).data.txns).toEqual(pageOf(1));
  });

  it("huge: the whole answer is never in memory, and ends with its client", async () => {
    await start({ do: { kind: "huge", megabytes: 4096 } });
    const before = process.memoryUsage().rss;
    const options = { auth: `${CREDENTIALS.username}:${CREDENTIALS.password}` };
    const url = `${sandbox.url}/seamless/betTransactionsV2?${new URLSearchParams(QUERY)}`;
    const read = await new Promise<number>((resolve) => {
      let bytes = 0;
      get(url, options, (response) => {
        response.on("data", (chunk: Buffer) => {
          bytes += chunk.length;
          if (bytes > 64 * 1024 * 1024) response.destroy();
        });
        response.on("error", () => {});
        response.on("close", () => resolve(bytes));
      });
    });
    expect(read).toBeLessThan(80 * 1024 * 1024);
    expect(process.memoryUsage().rss - before).toBeLessThan(200 * 1024 * 1024);
  });
});

describe("an invalid answer", () => {
  it.each([200, 204, 302, 400, 401, 408, 429, 500, 503, 504])("status: HTTP %i", async (status) => {
    await start({ do: { kind: "status", status } });
    const observed = await observe(sandbox.url, QUERY);
    expect(observed).toMatchObject({ status, whole: true });
    expect(observed.headers["retry-after"]).toBeUndefined();
    if (status !== 204) expect(parsePage(observed.body).code).not.toBe("0");
  });

  it("status: with a Retry-After in seconds", async () => {
    await start({ do: { kind: "status", status: 429, retryAfter: 7 } });
    expect((await observe(sandbox.url, QUERY)).headers["retry-after"]).toBe("7");
  });

  it("status: with a Retry-After as an HTTP date, never earlier than the configured time", async () => {
    await start({ do: { kind: "status", status: 503, retryAfter: 7, retryAfterAs: "http-date" } });
    clock.setNow(Date.parse("2026-11-20T10:00:00.001Z"));
    const { headers } = await observe(sandbox.url, QUERY);
    expect(headers["retry-after"]).toBe("Fri, 20 Nov 2026 10:00:08 GMT");
  });

  it("code: HTTP 200 with this code, and no data", async () => {
    await start({ do: { kind: "code", code: -3, message: "come back later" } });
    const { status, body } = await observe(sandbox.url, QUERY);
    expect(status).toBe(200);
    expect(parsePage(body)).toMatchObject({ code: "-3", message: "come back later", data: null });
  });

  it("html: HTTP 200 with an HTML page", async () => {
    await start({ do: { kind: "html" } });
    const { status, headers, body } = await observe(sandbox.url, QUERY);
    expect(status).toBe(200);
    expect(headers["content-type"]).toMatch(/^text\/html/);
    expect(body).toMatch(/^<!doctype html>/);
  });

  it("half-json: a whole answer with the first half of the JSON", async () => {
    await start({ do: { kind: "half-json" } });
    const { status, headers, body, whole } = await observe(sandbox.url, QUERY);
    expect({ status, whole, type: headers["content-type"] }).toEqual({
      status: 200,
      whole: true,
      type: expect.stringMatching(/^application\/json/),
    });
    expect(body).toMatch(/^\{"reqId":/);
    expect(() => parsePage(body)).toThrow();
  });

  it.each([
    ["no-code", { message: "success", data: { txns: pageOf(1) } }],
    ["txns-not-array", { code: "0", data: { txns: { count: String(PAGE_SIZE) } } }],
    ["next-id-object", { code: "0", data: { txns: pageOf(1), nextId: { after: expect.any(String) } } }],
  ] as const)("wrong-envelope: %s", async (variant, envelope) => {
    await start({ do: { kind: "wrong-envelope", variant } });
    const { status, body } = await observe(sandbox.url, QUERY);
    expect(status).toBe(200);
    expect(parsePage(body)).toMatchObject(envelope);
    expect("code" in parsePage(body)).toBe(variant !== "no-code");
  });

  it("wrong-envelope: next-id-object, also if no next page exists", async () => {
    await start({ when: { page: PAGES }, do: { kind: "wrong-envelope", variant: "next-id-object" } });
    const last = (async () => {
      for await (const { nextId } of askPages(sandbox.url, QUERY))
        if (typeof nextId !== "string") return nextId;
      return undefined;
    })();
    expect(await last).toEqual({ after: null });
  });
});

describe("a wrong cursor", () => {
  it("cursor-loop: asked: the page has the nextId of its own request", async () => {
    await start({ do: { kind: "cursor-loop", variant: "asked" } });
    const { data } = await askPage(sandbox.url, QUERY);
    expect(data.txns).toEqual(pageOf(1));
    const second = await askPage(sandbox.url, { ...QUERY, nextId: data.nextId ?? "" });
    expect(second.data).toEqual({ nextId: data.nextId, txns: pageOf(2) });
  });

  it("cursor-loop: first: a later page has the nextId of page 1", async () => {
    await start({ when: { page: 3 }, do: { kind: "cursor-loop", variant: "first" } });
    const pages: TxnPage["data"][] = [];
    for await (const page of askPages(sandbox.url, QUERY)) if (pages.push(page) === 4) break;
    expect(pages.map(({ txns }) => txns)).toEqual([pageOf(1), pageOf(2), pageOf(3), pageOf(2)]);
    expect(pages[2]?.nextId).toBe(pages[0]?.nextId);
  });

  it.each([
    ["empty", []],
    ["repeated", pageOf(1)],
  ] as const)("endless-cursor: %s: each page leads to another one, without end", async (variant, txns) => {
    await start({ do: { kind: "endless-cursor", variant } });
    const seen = new Set<string>();
    for await (const page of askPages(sandbox.url, QUERY)) {
      expect(page.txns).toEqual(txns);
      if (seen.size === 30) break;
      expect(seen).not.toContain(page.nextId);
      seen.add(String(page.nextId));
    }
    expect(seen.size).toBe(30);
  });

  it("endless-cursor: after the fault, the pages continue where they stopped", async () => {
    await start({ when: { page: 2 }, do: { kind: "endless-cursor", variant: "empty" } });
    const pages = await readAll();
    expect(pages[1]?.txns).toEqual([]);
    expect(pages.flatMap(({ txns }) => txns)).toEqual(RECORDS);
  });

  it("expired-cursor: the nextId is refused, again and again, until the first page is requested", async () => {
    await start({ when: { page: 2, times: 1 }, do: { kind: "expired-cursor" } });
    const { data } = await askPage(sandbox.url, QUERY);
    const next = { ...QUERY, nextId: data.nextId ?? "" };
    for (const page of [await askPage(sandbox.url, next), await askPage(sandbox.url, next)]) {
      expect(page.code).not.toBe("0");
      expect(page.data).toBeNull();
    }
    expect(sandbox.requests().faults["expired-cursor"]).toBe(2);
    expect((await readAll()).flatMap(({ txns }) => txns)).toEqual(RECORDS);
  });

  it("expired-cursor: other ranges are not affected", async () => {
    await start({ when: { times: 1 }, do: { kind: "expired-cursor" } });
    expect((await secondPage()).code).not.toBe("0");
    const other = rangeOf("SPORT", { from: START, to: START + HOUR - 1 });
    const pages = await readPages(sandbox.url, other);
    expect(pages.length).toBeGreaterThan(2);
  });
});

describe("a page with too much", () => {
  it("repeat-records: the records of the previous page come again", async () => {
    await start({ when: { page: 2 }, do: { kind: "repeat-records" } });
    const pages = await readAll();
    expect(pages[1]?.txns).toEqual([...pageOf(1), ...pageOf(2)]);
    expect(pages[2]?.txns).toEqual(pageOf(3));
  });

  it("shift: some records come on two pages, and none is lost", async () => {
    await start({ do: { kind: "shift", records: 7 } });
    const pages = await readAll();
    for (const [index, { txns }] of pages.slice(1).entries()) {
      expect(txns.slice(0, 7)).toEqual(pages[index]?.txns.slice(-7));
    }
    expect([...new Set(pages.flatMap(({ txns }) => idsOf(txns)))]).toEqual(idsOf(RECORDS));
    expect(pages.length).toBeGreaterThan(PAGES);
  });

  it("shift: the pages end even when a page shifts by more records than it holds", async () => {
    await start({ when: { times: 40 }, do: { kind: "shift", records: 10_000 } });
    const pages = await readAll();
    expect([...new Set(pages.flatMap(({ txns }) => idsOf(txns)))]).toEqual(idsOf(RECORDS));
  });

  /** The one record on the first page that is no bet of the world. */
  async function inventedOf(action: Fault["do"]): Promise<Item> {
    await start({ when: { page: 1 }, do: action });
    const { data } = await askPage(sandbox.url, QUERY);
    const [invented, ...more] = data.txns.filter(({ id }) => isInvented(String(id)));
    expect(more).toEqual([]);
    expect(data.txns.filter((item) => item !== invented)).toEqual(pageOf(1));
    const again = await askPage(sandbox.url, QUERY);
    expect(again.data.txns).toContainEqual(invented);
    if (invented === undefined) throw new Error("nothing was invented");
    for (const field of ["id", "betId", "roundId"]) expect(invented[field]).toMatch(/^invented-/);
    return invented;
  }

  /** A record that is not one of the world's. */
  const GENUINE = {
    currency: "THB",
    accountingDate: "2026-11-20T10:00:00.000+07:00",
    updatedDate: "2026-11-20T10:00:00.000+07:00",
    stake: "10.5",
    payout: "21",
    productId: "SPORT",
    gameName: "Invented",
    betStatus: "SETTLED",
  };

  it("foreign-record: one more record, of another product", async () => {
    expect(await inventedOf({ kind: "foreign-record" })).toMatchObject({ ...GENUINE, productId: "LIVE" });
  });

  it("out-of-range: one more record, dated an hour before the range", async () => {
    const before = "2026-11-20T09:00:00.000+07:00";
    const record = await inventedOf({ kind: "out-of-range" });
    expect(record).toMatchObject({ ...GENUINE, accountingDate: before, updatedDate: before });
    expect(Object.keys(record).sort()).toEqual(Object.keys(pageOf(1)[0] ?? {}).sort());
  });

  it.each([
    ["field-missing", { currency: undefined }],
    ["amount-no-number", { payout: "twenty-one" }],
    ["date-without-offset", { accountingDate: "2026-11-20T10:00:00.000" }],
    ["unknown-status", { betStatus: "PENDING" }],
    ["nul-in-name", { gameName: "In\0vented" }],
  ] as const)("malformed-record: %s", async (variant, spoilt) => {
    const record = await inventedOf({ kind: "malformed-record", variant });
    expect({ currency: undefined, ...record }).toMatchObject({ ...GENUINE, ...spoilt });
  });

  it("malformed-record: amount-as-text", async () => {
    await inventedOf({ kind: "malformed-record", variant: "amount-as-text" });
    expect(await (await ask(sandbox.url, QUERY)).text()).toContain('"stake":"10.50"');
  });

  it("each page gets other invented records, so that none hides another", async () => {
    await start({ do: { kind: "malformed-record", variant: "field-missing" } });
    const invented = (await readAll()).flatMap(({ txns }) => idsOf(txns).filter(isInvented));
    expect(new Set(invented).size).toBe(PAGES);
  });

  it("no bet of the world has an id that looks invented", () => {
    const fields = RECORDS.flatMap(({ id, betId, roundId }) => [id, betId, roundId].map(String));
    expect(fields.filter(isInvented)).toEqual([]);
  });
});
