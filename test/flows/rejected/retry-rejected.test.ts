/** What could not be used, and is read again: a page of a real provider, and rows of a ledger by plain SQL. */

import { afterAll, beforeEach, describe, expect, test } from "vitest";
import { parseConfig } from "../../../src/config-file.ts";
import { compareProduct } from "../../../src/flows/compare/compare-product.ts";
import { followLedger } from "../../../src/flows/ledger/follow-ledger.ts";
import { importLedger } from "../../../src/flows/ledger/import-ledger.ts";
import { readStatus } from "../../../src/flows/read/read-status.ts";
import { listRejected, readRejected } from "../../../src/flows/rejected/read-rejected.ts";
import { retryNext, retryThese } from "../../../src/flows/rejected/retry-rejected.ts";
import { appendEntries } from "../../../src/ledger/store.ts";
import { silentLog } from "../../../src/log.ts";
import { listMismatches } from "../../../src/mismatches/store.ts";
import { openProvider } from "../../../src/provider/client.ts";
import type { RejectedRef } from "../../../src/rejected.ts";
import { createTestClock } from "../../support/clock.ts";
import { emptyTables, useDatabase } from "../../support/database.ts";
import { HOUR_MS, NOON } from "../../support/examples.ts";
import { betItem, CREDENTIALS, page, useHttpProvider } from "../../support/http-provider.ts";
import { pullProduct } from "../../support/pull-product.ts";
import { callbacksOf } from "../compare/comparison-world.ts";

const { sql } = useDatabase();
const clock = createTestClock(NOON);
const provider = useHttpProvider();
const never = new AbortController().signal;
const closings: (() => void)[] = [];
afterAll(() => {
  for (const close of closings) close();
});

/** A worker that was started with these products; since 11:30. */
function startedWith(products: readonly object[], ledger: object = {}) {
  const config = parseConfig({
    products: products.map((product) => ({ since: "2026-11-20T11:30:00Z", ...product })),
    ledger,
  });
  const limits = { requestTimeoutMs: 30_000, connections: 2, production: false };
  const client = openProvider({ baseUrl: provider.url(), ...CREDENTIALS }, limits, clock);
  closings.push(() => client.close());
  return { sql, config, clock, log: silentLog, fetchPage: client.fetchBetPage.bind(client) };
}
type Context = ReturnType<typeof startedWith>;

const P1 = { productId: "P1" };
const P2 = { productId: "P2" };
const ALL = { side: null, kind: null, productId: null, reason: null, since: null };
const NONE = { accepted: 0, known: 0, stillRejected: 0 };
const listed = async (context: Context, choice = {}) =>
  (await listRejected(context, { ...ALL, ...choice }, { after: null, limit: 100 })).rejected;
const ref = (side: RejectedRef["side"], row: number): RejectedRef => ({ side, row });
const retryAll = (context: Context) => retryNext(context, null, 1_000);
const mismatches = async () => {
  const filter = { statuses: [], kind: null, productId: null, username: null, limit: 100, after: null };
  const found = (await listMismatches(sql, filter)).mismatches;
  return found.map(({ kind, productId, betId }) => `${kind} of ${betId} in ${productId}`);
};

beforeEach(async () => {
  await emptyTables(sql);
  clock.set(NOON);
});

