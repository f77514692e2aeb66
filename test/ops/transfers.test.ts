import { beforeEach, describe, expect, test } from "vitest";
import { parseConfig } from "../../src/config-file.ts";
import { silentLog } from "../../src/log.ts";
import { createTestClock } from "../support/clock.ts";
import { emptyTables, useDatabase } from "../support/database.ts";
import { NOON } from "../support/examples.ts";
import { type AskApi, problemWith, serveApi } from "../support/ops-api.ts";
import { OWN_PAGE, READER, serveOps, TOKENS, WRITER } from "../support/ops-browser.ts";

const { sql } = useDatabase();
const config = parseConfig({ products: [{ productId: "P1" }, { productId: "W1", walletMode: "transfer" }] });
const context = { sql, config, clock: createTestClock(NOON), log: silentLog };
const GIVEN = {
  username: "anna",
  productId: "W1",
  currency: "THB",
  transactionRef: "ref-1",
  type: "DEPOSIT",
  amount: "10.00",
  sentAt: "2026-11-20T18:59:00+07:00",
};
const HANDED = {
  transactionRef: "ref-1",
  productId: "W1",
  username: "anna",
  type: "DEPOSIT",
  amount: "10.00",
  currency: "THB",
  status: "pending",
  attempts: 0,
  sentAt: "2026-11-20T11:59:00.000Z",
  // The first delay had passed when it was handed over.
  nextVerifyAt: "2026-11-20T12:00:00.000Z",
  decidedAt: null,
};

beforeEach(async () => {
  await emptyTables(sql);
});

const add = (ask: AskApi, changes: object = {}, token?: string) =>
  ask("POST", "/api/transfers", {
    body: { ...GIVEN, ...changes },
    ...(token === undefined ? {} : { token }),
  });
const refsOf = (json: { transfers: { transactionRef: string }[] }) =>
  json.transfers.map(({ transactionRef }) => transactionRef);

test("the API takes over, lists and shows a transfer; the same transfer again has no effect", async () => {
  const ask = await serveApi(context);
  expect(await add(ask)).toMatchObject({ status: 201, json: { transfer: HANDED } });
  expect(await add(ask, { amount: "10.00" })).toMatchObject({ status: 200, json: { transfer: HANDED } });
  expect((await ask("GET", "/api/transfers")).json).toEqual({ transfers: [HANDED], next: null });
  expect((await ask("GET", "/api/transfers/ref-1")).json).toEqual({
    ...HANDED,
    kind: "transfer",
    handedAt: "2026-11-20T12:00:00.000Z",
    rejectedAt: null,
    mismatchKind: null,
    closedBy: null,
    note: null,
    answers: [],
  });
});

test("its ref with other content is a conflict that names both values", async () => {
  const ask = await serveApi(context);
  await add(ask);
  const both = 'is known already, with currency "THB", not "USD"; amount 10.00, not 11.00';
  expect(await add(ask, { amount: "11.00", currency: "USD" })).toEqual(problemWith(409, both));
});

test.each<[what: string, changes: object, detail: string]>([
  ["an unknown product", { productId: "NONE" }, 'there is no productId "NONE"; it is one of P1, W1'],
  ["an amount as a number", { amount: 10 }, "amount must be text with two decimals"],
  ["no type", { type: undefined }, "type is missing"],
  ["a time of long ago", { sentAt: "0000-01-01T00:00:00Z" }, "is before 1970"],
  ["an unknown field", { note: "x" }, 'there is no field "note"'],
])("%s is refused, and the error names field and value", async (_, changes, detail) => {
  const ask = await serveApi(context);
  expect(await add(ask, changes)).toEqual(problemWith(400, detail));
  expect(await sql`select from transfers`).toHaveLength(0);
});

test("a body that is too large, or no transfer, is refused", async () => {
  const ask = await serveApi(context);
  expect(await ask("POST", "/api/transfers", { body: [GIVEN] })).toEqual(
    problemWith(400, "must be a JSON object"),
  );
  expect(await add(ask, { username: "x".repeat(70_000) })).toMatchObject({ status: 413 });
});

test("the list is filtered", async () => {
  const ask = await serveApi(context);
  await add(ask, { transactionRef: "a" });
  await add(ask, { transactionRef: "d", username: "bob", productId: "P1" });
  for (const query of ["username=bob", "product=P1"]) {
    expect(refsOf((await ask("GET", `/api/transfers?${query}`)).json)).toEqual(["d"]);
  }
  expect(refsOf((await ask("GET", "/api/transfers?status=accepted,rejected")).json)).toEqual([]);
  expect(refsOf((await ask("GET", "/api/transfers?kind=top-up")).json)).toEqual([]);
});

