import { beforeEach, expect, test } from "vitest";
import { parseConfig } from "../../src/config-file.ts";
import { openBackfillRunner } from "../../src/flows/pull/run-backfills.ts";
import { silentLog } from "../../src/log.ts";
import { createTestClock } from "../support/clock.ts";
import { emptyTables, useDatabase } from "../support/database.ts";
import { NOON } from "../support/examples.ts";
import { type AskApi, problemWith, serveApi } from "../support/ops-api.ts";

const { sql } = useDatabase();
const config = parseConfig({
  products: [{ productId: "P1" }, { productId: "WALLET", walletMode: "transfer" }],
});
const context = { sql, config, clock: createTestClock(NOON), log: silentLog };
const ASKED = { productId: "P1", from: "2026-11-19T00:00:00+07:00", to: "2026-11-19T05:30:00+07:00" };
const QUEUED = {
  id: "1",
  productId: "P1",
  from: "2026-11-18T17:00:00.000Z",
  to: "2026-11-18T22:30:00.000Z",
  status: "queued",
  windowsTotal: 6,
  windowsDone: 0,
  records: 0,
  created: 0,
  changed: 0,
  unchanged: 0,
  startedAt: null,
  endedAt: null,
};

beforeEach(async () => {
  await emptyTables(sql, ["windows", "backfills"]);
});

const request = (ask: AskApi, changes: object = {}) =>
  ask("POST", "/api/backfills", { body: { ...ASKED, ...changes } });

test("the API requests, shows and lists a backfill", async () => {
  const ask = await serveApi(context);
  expect(await request(ask)).toMatchObject({ status: 201, json: { backfill: QUEUED } });
  expect(await ask("GET", "/api/backfills/1")).toMatchObject({ status: 200, json: { backfill: QUEUED } });
  const list = await ask("GET", "/api/backfills");
  expect(list).toMatchObject({ status: 200, json: { backfills: [QUEUED], next: null } });
});

test("a dry run answers what would be done, and queues nothing", async () => {
  const ask = await serveApi(context);
  expect(await request(ask, { dryRun: true })).toMatchObject({
    status: 200,
    json: {
      backfill: { ...QUEUED, id: null, status: null },
      plan: { windowSeconds: 3598, rangeSeconds: 5.5 * 3600, coveredSeconds: 0 },
    },
  });
  expect((await ask("GET", "/api/backfills")).json.backfills).toEqual([]);
});

test("a backfill is paused, resumed and cancelled", async () => {
  const ask = await serveApi(context);
  await request(ask);
  const change = async (to: string) => (await ask("POST", `/api/backfills/1/${to}`)).json.backfill.status;
  expect(await change("pause")).toBe("paused");
  expect(await change("resume")).toBe("queued");
  expect(await change("cancel")).toBe("cancelled");
});

test("an impossible change is a conflict, and an unknown backfill is not found", async () => {
  const ask = await serveApi(context);
  await request(ask);
  await ask("POST", "/api/backfills/1/cancel");
  expect(await ask("POST", "/api/backfills/1/resume")).toEqual(
    problemWith(409, "backfill 1 is cancelled: it cannot be resumed"),
  );
  expect(await ask("POST", "/api/backfills/7/pause")).toEqual(problemWith(404, 'there is no backfill "7"'));
  expect(await ask("GET", "/api/backfills/x")).toEqual(problemWith(404, 'there is no backfill "x"'));
});

test("a backfill that has run shows its result", async () => {
  const ask = await serveApi(context);
  await request(ask);
  const fetchPage = async () => ({ records: [], rejected: [], nextId: null, requestedAt: 0, tookMs: 1 });
  await openBackfillRunner({ ...context, fetchPage })(new AbortController().signal);
  const { backfill } = (await ask("GET", "/api/backfills/1")).json;
  const at = "2026-11-20T12:00:00.000Z";
  expect(backfill).toEqual({ ...QUEUED, status: "done", windowsDone: 6, startedAt: at, endedAt: at });
});

test.each<[what: string, changes: object, detail: string]>([
  ["an unknown product", { productId: "NONE" }, 'there is no productId "NONE"; it is one of P1, WALLET'],
  [
    "a product that is never pulled",
    { productId: "WALLET" },
    'productId "WALLET" has the wallet mode transfer',
  ],
  ["no product", { productId: undefined }, "productId is missing"],
  ["a product that is no text", { productId: 5 }, "productId must be text, but is 5"],
  ["no time", { to: undefined }, "to is missing"],
  ["a time without an offset", { from: "2026-11-19T00:00:00" }, "from must be a date-time with an offset"],
  ["a day that does not exist", { to: "2026-11-31T00:00:00Z" }, 'but is "2026-11-31T00:00:00Z"'],
  ["an end before the beginning", { to: "2026-11-18T00:00:00Z" }, 'is not before to "2026-11-18T00:00:00Z"'],
  [
    "an end that has not settled",
    { to: "2026-11-20T11:58:01Z" },
    'to "2026-11-20T11:58:01.000Z" has not settled yet',
  ],
  ["too many windows", { from: "1999-01-01T00:00:00Z" }, "ask for a shorter range"],
  [
    "a dry run that is neither true nor false",
    { dryRun: "yes" },
    'dryRun must be true or false, but is "yes"',
  ],
  ["a dry run that is null", { dryRun: null }, "dryRun must be true or false, but is null"],
  ["a misspelled field", { form: ASKED.from, from: undefined }, 'there is no field "form"'],
  [
    "an unknown field",
    { dryrun: true },
    'there is no field "dryrun"; it is one of productId, from, to, dryRun',
  ],
])("%s is refused, and the error names field and value", async (_, changes, detail) => {
  const ask = await serveApi(context);
  expect(await request(ask, changes)).toEqual(problemWith(400, detail));
  expect(await sql`select from backfills`).toHaveLength(0);
});

test.each<[what: string, body: unknown]>([
  ["a list", []],
  ["null", "null"],
  ["no JSON", "{"],
])("a body that is %s is refused", async (_, body) => {
  const ask = await serveApi(context);
  expect(await ask("POST", "/api/backfills", { body })).toEqual(problemWith(400, ""));
});
