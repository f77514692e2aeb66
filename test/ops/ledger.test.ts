/** Entries and recorded callbacks over HTTP, as a program sends them. */

import { beforeEach, describe, expect, test } from "vitest";
import { parseConfig } from "../../src/config-file.ts";
import { silentLog } from "../../src/log.ts";
import { createTestClock } from "../support/clock.ts";
import { emptyTables, useDatabase } from "../support/database.ts";
import { eventually } from "../support/eventually.ts";
import { NOON } from "../support/examples.ts";
import { type AskRaw, bearer, READER, serveOps, TOKENS, WRITER } from "../support/ops-browser.ts";

const { sql } = useDatabase();
const config = parseConfig({ products: [{ productId: "P1" }] });
const context = { sql, config, clock: createTestClock(NOON), log: silentLog };
beforeEach(() => emptyTables(sql));

const NDJSON = "application/x-ndjson";

function send(
  ask: AskRaw,
  path: string,
  body: string,
  type: string | null = NDJSON,
  as: object = bearer(WRITER),
) {
  return ask("POST", `/api/ledger/${path}`, {
    headers: { ...as, ...(type === null ? {} : { "content-type": type }) },
    body,
  });
}

const ENTRY = {
  entry_id: "e1",
  callback: "placeBets",
  request_id: "request-1",
  product_id: "P1",
  username: "anna",
  currency: "THB",
  txn_id: "bet-1",
  status: "OPEN",
  bet_amount: 10.25,
  skip_balance_update: false,
  occurred_at: "2026-11-20T10:00:00Z",
  received_at: "2026-11-20T10:00:00Z",
};
const entries = (...ids: string[]) =>
  ids.map((id) => `${JSON.stringify({ ...ENTRY, entry_id: id })}\n`).join("");
const CALLBACK = {
  callback: "placeBets",
  receivedAt: "2026-11-20T10:00:00Z",
  request: {
    id: "request-1",
    timestampMillis: Date.parse("2026-11-20T10:00:00Z"),
    productId: "P1",
    username: "anna",
    currency: "THB",
    txns: [{ id: "bet-1", status: "OPEN", roundId: "round-1", betAmount: 10.25 }],
  },
  response: { statusCode: 0, balanceBefore: 20, balanceAfter: 9.75 },
};
const count = async () => (await sql`select entry_id from callback_entries`).length;

test("entries are added, known the second time, and a bad line stops no other", async () => {
  const ask = await serveOps(context);
  const body = `${entries("e1", "e2")}oh no\n${entries("e3")}`;
  const rejected = [{ line: 3, reason: "the line is not JSON" }];
  const answer = await send(ask, "entries", body);
  expect(answer).toMatchObject({
    status: 200,
    json: { added: 3, known: 0, changed: 0, skipped: 0, rejected },
  });
  expect((await send(ask, "entries", body)).json).toEqual({
    added: 0,
    known: 3,
    changed: 0,
    skipped: 0,
    rejected,
  });
  expect(await count()).toBe(3);
});

test("entries may be CSV", async () => {
  const ask = await serveOps(context);
  const body = `${Object.keys(ENTRY).join(",")}\n${Object.values(ENTRY).join(",")}\n`;
  expect((await send(ask, "entries", body, "text/csv; charset=utf-8")).json).toMatchObject({
    added: 1,
    rejected: [],
  });
  expect(await send(ask, "entries", "id,amount\n1,2\n", "text/csv")).toMatchObject({
    status: 400,
    json: { detail: expect.stringContaining("the column entry_id is missing") },
  });
});

test("callbacks become entries; those that were refused are skipped", async () => {
  const ask = await serveOps(context);
  const refused = { ...CALLBACK, response: { statusCode: 10002 } };
  const body = [CALLBACK, refused].map((one) => JSON.stringify(one)).join("\n");
  expect((await send(ask, "callbacks", body)).json).toEqual({
    added: 1,
    known: 0,
    changed: 0,
    skipped: 1,
    rejected: [],
  });
  expect(await sql`select moved, balance_after from callback_entries`).toEqual([
    { moved: "-10.25", balance_after: "9.75" },
  ]);
});