describe("a record of a product that is not in the config", () => {
  const listsAll = () =>
    provider.answer(({ from, to }) => {
      const at = Date.parse("2026-11-20T11:59:00Z");
      const items = [
        betItem(),
        betItem({
          id: '"rec-2"',
          betId: '"bet-2"',
          productId: '"P2"',
          payout: "25.00",
          payoutStatus: '"WIN"',
        }),
      ];
      return page(from <= at && at < to ? items : []);
    });

  test("is accepted once the product is there, and compared", async () => {
    listsAll();
    const before = startedWith([P1]);
    await appendEntries(sql, callbacksOf("30.00", { productId: "P2", txnId: "bet-2" }));
    clock.set(NOON + HOUR_MS);
    await pullProduct(before, "P1", never);
    const reason = 'productId is "P2", but "P1" was asked for';
    expect(await listed(before)).toMatchObject([{ id: "record-1", side: "record", productId: "P1", reason }]);
    expect((await readRejected(before, "record-1")).toDo).toMatch(
      /add it to the products of the config, restart/,
    );
    const notYet = 'productId is "P2", which is not among the products of the config';
    expect(await retryAll(before)).toEqual({
      records: { ...NONE, stillRejected: 1 },
      entries: NONE,
      stayed: [{ id: "record-1", reason: notYet }],
      next: null,
    });
    expect((await readRejected(before, "record-1")).reason).toBe(notYet);

    const after = startedWith([P1, P2]);
    expect((await readRejected(after, "record-1")).toDo).toBe(
      "It can be read now as a record of P2: retry it.",
    );
    expect((await retryAll(after)).records).toEqual({ ...NONE, accepted: 1 });
    expect(await sql`select product_id, payout from bet_records where bet_id = 'bet-2'`).toEqual([
      { product_id: "P2", payout: "25" },
    ]);
    expect((await readStatus(after)).rejected).toEqual({ records: 0, entries: 0 });
    clock.set(NOON + 3 * HOUR_MS);
    await compareProduct(after, "P2", never);
    await pullProduct(after, "P2", never).catch(() => {});
    await compareProduct(after, "P2", never);
    expect(await mismatches()).toContain("payout-differs of bet-2 in P2");
  });

  test("is not accepted if its product has the wallet mode transfer", async () => {
    listsAll();
    clock.set(NOON + HOUR_MS);
    await pullProduct(startedWith([P1]), "P1", never);
    const after = startedWith([P1, { ...P2, walletMode: "transfer" }]);
    expect((await retryAll(after)).stayed).toEqual([
      { id: "record-1", reason: expect.stringContaining('walletMode is "transfer"') },
    ]);
  });

  test.each([
    ["older", "2026-11-20T18:58:00+07:00", "40"],
    ["as old, and was asked for earlier", "2026-11-20T18:59:00+07:00", "40"],
    ["newer", "2026-11-20T18:59:30+07:00", "25"],
  ])("replaces what is there only if it is newer: it is %s", async (_, updatedDate, payout) => {
    provider.answer(() =>
      page([
        betItem({ productId: '"P2"', payout: "25", payoutStatus: '"WIN"', updatedDate: `"${updatedDate}"` }),
      ]),
    );
    await pullProduct(startedWith([P1]), "P1", never);
    clock.set(NOON + HOUR_MS);
    const after = startedWith([P1, P2]);
    provider.answer(() => page([betItem({ productId: '"P2"', payout: "40", payoutStatus: '"WIN"' })]));
    await pullProduct(after, "P2", never);
    const isKnown = payout === "40";
    const counts = isKnown ? { known: 1 } : { accepted: 1 };
    expect((await retryAll(after)).records).toEqual({ ...NONE, ...counts });
    expect(await sql`select payout from bet_records`).toEqual([{ payout }]);
    expect(await listed(after)).toEqual([]);
  });

  test("is taken once by two retries at the same time, and the counts stay true", async () => {
    const many = Array.from({ length: 500 }, (_, n) =>
      betItem({ id: `"r${n}"`, betId: `"b${n}"`, productId: '"P2"' }),
    );
    provider.answer(({ from }) => page(from <= Date.parse("2026-11-20T11:30:00Z") ? many : []));
    await pullProduct(startedWith([P1]), "P1", never);
    const after = startedWith([P1, P2]);
    expect((await readStatus(after)).rejected.records).toBe(500);
    const retried = await Promise.all([retryAll(after), retryAll(after)]);
    expect(retried.reduce((sum, { records }) => sum + records.accepted, 0)).toBe(500);
    expect(retried.map(({ records }) => records.known + records.stillRejected)).toEqual([0, 0]);
    expect((await readStatus(after)).rejected.records).toBe(0);
    expect(await sql`select from bet_records where product_id = 'P2'`).toHaveLength(500);
  });
});