describe("the list by amount", () => {
  const AMOUNTS = [
    ["a", "THB", "10.00"],
    ["b", "THB", "9.50"],
    ["c", "EUR", "9.50"],
    ["d", "THB", "10.00"],
    ["e", "EUR", "1000.00"],
    ["f", "THB", "100.00"],
  ] as const;
  const BY_AMOUNT = ["e", "c", "f", "d", "a", "b"];

  test("is kept on the page, from page to page", async () => {
    await fill(await serveApi(context));
    const show = await serveOps(context, []);
    const { text } = await show("GET", "/transfers?status=pending&currency=THB&sort=amount", {
      headers: OWN_PAGE,
    });
    expect(text).toContain("First the largest of each currency");
    expect(text).toContain('<option value="amount" selected>');
    const refs = [...text.matchAll(/href="\/transfers\/([^"?]+)">/g)].map(([, ref]) => ref);
    const ask = await serveApi(context);
    const { json } = await ask("GET", "/api/transfers?status=pending&currency=THB&sort=amount");
    expect(refs).toEqual(refsOf(json));
  });

  async function fill(ask: AskApi) {
    for (const [transactionRef, currency, amount] of AMOUNTS)
      await add(ask, { transactionRef, currency, amount });
  }

  test.each([1, 2, 4, 6])("has each transfer once, by currency, in pages of %i", async (limit) => {
    const ask = await serveApi(context);
    await fill(ask);
    const refs: string[] = [];
    for (let after: string | null = ""; after !== null; ) {
      const place: string = after === "" ? "" : `&after=${encodeURIComponent(after)}`;
      const { json } = await ask("GET", `/api/transfers?status=pending&sort=amount&limit=${limit}${place}`);
      refs.push(...refsOf(json));
      after = json.next;
    }
    expect(refs).toEqual(BY_AMOUNT);
  });

  test("can be of one currency, and goes on where it was if a transfer is added or deleted", async () => {
    const ask = await serveApi(context);
    await fill(ask);
    const path = "/api/transfers?status=pending&sort=amount&currency=THB&limit=2&count=true";
    const { json } = await ask("GET", path);
    expect([refsOf(json), json.count]).toEqual([["f", "d"], 4]);
    await add(ask, { transactionRef: "g", amount: "500.00" });
    await sql`delete from transfers where transaction_ref = 'd'`;
    const { json: second } = await ask("GET", `${path}&after=${encodeURIComponent(json.next)}`);
    expect([refsOf(second), second.next]).toEqual([["a", "b"], null]);
  });

  test.each(["9", "THB~x~1", "THB~1~"])("refuses %j as a position", async (after) => {
    const asked = (await serveApi(context))(
      "GET",
      `/api/transfers?status=pending&sort=amount&after=${after}`,
    );
    expect(await asked).toEqual(problemWith(400, `after "${after}" is not a position in the list by amount`));
  });

  test.each(["", "&status=accepted", "&status=pending,accepted"])(
    "needs few statuses, not %j",
    async (status) => {
      const asked = (await serveApi(context))("GET", `/api/transfers?sort=amount${status}`);
      const words = 'sort "amount" needs status, one or several of pending, rejected, inconclusive: accepted';
      expect(await asked).toEqual(problemWith(400, words));
    },
  );
});

test.each(["status=gone", "kind=x", "product=NONE", "kind=a&kind=b"])(
  "a list with %s is refused",
  async (query) => {
    const ask = await serveApi(context);
    const [name = ""] = query.split("=");
    expect(await ask("GET", `/api/transfers?${query}`)).toEqual(problemWith(400, name));
  },
);

test("a ref of any characters and length is found", async () => {
  const ask = await serveApi(context);
  for (const ref of ["a/b c%?#ä", "x".repeat(200)]) {
    expect((await add(ask, { transactionRef: ref })).status).toBe(201);
    const found = await ask("GET", `/api/transfers/${encodeURIComponent(ref)}`);
    expect(found).toMatchObject({ status: 200, json: { transactionRef: ref } });
  }
  expect(await ask("GET", "/api/transfers/ref-7")).toEqual(problemWith(404, 'there is no transfer "ref-7"'));
  expect((await ask("GET", "/api/transfers/a%00b")).status).toBe(404);
});

test("an inconclusive transfer is closed in the name of the token; any other is a conflict", async () => {
  const ask = await serveApi(context, TOKENS);
  const { token } = WRITER;
  expect((await add(ask, {}, token)).status).toBe(201);
  const close = (body: object) => ask("POST", "/api/transfers/ref-1/close", { body, token });
  expect(await close({ note: "seen" })).toEqual(
    problemWith(409, "only an inconclusive transfer can be closed"),
  );
  await sql`update transfers set status = 'inconclusive'`;
  expect(await close({})).toEqual(problemWith(400, "note is missing"));
  expect(await close({ note: " " })).toEqual(problemWith(400, "note is empty"));
  expect(await close({ note: "seen", as: "accepted" })).toEqual(problemWith(400, 'there is no field "as"'));
  const closed = {
    ...HANDED,
    status: "inconclusive",
    decidedAt: "2026-11-20T12:00:00.000Z",
    nextVerifyAt: null,
  };
  expect(await close({ note: "seen" })).toMatchObject({ status: 200, json: { transfer: closed } });
  expect((await ask("GET", "/api/transfers/ref-1", { token: READER.token })).json).toMatchObject({
    closedBy: "hand",
    note: "seen",
  });
  expect(await close({ note: "again" })).toEqual(
    problemWith(409, "hand closed it at 2026-11-20T12:00:00.000Z"),
  );
  const unknown = await ask("POST", "/api/transfers/none/close", { body: { note: "x" }, token });
  expect(unknown).toEqual(problemWith(404, 'there is no transfer "none"'));
});
