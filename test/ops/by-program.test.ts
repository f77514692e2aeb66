/** What pages do, done by a program: closing and checking days, sending alerts again, imports, trends; and small answers. */

import { appendFileSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { brotliDecompressSync, gunzipSync } from "node:zlib";
import { afterAll, beforeEach, describe, expect, test } from "vitest";
import type { AlertChannel, SendResult } from "../../src/alerts/channel.ts";
import { appendEntries } from "../../src/ledger/store.ts";
import type { OwnWorker } from "../../src/ops/dashboard/parts/own-worker.ts";
import { startOpsServer } from "../../src/ops/server.ts";
import { writeRecords } from "../../src/sync/record-store.ts";
import { useClosing } from "../flows/closing/closing-world.ts";
import { createTestClock } from "../support/clock.ts";
import { emptyTables, useDatabase } from "../support/database.ts";
import { amount, exampleEntry, exampleRecord, exampleSettle, HOUR_MS, NOON } from "../support/examples.ts";
import { openMismatches } from "../support/open-mismatches.ts";
import { problemWith, serveApi } from "../support/ops-api.ts";
import { type AskRaw, bearer, serveOps, TOKENS, WRITER } from "../support/ops-browser.ts";

const { sql } = useDatabase();
const clock = createTestClock(NOON);
const archive = mkdtempSync(join(tmpdir(), "recon-archive-"));
afterAll(() => rmSync(archive, { recursive: true, force: true }));
const { context: contextOf, fetched } = useClosing(sql, clock);
const context = contextOf({ closing: { archive } });
const TODAY = Date.parse("2026-11-20T00:00:00Z");
const DAY_MS = 24 * HOUR_MS;
const DECIDER = { name: "kim", role: "decide", token: "a token that decides" } as const;
const CLOSER = { name: "lee", role: "close", token: "a token that closes" } as const;

/** Three days are complete but for the last; a bet of the 20th agrees. */
beforeEach(async () => {
  await emptyTables(sql);
  rmSync(archive, { recursive: true, force: true });
  await fetched(TODAY - DAY_MS, TODAY + DAY_MS);
  const at = { occurredAt: NOON, receivedAt: NOON };
  await appendEntries(sql, [exampleEntry(at), exampleSettle({ ...at, payoutAmount: amount("20") })]);
  const accountingDate = new Date(NOON).toISOString();
  const record = exampleRecord({ payout: amount("20"), accountingDate, updatedDate: accountingDate });
  await sql.begin((tx) => writeRecords(tx, "P1", [record], { requestedAt: NOON, now: NOON }));
  await sql`delete from diff_marks`;
  clock.set(TODAY + 2 * DAY_MS + HOUR_MS);
});

describe("a day", () => {
  test("is closed by the role close, verified with its files, and found altered afterwards", async () => {
    const ask = await serveApi(context, [DECIDER, CLOSER]);
    const close = (body: object, { token } = CLOSER as { token: string }) =>
      ask("POST", "/api/close", { body, token });
    const get = (path: string) => ask("GET", path, { token: DECIDER.token });
    expect(await close({ day: "2026-11-19" }, DECIDER)).toEqual(
      problemWith(403, "this needs the role close"),
    );
    expect(await get("/api/archive/verify?day=2026-11-19")).toEqual(
      problemWith(404, "2026-11-19 is not closed, so it has no sealed files"),
    );

    const first = await close({ day: "2026-11-19" });
    expect(first).toMatchObject({
      status: 200,
      json: {
        closings: [{ day: "2026-11-19", closed: { number: 1, previousHash: null }, reason: null }],
        givenUp: expect.stringContaining("no day before it can be closed any more"),
      },
    });
    const month = await close({ month: "2026-11" });
    expect(month.json.closings).toMatchObject([
      { day: "2026-11-19", closed: { number: 1 } },
      { day: "2026-11-20", closed: { number: 2 } },
      { day: "2026-11-21", closed: null, reason: expect.stringContaining("P1") },
    ]);
    const accepted = await close({ day: "2026-11-21", acceptGap: ["P1"], note: "the provider lost it" });
    expect(accepted.json.closings).toMatchObject([
      { closed: { number: 3 }, acceptedGaps: [{ productId: "P1", by: "lee", note: "the provider lost it" }] },
    ]);
    const { hash } = month.json.closings[1].closed;
    expect((await get("/api/report/verify")).json).toEqual({
      days: 3,
      flaw: null,
      sums: { unsealed: 0, cut: 0 },
      last: { day: "2026-11-21", number: 3, hash: accepted.json.closings[0].closed.hash },
    });
    const whole = { day: "2026-11-20", number: 2, hash, files: 1, lines: 1, flaws: [] };
    expect((await get("/api/archive/verify?day=2026-11-20")).json).toEqual(whole);

    appendFileSync(join(archive, "2026-11-20", "P1.ndjson.gz"), "x");
    expect((await get("/api/archive/verify?day=2026-11-20")).json).toMatchObject({
      flaws: [{ file: "P1.ndjson.gz" }],
    });
    await sql`update closed_days set hash = repeat('0', 64) where day = '2026-11-20'`;
    expect((await get("/api/archive/verify?day=2026-11-20")).json.flaws).toContainEqual({
      file: "manifest.json",
      line: null,
      what: "does not belong to the stored statement: one of them was altered",
    });
    expect((await get("/api/report/verify")).json).toMatchObject({ flaw: { day: "2026-11-20" }, sums: null });
  });

  test("is only previewed with dryRun, alone and in its month, and nothing is stored", async () => {
    const at = { occurredAt: NOON, receivedAt: NOON, txnId: "bet-2", roundId: "round-2", requestId: "two" };
    await appendEntries(sql, [
      exampleEntry({ ...at, entryId: "p2" }),
      exampleSettle({ ...at, entryId: "s2", payoutAmount: amount("30") }),
    ]);
    const ask = await serveApi(context, [DECIDER, CLOSER]);
    const preview = async (asked: object, { token } = CLOSER as { token: string }) =>
      await ask("POST", "/api/close", { body: { ...asked, dryRun: true }, token });
    const complete = { closed: null, reason: null, gaps: [], pending: [], openMismatches: [] };
    const first = await preview({ day: "2026-11-19" });
    const givenUp = expect.stringContaining("2026-11-19 is the first closed day");
    expect(first).toMatchObject({ status: 200, json: { dryRun: true, givenUp } });
    expect(first.json.closings).toEqual([{ day: "2026-11-19", ...complete }]);
    const { json: month } = await preview({ month: "2026-11" });
    expect(month.closings).toEqual([
      { day: "2026-11-19", ...complete },
      {
        ...complete,
        day: "2026-11-20",
        pending: [{ productId: "P1", currency: "THB", pending: "-20" }],
      },
      { ...complete, day: "2026-11-21", reason: expect.stringContaining("P1 was not fetched") },
    ]);
    expect(await preview({ day: "2026-11-19" }, DECIDER)).toMatchObject({ status: 403 });
    expect(await sql`select from closed_days`).toEqual([]);
    await ask("POST", "/api/close", { body: { day: "2026-11-19" }, token: CLOSER.token });
    const gap = { day: "2026-11-19", acceptGap: ["P1"], note: "x" };
    const refused = await ask("POST", "/api/close", { body: gap, token: CLOSER.token });
    expect(refused.json.detail).toContain("the day was closed before");
    expect(await preview(gap)).toMatchObject({ status: 409, json: { detail: refused.json.detail } });
  });

  test("is previewed without the gap that would be accepted, which is not stored", async () => {
    const ask = await serveApi(context);
    const close = (body: object) => ask("POST", "/api/close", { body });
    await close({ month: "2026-11" });
    const gap = { day: "2026-11-21", acceptGap: ["P1"], note: "the provider lost it" };
    const { json } = await close({ ...gap, dryRun: true });
    expect(json.closings).toMatchObject([
      {
        day: "2026-11-21",
        reason: null,
        gaps: [
          {
            productId: "P1",
            missing: [{ from: "2026-11-21T00:00:00.000Z", to: "2026-11-22T00:00:00.000Z" }],
          },
        ],
      },
    ]);
    expect(await sql`select from closed_days`).toHaveLength(2);
    expect(await sql`select from closed_parts where gap is not null`).toEqual([]);
    expect((await close({ day: "2026-11-21" })).json.closings).toMatchObject([{ closed: null }]);
  });

  test.each([
    [{}, "give either day or month"],
    [{ day: "2026-11-19", month: "2026-11" }, "give either day or month"],
    [{ day: "20 Nov" }, 'day must be a date such as 2026-11-20, but is "20 Nov"'],
    [{ month: "2026" }, 'month must be a month such as 2026-11, but is "2026"'],
    [{ day: "2026-11-19", acceptGap: ["P1"] }, "note is the reason of acceptGap: give both"],
    [{ month: "2026-11", acceptGap: ["P1"], note: "x" }, "acceptGap is about one day: give day, not month"],
    [{ day: "2026-11-21", acceptGap: ["P9"], note: "x" }, "P9"],
    [{ day: "2026-11-21", acceptGap: [], note: "x" }, "acceptGap must be a list of products, but is []"],
    [{ day: "2026-11-19", dryRun: "yes" }, 'dryRun must be true or false, but is "yes"'],
  ])("is not closed by %j: %s", async (body, detail) => {
    expect(await (await serveApi(context))("POST", "/api/close", { body })).toEqual(problemWith(400, detail));
    expect(await sql`select from closed_days`).toHaveLength(0);
  });

  test("has no sealed files without closing.archive, and no path of its own", async () => {
    const verify = async (day: string, of = context) =>
      await (await serveApi(of))("GET", `/api/archive/verify?day=${encodeURIComponent(day)}`);
    expect(await verify("2026-11-20", contextOf())).toEqual(problemWith(400, "closing.archive is not set"));
    expect(await verify("../../etc")).toEqual(
      problemWith(400, "day must be a date such as 2026-11-20, but is"),
    );
  });
});

test("an alert is sent again, once for each attempt that was seen", async () => {
  const answers: SendResult[] = [{ outcome: "refused", error: "it answered 500" }, { outcome: "delivered" }];
  const channel: AlertChannel = {
    name: "webhook",
    send: async () => answers.shift() ?? { outcome: "delivered" },
  };
  const worker: OwnWorker = {
    channels: [channel],
    hasHeartbeat: false,
    queuesIn: "PostgreSQL",
    countJobs: async () => [],
  };
  await openMismatches(sql, context.config, NOON, [{}]);
  const ask = await serveOps(context, TOKENS, { worker });
  const resend = (body: object) =>
    ask("POST", "/api/alerts/1/resend", {
      headers: { ...bearer(WRITER), "content-type": "application/json" },
      body: JSON.stringify(body),
    });
  const get = (path: string) => ask("GET", path, { headers: bearer(WRITER) });
  expect((await get("/api/alerts?state=waiting")).json.alerts).toMatchObject([
    { id: "1", kind: "incident-opened", productId: "P1", deliveredAt: null, deliveries: [] },
  ]);
  expect((await resend({ channel: "webhook", attempts: 0 })).json).toMatchObject({
    error: "it answered 500",
    alert: {
      deliveredAt: null,
      deliveries: [{ channel: "webhook", attempts: 1, lastError: "it answered 500" }],
    },
  });
  expect(await resend({ channel: "webhook", attempts: 0 })).toMatchObject({
    status: 409,
    json: { code: "conflict", detail: expect.stringContaining("was sent to webhook meanwhile") },
  });
  expect((await resend({ channel: "webhook" })).json).toMatchObject({
    error: null,
    alert: { deliveredAt: expect.any(String), deliveries: [{ attempts: 2, lastError: null }] },
  });
  expect((await get("/api/alerts?state=waiting")).json.alerts).toEqual([]);
  expect((await get("/api/alerts/1")).json.alert).toMatchObject({
    what: expect.any(String),
    body: { kind: "payout-differs" },
  });
  for (const [body, detail] of [
    [{ channel: "pigeon" }, 'there is no channel "pigeon": it is one of webhook'],
    [{ channel: "webhook", attempts: -1 }, "attempts must be a whole number from 0 up, but is the number -1"],
    [{}, "channel is missing"],
  ] as const)
    expect(await resend(body)).toMatchObject({ status: 400, json: { detail } });
  expect(await get("/api/alerts/7")).toMatchObject({ status: 404, json: { code: "not-found" } });
});

test("an import is listed with its result, and shown with its rejected lines", async () => {
  const ask = await serveOps(context);
  const headers = { ...bearer(WRITER), "content-type": "application/x-ndjson" };
  await ask("POST", "/api/ledger/entries", { headers, body: "oh no\n" });
  const get = async (path: string) => (await ask("GET", path, { headers: bearer(WRITER) })).json;
  const shown = {
    id: "1",
    who: "hand",
    via: "api",
    format: "entries",
    name: null,
    bytes: 6,
    totals: { added: 0, known: 0, changed: 0, skipped: 0, rejectedLines: 1 },
    error: null,
  };
  expect(await get("/api/ledger/imports")).toMatchObject({ imports: [shown], next: null });
  const rejected = [{ line: 1, reason: "the line is not JSON" }];
  expect(await get("/api/ledger/imports/1")).toMatchObject({ ...shown, rejected });
});

test("trends have a value for each step, and null for what is not known", async () => {
  const ask = await serveApi(context);
  const { json } = await ask("GET", "/api/trends?span=week&product=P1");
  expect(json).toMatchObject({ span: "week", productId: "P1", stepSeconds: 7200, lagSecondsNow: 90_000 });
  for (const line of ["open", "delaySeconds", "lagSeconds", "recordsPerMinute", "callbacksPerMinute"])
    expect([line, json[line].length]).toEqual([line, 84]);
  // The last day was not fetched, so nobody knows what is open.
  expect([json.open.at(-1), json.open.at(-20)]).toEqual([null, 0]);
  expect(await ask("GET", "/api/trends?product=P9")).toEqual(
    problemWith(400, 'there is no product "P9"; it is one of P1'),
  );
});

describe("an answer", () => {
  /** The bytes as they are sent, and what they say. */
  async function readBytes(path: string, headers: Record<string, string>) {
    const server = await startOpsServer(context, { host: "127.0.0.1", port: 0, tokens: [] }, async () => {});
    try {
      const { request } = await import("node:http");
      return await new Promise<{ bytes: Buffer; coding: string; vary: string }>((resolve, reject) => {
        request(server.url + path, { headers }, async (response) => {
          const bytes = Buffer.concat(await response.toArray());
          const { "content-encoding": coding = "", vary = "" } = response.headers;
          resolve({ bytes, coding, vary });
        })
          .on("error", reject)
          .end();
      });
    } finally {
      await server.close();
    }
  }

  test.each([
    ["br", brotliDecompressSync],
    ["gzip", gunzipSync],
  ])("of 1 KB or more is compressed with %s, JSON and CSV", async (coding, unpack) => {
    await openMismatches(
      sql,
      context.config,
      NOON,
      Array.from({ length: 50 }, () => ({})),
    );
    for (const accept of ["application/json", "text/csv"]) {
      const plain = await readBytes("/api/mismatches", { accept });
      const packed = await readBytes("/api/mismatches", { accept, "accept-encoding": coding });
      const vary = "accept, accept-encoding";
      expect([plain.coding, plain.vary]).toEqual(["", vary]);
      expect([packed.coding, packed.vary]).toEqual([coding, vary]);
      // Each answer ends at a later change.
      const same = (bytes: Uint8Array) => bytes.toString().replace(/"cursor":"[^"]*"/, "");
      expect(same(unpack(packed.bytes))).toBe(same(plain.bytes));
      expect(packed.bytes.length).toBeLessThan(plain.bytes.length / 4);
    }
    const small = await readBytes("/api/mismatches?kind=stuck-open", { "accept-encoding": coding });
    expect([small.coding, small.vary, small.bytes.toString()]).toEqual([
      "",
      "accept, accept-encoding",
      expect.stringMatching(/^\{"mismatches":\[\],"next":null,"cursor":"[^"]+"\}$/),
    ]);
  });
});

const PAGE = "/docs/errors.md";

test("the type of a problem leads to the explanation of its code, for everybody", async () => {
  const ask: AskRaw = await serveOps(context);
  const { json } = await ask("GET", "/api/status", { headers: { host: "recon.example.com:8443" } });
  expect(json).toMatchObject({
    code: "unauthenticated",
    type: `http://recon.example.com:8443${PAGE}#unauthenticated`,
  });
  const page = await ask("GET", PAGE, { headers: { accept: "text/html" } });
  expect([page.status, page.headers["content-type"]]).toEqual([200, "text/html; charset=utf-8"]);
  expect(page.text).toContain('<h2 id="unauthenticated">unauthenticated</h2>');
  const text = await ask("GET", PAGE);
  expect([text.headers["content-type"], text.text]).toEqual([
    "text/markdown; charset=utf-8",
    expect.stringContaining('<a id="unauthenticated"></a>'),
  ]);
});

test("a problem about fields has each with its own words", async () => {
  const ask = await serveApi(context);
  const body = { productId: 7, from: "now", to: "2026-11-19T01:00:00Z" };
  const { json } = await ask("POST", "/api/backfills", { body });
  expect(json).toMatchObject({
    code: "usage",
    detail: "productId must be text, but is 7",
    errors: [
      { field: "productId", detail: "productId must be text, but is 7" },
      { field: "from", detail: expect.stringContaining('"now"') },
    ],
  });
});
