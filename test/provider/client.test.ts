import { inspect } from "node:util";
import { gzipSync } from "node:zlib";
import { LosslessNumber } from "lossless-json";
import { afterAll, describe, expect, test } from "vitest";
import type { BetPageRequest } from "../../src/bet.ts";
import { describeError, type ErrorCode, ReconError } from "../../src/errors.ts";
import { formatAmount } from "../../src/money.ts";
import { openProvider, type ProviderClient } from "../../src/provider/client.ts";
import { textOf } from "../../src/provider/envelope.ts";
import { createTestClock } from "../support/clock.ts";
import { HOUR_MS, NOON } from "../support/examples.ts";
import {
  betItem,
  body,
  CREDENTIALS,
  cutShort,
  drop,
  hang,
  page,
  pageBody,
  type Respond,
  status,
  useHttpProvider,
} from "../support/http-provider.ts";

const provider = useHttpProvider();
const clock = createTestClock(NOON);
const never = new AbortController().signal;
const opened: ProviderClient[] = [];
afterAll(() => {
  for (const client of opened) client.close();
});

/** The request time-out is long, except in tests that wait for it. */
function open(
  baseUrl: string,
  settings: { username?: string; password?: string; requestTimeoutMs?: number } = {},
) {
  const { requestTimeoutMs = 30_000, ...credentials } = settings;
  const limits = { requestTimeoutMs, connections: 2, production: false };
  const client = openProvider({ baseUrl, ...CREDENTIALS, ...credentials }, limits, clock);
  opened.push(client);
  return client;
}

const RANGE = { productId: "P1", from: NOON - HOUR_MS, to: NOON };

function ask(request: Partial<BetPageRequest> = {}, signal = never) {
  return open(provider.url()).fetchBetPage({ ...RANGE, nextId: null, ...request }, signal);
}

async function askAboutItems(...items: string[]) {
  provider.answer(() => page(items));
  return await ask();
}