test("records that are still wrong stay, with the reason of now", async () => {
  provider.answer(() =>
    page([betItem({ stake: '"ten"' }), betItem({ gameName: `"${"x".repeat(20_000)}"` })]),
  );
  const context = startedWith([P1]);
  await pullProduct(context, "P1", never);
  await sql`update rejected_records set reason = 'as an older version said it' where reason like '%stake%'`;
  const { records, stayed } = await retryAll(context);
  expect(records).toEqual({ ...NONE, stillRejected: 2 });
  expect(stayed.map(({ reason }) => reason).sort()).toEqual([
    "stake must be a number, but is ten",
    "the record is longer than 16384 bytes; only its beginning is kept",
  ]);
  expect((await listed(context)).map(({ reason }) => reason)).toContain("stake must be a number, but is ten");
});

const INSERT = `insert into callback_entries (entry_id, callback, request_id, product_id, username, currency, txn_id,
  round_id, status, bet_amount, skip_balance_update, occurred_at, received_at)`;
const entry = (id: string, amount: string, product = "P1") =>
  sql.unsafe(`${INSERT} values ('${id}', 'placeBets', 'q', '${product}', 'anna', 'THB', 'bet-1', 'round-1', 'OPEN',
    '${amount}', false, '2026-11-20T11:55:00Z', '2026-11-20T11:55:00Z')`);

describe("an entry that cannot be used", () => {
  test("stays, with the reason; what can be used now is an entry, and marked for comparison", async () => {
    const context = startedWith([P1]);
    await entry("e1", "NaN");
    await entry("e2", "NaN");
    await sql`update rejected_entries set raw = replace(raw, '"NaN"', '10.00') where entry_id = 'e2'`;
    await sql`delete from diff_marks`;
    const { entries, stayed } = await retryAll(context);
    expect(entries).toEqual({ accepted: 1, known: 0, stillRejected: 1 });
    expect(stayed).toEqual([{ id: "entry-1", reason: expect.stringMatching(/bet_amount.*NaN/) }]);
    expect(await sql`select entry_id, bet_amount from callback_entries`).toEqual([
      { entry_id: "e2", bet_amount: "10" },
    ]);
    expect(await sql`select bet_refs from diff_marks`).not.toEqual([]);
  });

  test("that was written meanwhile as it should be leaves it as it is", async () => {
    const context = startedWith([P1], { rowsChange: "replace" });
    await entry("e1", "NaN");
    await entry("e1", "12.00");
    await sql`update rejected_entries set raw = replace(raw, '"NaN"', '10.00')`;
    expect((await retryAll(context)).entries).toEqual({ ...NONE, known: 1 });
    expect(await sql`select bet_amount from callback_entries`).toEqual([{ bet_amount: "12.00" }]);
  });

  test("whose text PostgreSQL refuses stops no other", async () => {
    const context = startedWith([P1]);
    for (const id of ["e1", "e2", "e3"]) await entry(id, "NaN");
    await sql`update rejected_entries set raw = replace(raw, '"NaN"', '10.00')`;
    await sql`update rejected_entries set raw = replace(raw, '2026-11-20T11:55', '290000-11-20T11:55') where entry_id = 'e2'`;
    const { entries, stayed } = await retryAll(context);
    expect(entries).toEqual({ accepted: 2, known: 0, stillRejected: 1 });
    expect(stayed).toMatchObject([{ id: "entry-2" }]);
  });
});

