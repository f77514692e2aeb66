import { beforeEach, expect, test } from "vitest";
import { formatInstant } from "../../src/clock.ts";
import { emptyTables, useDatabase } from "../support/database.ts";
import { HOUR_MS, NOON } from "../support/examples.ts";
import { problemWith, serveApi } from "../support/ops-api.ts";
import { listedRecords, openPastWorld, PRODUCT } from "../support/past-world.ts";
import { pullProduct } from "../support/pull-product.ts";

const { sql } = useDatabase();

beforeEach(async () => {
  await emptyTables(sql);
});

const pathOf = (query: Record<string, string>) => `/api/coverage?${new URLSearchParams(query)}`;
const ASKED = { product: PRODUCT, from: "2026-11-20T06:00:00Z", to: "2026-11-20T10:00:00Z" };

test("coverage shows gaps and windows", async () => {
  const { context } = await openPastWorld(sql, {
    since: formatInstant(NOON - 5 * HOUR_MS),
    pull: { settleDelay: "PT0S" },
    faults: [{ when: { hoursUtc: [8] }, do: { kind: "code", code: 7 } }],
  });
  await pullProduct(context, PRODUCT, new AbortController().signal);
  const ask = await serveApi(context);
  const answer = await ask("GET", pathOf(ASKED));
  expect(answer).toMatchObject({
    status: 200,
    json: {
      productId: PRODUCT,
      from: "2026-11-20T06:00:00.000Z",
      to: "2026-11-20T10:00:00.000Z",
      complete: false,
      gaps: [
        { from: "2026-11-20T06:00:00.000Z", to: "2026-11-20T07:00:00.000Z", reason: "not-fetched" },
        { from: expect.any(String), to: expect.any(String), reason: "provider-rejected" },
      ],
    },
  });
  const [, failed] = answer.json.gaps;
  expect(Date.parse(failed.from)).toBeLessThanOrEqual(NOON - 4 * HOUR_MS);
  expect(Date.parse(failed.to)).toBeGreaterThanOrEqual(NOON - 3 * HOUR_MS);
  const [first] = answer.json.windows;
  expect(first).toEqual({
    from: "2026-11-20T07:00:00.000Z",
    to: expect.any(String),
    kind: "live",
    records: listedRecords({ from: NOON - 5 * HOUR_MS, to: Date.parse(first.to) }).length,
    pages: expect.any(Number),
    fetchedAt: expect.stringMatching(/^2026-11-20T12:0/),
  });
});

test("a range may reach beyond all stored times", async () => {
  const { context } = await openPastWorld(sql);
  const ask = await serveApi(context);
  const range = { from: "0000-01-01T00:00:00Z", to: "9999-12-31T23:00:00-14:00" };
  const { status, json } = await ask("GET", pathOf({ product: PRODUCT, ...range }));
  expect([status, json.complete, json.windows]).toEqual([200, false, []]);
  const query = new URLSearchParams(range);
  expect(await ask("GET", `/api/mismatches?${query}`)).toMatchObject({ status: 200 });
  expect(await ask("GET", "/api/report?day=1000-01-01&zone=Asia/Bangkok")).toMatchObject({ status: 200 });
});

test.each<[what: string, changes: Record<string, string>, detail: string]>([
  ["an unknown product", { product: "NONE" }, 'there is no product "NONE"; it is one of'],
  ["a product that is never pulled", { product: "WALLET" }, 'product "WALLET" has the wallet mode transfer'],
  [
    "a bad time",
    { from: "yesterday" },
    'from must be a date-time with an offset such as 2026-11-20T10:00:00Z, but is "yesterday"',
  ],
  [
    "an end before the beginning",
    { to: ASKED.from },
    `from "${ASKED.from}" is not before to "${ASKED.from}"`,
  ],
  [
    "an unknown parameter",
    { productId: PRODUCT },
    'there is no field "productId"; it is one of product, from, to',
  ],
])("%s is refused, and the error names field and value", async (_, changes, detail) => {
  const { context } = await openPastWorld(sql);
  const ask = await serveApi(context);
  expect(await ask("GET", pathOf({ ...ASKED, ...changes }))).toEqual(problemWith(400, detail));
});