describe("what is refused says what would be right, and takes nothing", () => {
  test.each([
    [
      "another content type",
      "entries",
      "application/json",
      415,
      'the content type is "application/json", but must be application/x-ndjson',
    ],
    [
      "no content type",
      "entries",
      null,
      415,
      "the content type is missing, but must be application/x-ndjson",
    ],
    [
      "CSV of callbacks",
      "callbacks",
      "text/csv",
      415,
      'the content type is "text/csv", but must be application/x-ndjson',
    ],
  ])("%s", async (_what, path, type, status, detail) => {
    const ask = await serveOps(context);
    const answer = await send(ask, path, entries("e1"), type);
    expect(answer.headers["content-type"]).toMatch(/^application\/problem\+json/);
    expect(answer).toMatchObject({ status, json: { status, detail: expect.stringContaining(detail) } });
    expect(await count()).toBe(0);
  });

  test("a body that is packed", async () => {
    const ask = await serveOps(context);
    const headers = { ...bearer(WRITER), "content-type": NDJSON, "content-encoding": "gzip" };
    expect(await ask("POST", "/api/ledger/entries", { headers, body: entries("e1") })).toMatchObject({
      status: 415,
      json: { detail: 'Content-Encoding is "gzip", but must be identity: send the body uncompressed' },
    });
    expect(await count()).toBe(0);
  });

  test.each([
    ["callbacks", () => entries("e1"), "these lines are entries, not callbacks. Nothing was imported"],
    [
      "entries",
      () => JSON.stringify(CALLBACK),
      "these lines are callbacks, not entries. Nothing was imported",
    ],
  ])("lines that belong elsewhere, as %s", async (path, body, detail) => {
    const ask = await serveOps(context);
    expect(await send(ask, path, body())).toMatchObject({ status: 400, json: { detail } });
    expect(await count()).toBe(0);
    expect(await sql`select from rejected_entries`).toHaveLength(0);
  });

  test("more than 16 MB", async () => {
    const ask = await serveOps(context);
    const headers = { ...bearer(WRITER), "content-type": NDJSON, "content-length": 16 * 1024 * 1024 + 1 };
    expect(await ask("POST", "/api/ledger/entries", { headers, body: entries("e1") })).toMatchObject({
      status: 413,
      json: { detail: expect.stringContaining("the body is larger than 16 MB: send it in several requests") },
    });
    expect(await count()).toBe(0);
  });

  test("more than four at once", async () => {
    const ask = await serveOps(context);
    const longer = { ...bearer(WRITER), "content-type": NDJSON, "content-length": entries("e1").length + 1 };
    for (let begun = 0; begun < 4; begun += 1) {
      // The last byte never comes: the end of the server ends them.
      void ask("POST", "/api/ledger/entries", { headers: longer, body: entries("e1") }).catch(() => {});
    }
    const send5 = () => send(ask, "callbacks", "");
    await eventually("four are under way", async () => (await send5()).status === 503);
    expect(await send5()).toMatchObject({
      status: 503,
      headers: { "retry-after": "1" },
      json: {
        detail: expect.stringMatching(/^4 imports are under way.* send it again when one of them has ended/),
      },
    });
  });

  test.each([
    ["arrive", { requestMs: 1_000 }],
    ["go on arriving", { stillMs: 500 }],
  ])("a body that does not %s, so that it holds no other up", async (_, limits) => {
    const ask = await serveOps(context, TOKENS, limits);
    const longer = { ...bearer(WRITER), "content-type": NDJSON, "content-length": entries("e1").length + 1 };
    const late = Array.from({ length: 4 }, () =>
      ask("POST", "/api/ledger/entries", { headers: longer, body: entries("e1") }),
    );
    for (const answer of await Promise.all(late)) {
      expect(answer).toMatchObject({
        status: 408,
        json: { detail: "the request did not arrive completely in time: send it again" },
      });
    }
    await eventually("there is room", async () => (await send(ask, "entries", "")).status === 200);
    expect(await count()).toBe(0);
  });

  test("more than 10,000 lines", async () => {
    const ask = await serveOps(context);
    expect(await send(ask, "entries", `${entries("e1")}${"{}\n".repeat(10_000)}`)).toMatchObject({
      status: 413,
      json: { detail: expect.stringContaining("the body has 10001 lines, but may have 10000") },
    });
    expect(await count()).toBe(0);
  });

  test.each(["entries", "callbacks"])("a token that is not in OPS_TOKENS, for %s", async (path) => {
    const ask = await serveOps(context);
    const body = path === "entries" ? entries("e1") : JSON.stringify(CALLBACK);
    expect(await send(ask, path, body, NDJSON, bearer({ token: "another" }))).toMatchObject({
      status: 401,
      json: {
        detail: 'this token is not in OPS_TOKENS: send "Authorization: Bearer …" with a token of OPS_TOKENS',
      },
    });
    expect(await count()).toBe(0);
  });
});

test("the audit log shows who sent how many lines, and not what they say", async () => {
  const ask = await serveOps(context);
  await send(ask, "entries", entries("e1", "e2"));
  const { audit } = (await ask("GET", "/api/audit", { headers: bearer(READER) })).json;
  expect(audit).toEqual([
    expect.objectContaining({
      who: "hand",
      route: "/api/ledger/entries",
      details: { lines: 2, bytes: entries("e1", "e2").length },
      status: 200,
    }),
  ]);
});

test("the same lines in several requests at the same time are each added once", async () => {
  const ask = await serveOps(context);
  const ids = Array.from({ length: 3_000 }, (_, index) => `e${(index * 7919) % 3_000}`);
  const answers = await Promise.all([
    send(ask, "entries", entries(...ids)),
    send(ask, "entries", entries(...ids.toReversed())),
    send(ask, "entries", entries(...ids.toSorted())),
  ]);
  const sum = (name: string) => answers.reduce((total, { json }) => total + json[name], 0);
  expect([sum("added"), sum("known"), sum("changed"), await count()]).toEqual([3_000, 6_000, 0, 3_000]);
});