describe("a refused change", () => {
  const change = (amount: string) => sql`update callback_entries set bet_amount = ${amount}::text::numeric`;
  const amounts = async () =>
    (await sql`select bet_amount from callback_entries`).map((row) => row["bet_amount"]);

  test("stays while rows may not change, and is made once they may; the newest of several counts", async () => {
    const never_ = startedWith([P1]);
    await followLedger(never_, never);
    await entry("e1", "10.00");
    await change("11.00");
    await change("12.00");
    expect((await retryAll(never_)).entries).toEqual({ ...NONE, stillRejected: 2 });
    expect((await readRejected(never_, "entry-1")).toDo).toMatch(/set ledger.rowsChange to "replace"/);
    expect(await amounts()).toEqual(["10.00"]);

    const replace = startedWith([P1], { rowsChange: "replace" });
    expect((await retryThese(replace, [ref("entry", 1)])).stayed).toEqual([
      { id: "entry-1", reason: "entry-2 is a later change of the same entry: retry that one first" },
    ]);
    expect((await retryAll(replace)).entries).toEqual({ accepted: 1, known: 1, stillRejected: 0 });
    expect(await amounts()).toEqual(["12"]);
    expect(await sql`select change from entry_versions`).toEqual([{ change: "replaced" }]);
  });

  test("never undoes a later one that was made", async () => {
    await followLedger(startedWith([P1]), never);
    await entry("e1", "10.00");
    await change("11.00");
    const replace = startedWith([P1], { rowsChange: "replace" });
    await followLedger(replace, never);
    await change("13.00");
    expect((await retryAll(replace)).entries).toEqual({ ...NONE, known: 1 });
    expect(await amounts()).toEqual(["13.00"]);
  });

  test("that was a delete deletes the entry", async () => {
    await followLedger(startedWith([P1]), never);
    await entry("e1", "10.00");
    await sql`delete from callback_entries`;
    expect(await amounts()).toEqual(["10.00"]);
    const replace = startedWith([P1], { rowsChange: "replace" });
    expect((await retryAll(replace)).entries).toEqual({ ...NONE, accepted: 1 });
    expect(await amounts()).toEqual([]);
    expect(await sql`select change from entry_versions`).toEqual([{ change: "deleted" }]);
  });
});

test("lines of an import are read again as the import reads them: JSON, CSV, and recorded callbacks", async () => {
  const context = startedWith([P1]);
  const columns =
    "entry_id,callback,request_id,product_id,username,currency,txn_id,status,bet_amount,skip_balance_update,occurred_at,received_at";
  const at = "2026-11-20T11:55:00Z";
  const importText = (text: string, format: "entries" | "callbacks") =>
    importLedger(
      context,
      (async function* () {
        yield Buffer.from(text);
      })(),
      { format, shape: null, onImported: () => {} },
    );
  await importText(`${columns}\nc1,placeBets,q,P1,anna,THB,bet-1,OPEN,wrong,false,${at},${at}\n`, "entries");
  const request = {
    id: "q7",
    productId: "P1",
    username: "anna",
    currency: "THB",
    timestampMillis: Date.parse(at),
    txns: [{ id: "bet-7", status: "OPEN", roundId: "r", betAmount: "wrong", skipBalanceUpdate: false }],
  };
  await importText(
    `${JSON.stringify({ callback: "placeBets", receivedAt: at, request, response: null })}\n`,
    "callbacks",
  );
  await importText("{no JSON\n[]\n", "entries");
  const first = await retryAll(context);
  expect(first.entries).toMatchObject({ accepted: 0 });
  expect(first.stayed.map(({ reason }) => reason)).toContain(
    "the line must be a JSON object with the columns of the ledger",
  );
  await sql`update rejected_entries set raw = replace(replace(raw, '"betAmount":"wrong"', '"betAmount":10'), '"bet_amount":"wrong"', '"bet_amount":"10.00"')`;
  const { entries, stayed } = await retryAll(context);
  expect({ entries, stayed }).toMatchObject({ entries: { accepted: 2 } });
  expect(await sql`select txn_id, bet_amount from callback_entries order by txn_id`).toEqual([
    { txn_id: "bet-1", bet_amount: "10.00" },
    { txn_id: "bet-7", bet_amount: "10" },
  ]);
});
