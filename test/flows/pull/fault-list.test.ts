import { beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { formatInstant, type Instant } from "../../../src/clock.ts";
import { parseConfig } from "../../../src/config-file.ts";
import type { PullContext } from "../../../src/flows/context.ts";
import { silentLog } from "../../../src/log.ts";
import { openProvider } from "../../../src/provider/client.ts";
import { FAULT_KINDS, type Fault } from "../../../src/sandbox/faults/fault.ts";
import { type Sandbox, startSandbox } from "../../../src/sandbox/server/server.ts";
import { createWorld } from "../../../src/sandbox/world/world.ts";
import { LONGEST_WINDOW_MS } from "../../../src/window.ts";
import { CREDENTIALS, written } from "../../sandbox/agent.ts";
import { auditPull } from "../../simulation/pull-audit.ts";
import { createTestClock, type TestClock } from "../../support/clock.ts";
import { emptyTables, useDatabase } from "../../support/database.ts";
import { HOUR_MS, MINUTE_MS, NOON } from "../../support/examples.ts";
import { pullProduct } from "../../support/pull-product.ts";

/** The product has the records of one longest window, on many pages. At noon all of them exist. */
const PRODUCT = "TABLE";
const PAGE_SIZE = 10;
const HOUR_BEFORE_NOON = { from: NOON - LONGEST_WINDOW_MS, to: NOON };
const world = createWorld({
  seed: 3,
  periods: [{ from: HOUR_BEFORE_NOON.from, to: NOON - 10 * MINUTE_MS }],
  products: [
    { productId: PRODUCT, style: "table", roundsPerMinute: 0.4 },
    { productId: "SLOT", style: "slot", roundsPerMinute: 1 },
  ],
  players: 10,
  lateSettlementMs: MINUTE_MS,
  callbackLagMs: 1_000,
  reportLagMs: 1_000,
  faultEveryMinutes: 0,
});
const RECORDS = world.recordsIn(PRODUCT, HOUR_BEFORE_NOON, NOON);
const PAGES = Math.ceil(RECORDS.length / PAGE_SIZE);

/** A lasting fault is over at this time. */
const OVER = NOON + 10 * MINUTE_MS;
const LASTS = { between: [formatInstant(HOUR_BEFORE_NOON.from), formatInstant(OVER)] as [string, string] };

const { sql } = useDatabase();
const never = new AbortController().signal;
let clock: TestClock;
let sandbox: Sandbox;
/** the time of each request */
let asked: Instant[];

beforeEach(async () => {
  await emptyTables(sql);
  clock = createTestClock(NOON);
  asked = [];
});

async function provider(...faults: Fault[]): Promise<void> {
  sandbox = await startSandbox({
    ...CREDENTIALS,
    world,
    clock,
    host: "127.0.0.1",
    port: 0,
    pageSize: PAGE_SIZE,
    faults,
  });
  onTestFinished(() => sandbox.close());
}

/**
 * Pulls the product as a worker does; waits take no time.
 * @param struck how many of its first requests are answered too late, and given up soon
 */
async function pull(settings: Record<string, unknown> = {}, struck = Number.POSITIVE_INFINITY) {
  const config = parseConfig({
    products: [{ productId: PRODUCT, since: formatInstant(HOUR_BEFORE_NOON.from) }],
    pull: {
      requestTimeout: "PT1M",
      windowMin: "PT29M59S",
      attempts: 2,
      maxPages: PAGES + 5,
      settleDelay: "PT0S",
      overlap: "PT0S",
      resweepAfter: [],
      ...settings,
    },
  });
  const open = (requestTimeoutMs: number) => {
    const limits = { requestTimeoutMs, connections: 4, production: false };
    const client = openProvider({ baseUrl: sandbox.url, ...CREDENTIALS }, limits, clock);
    onTestFinished(() => client.close());
    return client;
  };
  const [impatient, patient] = [open(config.pull.requestTimeout), open(MINUTE_MS)];
  const fetchPage: PullContext["fetchPage"] = (request, signal) => {
    asked.push(clock.now());
    return (asked.length <= struck ? impatient : patient).fetchBetPage(request, signal);
  };
  return await pullProduct({ sql, config, clock, log: silentLog, fetchPage }, PRODUCT, never);
}

async function expectEverythingOnce(to = NOON): Promise<void> {
  const range = { from: HOUR_BEFORE_NOON.from, to };
  const audit = await auditPull(sql, new Map([[PRODUCT, written(RECORDS)]]), range);
  expect(audit).toMatchObject({ planted: RECORDS.length, found: RECORDS.length, precision: 1, problems: [] });
}

const readGaps = () => sql<{ seconds: number; code: string }[]>`
  select error_code as code, extract(epoch from to_at - from_at)::int as seconds
  from windows where status = 'gap' order by from_at`;

const KILOBYTES_OF_A_GIGABYTE = 1_048_576;

/** Short enough for a test to wait, and long enough for an answer on a busy machine. */
const SHORT = { requestTimeout: "PT0.25S" };
const LONGER = { requestTimeout: "PT2S" };

/** What the provider does, and the error code that results. */
const TOO_SLOW: [what: string, fault: Fault["do"], code: string, settings?: Record<string, unknown>][] = [
  ["no answer in time", { kind: "hang" }, "provider-timeout", SHORT],
  ["an answer that only drips", { kind: "drip" }, "provider-drip", LONGER],
  ["HTTP 408", { kind: "status", status: 408 }, "provider-http-408"],
  ["HTTP 504", { kind: "status", status: 504 }, "provider-http-504"],
  ["a dropped connection", { kind: "drop" }, "provider-dropped"],
  ["a body cut short", { kind: "cut-short" }, "provider-cut-short"],
  ["half of the JSON", { kind: "half-json" }, "provider-cut-short"],
];
const FAILED: typeof TOO_SLOW = [
  ["HTTP 429", { kind: "status", status: 429 }, "provider-throttled"],
  ["HTTP 429 for so many seconds", { kind: "status", status: 429, retryAfter: 7 }, "provider-throttled"],
  [
    "HTTP 429 until a date",
    { kind: "status", status: 429, retryAfter: 7, retryAfterAs: "http-date" },
    "provider-throttled",
  ],
  ["HTTP 500", { kind: "status", status: 500 }, "provider-server-error"],
  ["HTTP 502", { kind: "status", status: 502 }, "provider-server-error"],
  ["HTTP 503", { kind: "status", status: 503 }, "provider-server-error"],
  ["HTTP 503 for so many seconds", { kind: "status", status: 503, retryAfter: 7 }, "provider-throttled"],
  ["HTTP 404", { kind: "status", status: 404 }, "provider-bad-status"],
  ["a redirect", { kind: "status", status: 302 }, "provider-bad-status"],
  ["a code other than 0", { kind: "code", code: 99, message: "please try again later" }, "provider-rejected"],
  ["HTML", { kind: "html" }, "provider-not-json"],
  ["an envelope without a code", { kind: "wrong-envelope", variant: "no-code" }, "provider-bad-envelope"],
  [
    "an envelope whose txns are no list",
    { kind: "wrong-envelope", variant: "txns-not-array" },
    "provider-bad-envelope",
  ],
  [
    "an envelope whose nextId is no text",
    { kind: "wrong-envelope", variant: "next-id-object" },
    "provider-bad-envelope",
  ],
  ["a nextId that leads to its own page", { kind: "cursor-loop", variant: "asked" }, "cursor-loop"],
  ["a nextId that leads back to the second page", { kind: "cursor-loop", variant: "first" }, "cursor-loop"],
  ["empty pages without end", { kind: "endless-cursor", variant: "empty" }, "page-limit"],
  ["the same page without end", { kind: "endless-cursor", variant: "repeated" }, "page-limit"],
  ["a nextId that has expired", { kind: "expired-cursor" }, "provider-rejected"],
  ["an answer of 200 MB", { kind: "huge", megabytes: 200 }, "provider-too-large"],
];

describe.each([...TOO_SLOW, ...FAILED])("%s", (_, fault, code, settings = {}) => {
  const isHalved = code !== "provider-throttled" && code !== "cursor-loop";
  const given = isHalved ? "each half of the hour" : "the whole hour";

  test(`for a moment: everything is stored once`, async () => {
    await provider({ when: { times: 1 }, do: fault });
    // A cursor loop is a gap at once, which is retried after a minute.
    const isGap = code === "cursor-loop";
    expect(await pull(settings, 1)).toMatchObject({ gaps: isGap ? 1 : 0 });
    expect(sandbox.requests().faults[fault.kind]).toBe(1);
    if (isGap) clock.advance(MINUTE_MS);
    if (isGap) await pull();
    await expectEverythingOnce(isGap ? clock.now() : NOON);
  });

  test(`for long: ${given} makes a gap with the code ${code}, and afterwards everything is stored once`, async () => {
    await provider({ when: LASTS, do: fault });
    await pull(settings);
    // An hour less two seconds: the halves, which are requested as 30 minutes, leave two seconds, which need no second page.
    const halves = fault.kind === "expired-cursor" ? [1798, 1798] : [1798, 1798, 2];
    const seconds = isHalved ? halves : [3598];
    expect(await readGaps()).toEqual(seconds.map((length) => ({ seconds: length, code })));
    clock.set(OVER);
    expect(await pull()).toMatchObject({ gaps: 0 });
    await expectEverythingOnce(OVER);
  });
});

describe.each([401, 403])("HTTP %i", (status) => {
  test("stops the product, because an operator must act; an hour later it is retried, and everything is stored once", async () => {
    await provider({ when: LASTS, do: { kind: "status", status } });
    await expect(pull()).rejects.toMatchObject({ code: "provider-refused" });
    await pull();
    expect(asked).toEqual([NOON]);
    clock.set(NOON + HOUR_MS);
    await pull();
    await expectEverythingOnce(NOON + HOUR_MS);
  });
});

describe("a Retry-After", () => {
  test.each([
    ["in seconds", "seconds"],
    ["as a date", "http-date"],
  ] as const)("%s sets the wait", async (_, retryAfterAs) => {
    await provider({
      when: { times: 1 },
      do: { kind: "status", status: 429, retryAfter: 77, retryAfterAs },
    });
    await pull();
    const [first = 0, second = 0] = asked;
    expect(second - first).toBeGreaterThanOrEqual(77_000);
    expect(second - first).toBeLessThanOrEqual(78_000);
  });
});

describe("an answer of 4 GB", () => {
  test("is cut off long before its end, and before it fills the memory", async () => {
    await provider({ when: { times: 1 }, do: { kind: "huge", megabytes: 4_096 } });
    const mostBefore = process.resourceUsage().maxRSS;
    expect(await pull()).toMatchObject({ windows: 1, gaps: 0 });
    expect(process.resourceUsage().maxRSS - mostBefore).toBeLessThan(KILOBYTES_OF_A_GIGABYTE);
    await expectEverythingOnce();
  });
});

const HARMLESS: [what: string, fault: Fault["do"]][] = [
  ["a slow answer", { kind: "slow", delay: "PT0.02S" }],
  ["records repeated on the next page", { kind: "repeat-records" }],
  ["pages that shift while they are read", { kind: "shift", records: 3 }],
];

describe.each(HARMLESS)("%s", (_, fault) => {
  test("is no failure: everything is stored once", async () => {
    await provider({ do: fault });
    expect(await pull()).toMatchObject({ windows: 1, gaps: 0 });
    expect(sandbox.requests().faults[fault.kind]).toBeGreaterThanOrEqual(PAGES - 1);
    await expectEverythingOnce();
  });
});

const OUT_OF_RANGE: Fault["do"] = { kind: "out-of-range" };

describe("records dated outside of the range", () => {
  test("are kept, and counted for their window", async () => {
    await provider({ do: OUT_OF_RANGE });
    await pull();
    expect(await sql`select from bet_records where id like 'invented-out-of-range-%'`).toHaveLength(PAGES);
    expect(await sql`select out_of_range from windows`).toEqual([{ out_of_range: PAGES }]);
    await expectEverythingOnce();
  });
});

type MalformedKind = Extract<Fault["do"], { kind: "malformed-record" }>["variant"];
const malformed = (variant: MalformedKind) => ({ kind: "malformed-record", variant }) as const;

const UNUSABLE: [what: string, fault: Fault["do"], reason: string, raw: object][] = [
  [
    "another product",
    { kind: "foreign-record" },
    'productId is "SLOT", but "TABLE" was asked for',
    { productId: "SLOT" },
  ],
  ["no currency", malformed("field-missing"), "currency must be text, but is missing", { stake: 10.5 }],
  [
    "an amount in quotes",
    malformed("amount-as-text"),
    "stake must be a number, but is 10.50",
    { stake: "10.50" },
  ],
  [
    "an amount that is no number",
    malformed("amount-no-number"),
    "payout must be a number, but is twenty-one",
    { payout: "twenty-one" },
  ],
  [
    "a date without an offset",
    malformed("date-without-offset"),
    'accountingDate must be a date-time with an offset such as 2026-11-20T10:00:00Z, but is "2026-11-20T18:00:01.000"',
    { accountingDate: "2026-11-20T18:00:01.000" },
  ],
  [
    "an unknown status",
    malformed("unknown-status"),
    'betStatus must be one of OPEN, SETTLED, UNSETTLED, VOID, but is "PENDING"',
    { betStatus: "PENDING" },
  ],
  [
    "a NUL in a name",
    malformed("nul-in-name"),
    "gameName has a character that cannot be stored",
    { gameName: "In\0vented" },
  ],
];

describe.each(UNUSABLE)("a record with %s", (_, fault, reason, fields) => {
  test("is rejected once, with its text and the reason, and the other records of its page are stored", async () => {
    await provider({ do: fault });
    expect(await pull()).toMatchObject({ windows: 1, gaps: 0, records: RECORDS.length });
    expect(await sql`select rejected from windows`).toEqual([{ rejected: PAGES }]);
    await expectRejected();
    await emptyTables(sql, ["windows", "pull_states"]);
    await pull();
    await expectRejected();
  });

  async function expectRejected(): Promise<void> {
    const rejected = await sql<{ raw: string; reason: string }[]>`select raw, reason from rejected_records`;
    expect(rejected.map((row) => row.reason)).toEqual(Array(PAGES).fill(reason));
    for (const { raw } of rejected) expect(JSON.parse(raw)).toMatchObject(fields);
  }
});

test("this file tests every kind of fault that the sandbox knows", () => {
  const named = [...TOO_SLOW, ...FAILED, ...HARMLESS, ...UNUSABLE].map(([, { kind }]) => kind);
  expect(new Set([...named, OUT_OF_RANGE.kind])).toEqual(new Set(FAULT_KINDS));
});