async function failureOf(answered: Promise<unknown>): Promise<ReconError> {
  const error = await answered.then(
    () => "no error",
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(ReconError);
  return error as ReconError;
}

describe("the request", () => {
  test("asks for one product and a range in UTC, never for a day, with Basic authentication", async () => {
    await ask();
    const [asked] = provider.asked;
    expect(asked).toMatchObject({ method: "GET", path: "/seamless/betTransactionsV2" });
    expect(asked?.parameters).toEqual({
      productId: "P1",
      startTime: "2026-11-20T11:00:00.000Z",
      endTime: "2026-11-20T12:00:00.000Z",
    });
    expect(asked?.headers.authorization).toBe(`Basic ${btoa("agent:not to be seen")}`);
  });

  test("returns a cursor exactly as it came", async () => {
    const nextId = 'a+b/c=&d %2B "é"#?';
    await ask({ nextId });
    expect(provider.asked[0]?.parameters).toMatchObject({ nextId });
  });

  test("keeps every character of the credentials", async () => {
    const username = "agent%20one";
    const password = "p:%41 /w@rd?#ä";
    await open(provider.url(), { username, password }).fetchBetPage({ ...RANGE, nextId: null }, never);
    const [, sent = ""] = provider.asked[0]?.headers.authorization?.split(" ") ?? [];
    expect(Buffer.from(sent, "base64").toString()).toBe(`${username}:${password}`);
  });

  test.each(["/agent", "/agent/"])("goes to a path below a base URL that ends in %s", async (path) => {
    await open(`${provider.url()}${path}`).fetchBetPage({ ...RANGE, nextId: null }, never);
    expect(provider.asked[0]?.path).toBe("/agent/seamless/betTransactionsV2");
  });

  test("ends with the caller's reason when the caller cancels it", async () => {
    const ending = new AbortController();
    provider.answer(() => (response) => {
      hang(response);
      ending.abort(new Error("the worker stops"));
    });
    await expect(ask({}, ending.signal)).rejects.toThrow("the worker stops");
  });
});

describe("credentials over plain http", () => {
  const production = { requestTimeoutMs: 1000, connections: 1, production: true };
  const openFor = (baseUrl: string) => () =>
    openProvider({ baseUrl, ...CREDENTIALS }, production, clock).close();

  test("are refused in production for another machine, and the error shows no secret of the URL", () => {
    expect(openFor("http://hidden:secret@provider.example/api")).toThrow(
      "PROVIDER_BASE_URL: http://provider.example is plain http; in production credentials are sent over https only",
    );
  });

  test.each(["https://provider.example/api?key=hidden", "https://provider.example/api#hidden"])(
    "a base URL that cannot have a path is refused, without showing it: %s",
    (baseUrl) => {
      expect(openFor(baseUrl)).toThrow(/^PROVIDER_BASE_URL has a query or a fragment: (?!.*hidden)/);
    },
  );

  test.each([
    "https://provider.example",
    "http://127.0.0.1:8080",
    "http://localhost:8080",
    "http://[::1]:8080",
  ])("in production %s is accepted", (baseUrl) => {
    expect(openFor(baseUrl)).not.toThrow();
  });
});

describe("a page", () => {
  test("keeps every digit of every amount", async () => {
    const { records } = await askAboutItems(
      betItem({ stake: "9007199254740993.123456789", payout: "0.000000000000000000000000000001" }),
      betItem({ id: '"rec-2"', stake: "1.2E3", payout: "100000000000000000000000000000.10" }),
    );
    expect(records.map(({ stake, payout }) => [formatAmount(stake), formatAmount(payout)])).toEqual([
      ["9007199254740993.123456789", "0.000000000000000000000000000001"],
      ["1200", "100000000000000000000000000000.1"],
    ]);
  });

  test("keeps ids that were sent as numbers, digit for digit", async () => {
    const { records } = await askAboutItems(betItem({ id: "12345678901234567890123", roundId: "0" }));
    expect(records[0]).toMatchObject({ id: "12345678901234567890123", roundId: "0" });
  });

  test("keeps fields that the interface does not name, with their digits", async () => {
    const { records } = await askAboutItems(
      betItem({ odds: "1.10000000000000000001", tags: '["a",null,true]', note: '"\\\\u0000 😀"' }),
      betItem(),
    );
    expect(records.map(({ extra }) => extra)).toEqual([
      '{"odds":1.10000000000000000001,"tags":["a",null,true],"note":"\\\\u0000 😀"}',
      null,
    ]);
  });

  test.each([
    ["2026-11-20T18:59:00.123456+07:00", "2026-11-20T18:59:00.123456+07:00"],
    ["2026-11-20T18:59:00.5+0700", "2026-11-20T18:59:00.5+0700"],
    ["2026-11-20T11:59:00.123456-15:30", "2026-11-21T03:29:00.123456Z"],
    ["2026-11-20 18:59+07", "2026-11-20T11:59:00.000000Z"],
    ["2026-11-20T11:59:00z", "2026-11-20T11:59:00.000000Z"],
    ["2026-11-21T05:59:00+18:00", "2026-11-20T11:59:00.000000Z"],
    ["0001-01-01T00:00:00+07:00", "0001-01-01T00:00:00.000000Z"],
    ["9999-12-31T23:59:59.9999999-07:00", "9999-12-31T23:59:59.999999Z"],
  ])("reads the time %s to the microsecond, as PostgreSQL does", async (sent, read) => {
    const { records } = await askAboutItems(betItem({ updatedDate: JSON.stringify(sent) }));
    expect(records[0]?.updatedDate).toBe(read);
  });

  test.each([
    ["none", "", null],
    ["null", '"nextId":null,', null],
    ["empty", '"nextId":"",', null],
    ["text", '"nextId":"c-2",', "c-2"],
    ["a number", '"nextId":90071992547409931,', "90071992547409931"],
  ])("names the next page by its nextId: %s", async (_, sent, nextId) => {
    provider.answer(() => body(`{"code":0,"data":{${sent}"txns":[]}}`));
    expect(await ask()).toMatchObject({ records: [], rejected: [], nextId });
  });

  test("may come compressed", async () => {
    provider.answer(() => (response) => {
      response.writeHead(200, { "content-encoding": "gzip" }).end(gzipSync(pageBody([betItem()])));
    });
    expect((await ask()).records).toHaveLength(1);
  });
});

describe("an answer without records is empty", () => {
  test.each<[how: string, answer: Respond]>([
    ["an empty list", page([])],
    ["a list that is null", body('{"code":0,"message":"success","data":{"txns":null}}')],
    ["no list at all", body('{"code":0,"message":"success","data":{"total":0}}')],
    ["no list, and an empty nextId", body('{"code":0,"message":"success","data":{"nextId":""}}')],
    ["data that is an empty list", body('{"code":0,"message":"success","data":[]}')],
    ["data that is null", body('{"code":0,"message":"success","data":null}')],
    ["no data", body('{"code":0,"message":"success"}')],
    ["HTTP 204", status(204)],
    ["HTTP 204 that claims to be compressed", status(204, { "content-encoding": "gzip" })],
  ])("%s", async (_, answer) => {
    provider.answer(() => answer);
    expect(await ask()).toMatchObject({ records: [], rejected: [], nextId: null });
  });
});

describe("a bad record is rejected with its text and the reason, and the other records are kept", () => {
  const long = "x".repeat(600);
  const nested = (levels: number) => "[".repeat(levels) + "]".repeat(levels);
  test.each<[problem: string, fields: Record<string, string | undefined>, reason: string]>([
    ["a missing id", { id: undefined }, "id must be text, but is missing"],
    ["an empty betId", { betId: '""' }, "betId must not be empty"],
    ["a null roundId", { roundId: "null" }, "roundId must be text, but is null"],
    ["a missing stake", { stake: undefined }, "stake must be a number, but is missing"],
    ["an amount as text", { stake: '"10.00"' }, "stake must be a number, but is 10.00"],
    ["an amount that is null", { payout: "null" }, "payout must be a number, but is null"],
    ["an amount beyond all money", { payout: "1e900" }, 'payout must be a decimal number, but is "1e900"'],
    [
      "an amount with a hidden character",
      { stake: '"1\\u00000"' },
      "stake must be a number, but is 1\ufffd0",
    ],
    [
      "a date without an offset",
      { updatedDate: '"2026-11-20T10:00:00"' },
      'updatedDate must be a date-time with an offset such as 2026-11-20T10:00:00Z, but is "2026-11-20T10:00:00"',
    ],
    [
      "a day that does not exist",
      { accountingDate: '"0000-00-00T00:00:00Z"' },
      'accountingDate must be a date-time with an offset such as 2026-11-20T10:00:00Z, but is "0000-00-00T00:00:00Z"',
    ],
    ["another product's record", { productId: '"P2"' }, 'productId is "P2", but "P1" was asked for'],
    [
      "an unknown status",
      { betStatus: '"LOST"' },
      'betStatus must be one of OPEN, SETTLED, UNSETTLED, VOID, but is "LOST"',
    ],
    [
      "a payout status in small letters",
      { payoutStatus: '"win"' },
      'payoutStatus must be one of LOSE, WIN, DRAW, UNKNOWN, but is "win"',
    ],
    ["a NUL character", { gameName: '"a\\u0000b"' }, "gameName has a character that cannot be stored"],
    ["half a surrogate pair", { gameName: '"\\ud83d"' }, "gameName has a character that cannot be stored"],
    [
      "a NUL character in an additional field",
      { note: '"\\u0000"' },
      "note has a character that cannot be stored",
    ],
    [
      "a number too large in an additional field",
      { odds: "[1e99999]" },
      "odds has a number that cannot be stored",
    ],
    ["an additional field that nests too deeply", { deep: nested(100) }, "deep nests deeper than 64 levels"],
    [
      "an id too long for an index",
      { id: `"${long}"` },
      `id is longer than 512 bytes: "${long.slice(0, 120)}…"`,
    ],
    [
      "a round too long for an index",
      { roundId: `"${long}"` },
      `roundId is longer than 512 bytes: "${long.slice(0, 120)}…"`,
    ],
  ])("%s", async (_, fields, reason) => {
    const bad = betItem({ stake: "10.000000000000000000001", ...fields });
    const { records, rejected } = await askAboutItems(
      betItem({ id: '"before"' }),
      bad,
      betItem({ id: '"after"' }),
    );
    expect(records.map(({ id }) => id)).toEqual(["before", "after"]);
    expect(rejected).toEqual([{ raw: bad, reason }]);
  });

  test.each(["null", "7", '"text"', "[]"])("an item that is %s instead of an object", async (item) => {
    const { records, rejected } = await askAboutItems(item, betItem());
    expect(records).toHaveLength(1);
    expect(rejected).toEqual([{ raw: item, reason: "the item is not an object" }]);
  });

  test("an item that nests deeply is kept whole", async () => {
    const item = betItem({ deep: nested(1_000) });
    const { records, rejected } = await askAboutItems(item, betItem());
    expect(records).toHaveLength(1);
    expect(rejected).toEqual([{ raw: item, reason: "deep nests deeper than 64 levels" }]);
  });

  test("of an item that nests too deeply to be written out, the plain fields are kept", () => {
    let deep: unknown[] = [];
    for (let level = 0; level < 100_000; level += 1) deep = [deep];
    expect(textOf({ id: "rec-1", stake: new LosslessNumber("10.10"), deep })).toBe(
      '{"id":"rec-1","stake":10.10}',
    );
  });
});

describe("an answer that is no page of bets is refused, and the error names the limit", () => {
  const items = (count: number, item: string) => page(Array<string>(count).fill(item));
  test.each<[what: string, answer: Respond, code: ErrorCode, message: RegExp]>([
    [
      "more records than a page may have",
      items(10_001, betItem()),
      "provider-too-large",
      /it has more than 10000 records/,
    ],
    [
      "more bad records than a page may have",
      items(1_001, betItem({ stake: '"ten"' })),
      "provider-bad-envelope",
      /more than 1000 of its records cannot be read, the first because stake must be a number, but is ten/,
    ],
    [
      "too much text beside the records",
      body(`{"code":0,"message":"${"x".repeat(300_000)}","data":{"txns":[]}}`),
      "provider-too-large",
      /more than 262144 bytes besides its records/,
    ],
    [
      "the list twice",
      body('{"code":0,"data":{"txns":[],"txns":[]}}'),
      "provider-bad-envelope",
      /the answer has "data.txns" twice/,
    ],
    [
      "a few kilobytes that unpack to too many records",
      (response) => {
        const white = gzipSync(Buffer.alloc(20 * 1024 * 1024, " "));
        response.writeHead(200, { "content-encoding": "gzip" }).end(white);
      },
      "provider-too-large",
      /bytes besides its records/,
    ],
    [
      "a few kilobytes that unpack to a huge list",
      (response) => {
        const text = `{"code":0,"data":{"txns":[${" ".repeat(17 * 1024 * 1024)}]}}`;
        response.writeHead(200, { "content-encoding": "gzip" }).end(gzipSync(text));
      },
      "provider-too-large",
      /the answer is larger than 16777216 bytes/,
    ],
  ])("%s", async (_, answer, code, message) => {
    provider.answer(() => answer);
    const error = await failureOf(ask());
    expect(error).toMatchObject({ code });
    expect(error.message).toMatch(message);
  });

  test("a page with exactly the limit of records, or of bad ones, is read", async () => {
    provider.answer(() =>
      page([...Array<string>(9_000).fill(betItem()), ...Array<string>(1_000).fill("{}")]),
    );
    const { records, rejected } = await ask();
    expect([records.length, rejected.length]).toEqual([9_000, 1_000]);
  });

  test("a record beyond the size limit is rejected with its beginning, and the other records are kept", async () => {
    const long = betItem({ note: `"${"x".repeat(20_000)}"` });
    const { records, rejected } = await askAboutItems(long, betItem());
    expect(records).toHaveLength(1);
    expect(rejected).toEqual([
      {
        raw: long.slice(0, 16_384),
        reason: "the record is longer than 16384 bytes; only its beginning is kept",
      },
    ]);
  });
});

describe("each failure has a code of its own, and names product and range", () => {
  const cases: [failure: string, answer: Respond, code: ErrorCode, message: RegExp][] = [
    ["HTTP 408", status(408), "provider-http-408", /HTTP 408/],
    ["HTTP 504", status(504), "provider-http-504", /HTTP 504/],
    [
      "a connection dropped before the answer",
      drop,
      "provider-dropped",
      /the connection was dropped \(ECONNRESET\)/,
    ],
    [
      "a connection reset",
      (r) => r.socket?.resetAndDestroy(),
      "provider-dropped",
      /the connection was dropped/,
    ],
    ["a body shorter than announced", cutShort(pageBody([betItem()])), "provider-cut-short", /cut short/],
    ["a chunked body without its end", openEnded(pageBody([])), "provider-cut-short", /cut short/],
    [
      "a compressed body without its end",
      gzipped((all) => all.subarray(0, 20)),
      "provider-cut-short",
      /cut short/,
    ],
    [
      "half a JSON",
      body(pageBody([betItem()]).slice(0, 200)),
      "provider-cut-short",
      /ends before its JSON does/,
    ],
    [
      "JSON that ends behind one of its brackets",
      body(pageBody([betItem({ gameName: '"}]}\\"{"' })]).slice(0, -1)),
      "provider-cut-short",
      /ends before its JSON does/,
    ],
    ["a bracket too many", body(`${pageBody([])}}`), "provider-not-json", /not JSON/],
    [
      "a gzip body that no header names",
      (r) => r.writeHead(200).end(gzipSync(pageBody([]))),
      "provider-not-json",
      /not JSON/,
    ],
    ["HTTP 429", status(429), "provider-throttled", /HTTP 429: too many requests/],
    ["HTTP 500", status(500), "provider-server-error", /HTTP 500/],
    ["HTTP 502", status(502), "provider-server-error", /HTTP 502/],
    ["HTTP 503", status(503), "provider-server-error", /HTTP 503/],
    [
      "an answer that is not HTTP",
      (r) => r.socket?.end("hello\r\n\r\n"),
      "provider-unreachable",
      /the answer is broken HTTP \(HPE_/,
    ],
    ["HTTP 202", status(202), "provider-bad-status", /HTTP 202, which is not a whole answer/],
    [
      "HTTP 206 with a page",
      (r) => r.writeHead(206, { "content-range": "items 0-0/50" }).end(pageBody([betItem()])),
      "provider-bad-status",
      /HTTP 206, which is not a whole answer/,
    ],
    ["HTTP 401", status(401), "provider-refused", /the credentials were refused/],
    ["HTTP 403", status(403), "provider-refused", /the credentials were refused/],
    ["HTTP 400", status(400), "provider-bad-status", /HTTP 400/],
    ["HTTP 404", status(404), "provider-bad-status", /HTTP 404/],
    ["a redirect", status(302, { location: "/elsewhere" }), "provider-bad-status", /a redirect \(HTTP 302\)/],
    [
      "another code",
      body('{"code":7,"message":"no such product"}'),
      "provider-rejected",
      /code 7 "no such product"/,
    ],
    ["another code without a message", body('{"code":-1}'), "provider-rejected", /code -1 ""/],
    ["HTML", body("<html>down for maintenance</html>"), "provider-not-json", /not JSON: <html>down/],
    ["nothing", body(""), "provider-not-json", /the answer is empty$/],
    [
      "what cannot be decompressed",
      gzipped(() => Buffer.from("plain")),
      "provider-not-json",
      /cannot be decompressed/,
    ],
    ["a JSON that nests without end", body(`{"code":${"[".repeat(1e5)}}`), "provider-not-json", /not JSON/],
    ["JSON that is no envelope", body("[]"), "provider-bad-envelope", /no numeric "code"/],
    ["no code", body('{"data":{"txns":[]}}'), "provider-bad-envelope", /no numeric "code"/],
    [
      "a code that is text",
      body('{"code":"0","data":{"txns":[]}}'),
      "provider-bad-envelope",
      /no numeric "code"/,
    ],
    [
      "no txns, but a list under another name",
      body('{"code":0,"data":{"records":[{"id":"1"}]}}'),
      "provider-bad-envelope",
      /"data.txns" is not an array/,
    ],
    [
      "no txns, but a list further inside",
      body('{"code":0,"data":{"page":{"items":[]}}}'),
      "provider-bad-envelope",
      /"data.txns" is not an array/,
    ],
    [
      "data that is a list of records",
      body('{"code":0,"data":[{"id":"1"}]}'),
      "provider-bad-envelope",
      /"data.txns"/,
    ],
    [
      "txns null beside a nextId",
      body('{"code":0,"data":{"txns":null,"nextId":"2"}}'),
      "provider-bad-envelope",
      /"data.txns"/,
    ],
    ["HTTP 200 without a body", body(""), "provider-not-json", /the answer is empty$/],
    ["txns that are no list", body('{"code":0,"data":{"txns":{}}}'), "provider-bad-envelope", /"data.txns"/],
    [
      "a nextId that is an object",
      body('{"code":0,"data":{"txns":[],"nextId":{}}}'),
      "provider-bad-envelope",
      /nextId/,
    ],
    [
      "a nextId with a NUL",
      body('{"code":0,"data":{"txns":[],"nextId":"\\u0000"}}'),
      "provider-bad-envelope",
      /nextId/,
    ],
  ];
  test.each(cases)("%s", async (_, answer, code, message) => {
    provider.answer(() => answer);
    const error = await failureOf(ask());
    expect(error).toMatchObject({ code, retryAfterMs: null });
    expect(error.message).toMatch(message);
    expect(error.message).toContain("P1 from 2026-11-20T11:00:00.000Z to 2026-11-20T12:00:00.000Z");
    expect(provider.asked).toHaveLength(1);
    expectNoSecret(error);
  });

  test.each([
    ["none at all", hang, "provider-timeout"],
    ["one that never ends", openStill(pageBody([])), "provider-drip"],
  ])("an answer that does not end within the request time-out: %s", async (_, answer, code) => {
    provider.answer(() => answer);
    const failWithin = (requestTimeoutMs: number) =>
      failureOf(open(provider.url(), { requestTimeoutMs }).fetchBetPage({ ...RANGE, nextId: null }, never));
    let error = await failWithin(100);
    // On a busy machine even the headers may come after this limit.
    for (let limit = 1_000; error.code !== code && limit <= 16_000; limit *= 4)
      error = await failWithin(limit);
    expect(error).toMatchObject({ code, retryable: true });
    expectNoSecret(error);
  });

  test("a connection to a closed port", async () => {
    const client = open("http://127.0.0.1:1");
    const error = await failureOf(client.fetchBetPage({ ...RANGE, nextId: null }, never));
    expect(error).toMatchObject({ code: "provider-unreachable", retryable: true });
    expect(error.message).toMatch(/cannot be reached \(ECONNREFUSED\)/);
    expectNoSecret(error);
  });
});

describe("a failure", () => {
  test.each([
    ["429 with seconds", 429, "7", 7_000],
    ["429 with a part of a second", 429, "0.493", 493],
    ["429 with less than nothing", 429, "-1", null],
    ["429 with neither", 429, "soon", null],
    ["503 with seconds", 503, "120", 120_000],
  ])("says when to try again: %s", async (_, code, header, retryAfterMs) => {
    provider.answer(() => status(code, { "retry-after": header }));
    expect(await failureOf(ask())).toMatchObject({ retryable: true, retryAfterMs });
  });

  test.each([
    ["our own", 0, 90_000],
    ["a clock that is ten minutes behind", -600_000, 90_000],
    ["a clock that is ten minutes ahead", 600_000, 90_000],
    ["a date that has passed", 0, -90_000],
  ])("counts a date of Retry-After from the answer's Date: %s", async (_, aheadMs, askedMs) => {
    const date = (ms: number) => new Date(NOON + aheadMs + ms).toUTCString();
    provider.answer(() => status(429, { date: date(0), "retry-after": date(askedMs) }));
    expect(await failureOf(ask())).toMatchObject({ retryAfterMs: Math.max(0, askedMs) });
  });

  test("counts a date of Retry-After from our clock if the answer has no Date", async () => {
    provider.answer(() => (response) => {
      response.sendDate = false;
      response.writeHead(429, { "retry-after": new Date(NOON + 90_000).toUTCString() }).end();
    });
    expect(await failureOf(ask())).toMatchObject({ retryAfterMs: 90_000 });
  });

  test("an endless answer is not read to its end", async () => {
    const MEGABYTE = Buffer.alloc(1024 * 1024, " ");
    let sent = 0;
    const gone = Promise.withResolvers<void>();
    provider.answer(() => (response) => {
      response.writeHead(200).on("close", gone.resolve);
      const send = () => {
        while (!response.destroyed && response.write(MEGABYTE)) sent += 1;
        sent += 1;
      };
      response.on("drain", send);
      send();
    });
    expect(await failureOf(ask())).toMatchObject({ code: "provider-too-large" });
    await gone.promise;
    expect(sent).toBeLessThan(128);
  });

  test("an answer that unpacks to too much is not unpacked to its end", async () => {
    provider.answer(() => gzipped(() => gzipSync(Buffer.alloc(80 * 1024 * 1024), { level: 1 })));
    expect(await failureOf(ask())).toMatchObject({ code: "provider-too-large" });
  });

  test("an error and its causes show no credentials, however they are printed", async () => {
    const secret = "s3cret:of the agent";
    const client = open(provider.url(), { username: "agent-name", password: secret });
    for (const answer of [
      drop,
      status(401),
      status(500),
      cutShort("x".repeat(100)),
      body("{"),
      status(302),
    ]) {
      provider.answer(() => answer);
      const error = await failureOf(client.fetchBetPage({ ...RANGE, nextId: null }, never));
      expectNoSecret(error, ["agent-name", secret, btoa(`agent-name:${secret}`)]);
    }
  });
});

/** As a log, a debugger or a careless `console.error` would print it. */
function expectNoSecret(
  error: ReconError,
  secrets = [CREDENTIALS.password, btoa("agent:not to be seen")],
): void {
  const printed = [describeError(error), inspect(error, { depth: 20, showHidden: true }), error.stack];
  for (let cause: unknown = error; cause instanceof Error; cause = cause.cause)
    printed.push(JSON.stringify(cause));
  for (const secret of secrets) expect(printed.join("\n")).not.toContain(secret);
}

function openStill(text: string): Respond {
  return (response) => void response.writeHead(200).write(text.slice(0, -1));
}

function openEnded(text: string): Respond {
  return (response) => void response.writeHead(200).write(text, () => response.socket?.destroy());
}

function gzipped(change: (all: Buffer) => Buffer): Respond {
  return (response) => {
    response.writeHead(200, { "content-encoding": "gzip" }).end(change(gzipSync(pageBody([betItem()]))));
  };
}
