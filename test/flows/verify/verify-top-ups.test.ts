import { describe, expect, test } from "vitest";
import type { CallbackEntry } from "../../../src/callback.ts";
import { parseConfig } from "../../../src/config-file.ts";
import { findTransfer } from "../../../src/flows/read/read-transfer.ts";
import { appendEntries } from "../../../src/ledger/store.ts";
import { pickUpTopUps } from "../../../src/verify/row-store.ts";
import { useDatabase } from "../../support/database.ts";
import { amount, exampleEntry, HOUR_MS, MINUTE_MS, NOON } from "../../support/examples.ts";
import { replyWith, topUpAnswer, topUpFailed, useVerifyProvider } from "../../support/verify-provider.ts";
import { deposit, SECOND_MS } from "../../verify/sent.ts";
import { DAY_MS, useVerifyWorld } from "./verify-world.ts";

const { sql } = useDatabase();
const provider = useVerifyProvider();
const world = useVerifyWorld(sql, provider);
const ITEM = { id: "ref-1", time: "2026-11-20T12:00:00Z", amount: 10, type: "TopUp", username: "anna" };

/** A debit of 10.00 THB, taken at noon. */
function debit(fields: Partial<CallbackEntry> = {}): CallbackEntry {
  const moved = { callback: "adjustBalance", txnId: "ref-1", roundId: null, status: "DEBIT" } as const;
  return exampleEntry({ ...moved, occurredAt: NOON - SECOND_MS, receivedAt: NOON, ...fields });
}

const credit = (fields: Partial<CallbackEntry> = {}) =>
  debit({ status: "CREDIT", betAmount: null, payoutAmount: amount("10.00"), ...fields });
const append = (...entries: readonly CallbackEntry[]) => appendEntries(sql, entries);

async function topUps(): Promise<string[]> {
  const rows = await sql<{ text: string }[]>`
    select concat_ws(' ', transaction_ref, product_id, username, type, amount, status) as text from top_ups order by id`;
  return rows.map(({ text }) => text);
}

describe("a top-up", () => {
  test("of a product with a top-up path is verified without being handed over", async () => {
    provider.answer(() => topUpAnswer(ITEM));
    await append(debit());
    await world.verifyAt(0);
    await world.liveUntil(DAY_MS);
    expect(provider.questions).toEqual([
      { path: "/p1_seamless/verify-topup", body: { username: "anna", transactionId: "ref-1" } },
    ]);
    expect(await world.story()).toMatchObject({
      kind: "top-up",
      type: "DEBIT",
      status: "accepted",
      sentAt: "2026-11-20T12:00:00.000Z",
      decidedAt: "2026-11-20T12:00:10.000Z",
      answers: [{ says: "booked", code: "0" }],
    });
    expect(await world.mismatches()).toEqual([]);
  });

  test.each<[what: string, entry: CallbackEntry, item: object]>([
    ["a credit is a withdrawal", credit(), { type: "Withdraw" }],
    ["a credit may be a negative withdrawal", credit(), { type: "Withdraw", amount: -10 }],
    ["an amount is compared as a number", debit({ betAmount: amount("10") }), { amount: "10.00" }],
  ])("%s", async (_, entry, item) => {
    const { amount: said, ...rest } = { ...ITEM, ...item };
    const text = JSON.stringify(rest).replace("}", `,"amount":${said}}`);
    provider.answer(() => replyWith(`{"code":0,"message":"","data":[${text}]}`));
    await append(entry);
    await world.verifyAt(MINUTE_MS);
    expect((await world.story()).status).toBe("accepted");
  });

  test("listed twice in one answer is not certain", async () => {
    provider.answer(() => topUpAnswer(ITEM, { ...ITEM, type: "Withdraw" }));
    await append(debit());
    await world.verifyAt(MINUTE_MS);
    expect(await world.story()).toMatchObject({
      status: "pending",
      answers: [{ says: "nothing", message: 'the answer is not certain: it lists "ref-1" 2 times' }],
    });
  });

  test.each<[what: string, item: object, mismatch: string]>([
    ["another amount", { amount: 12.5 }, "top-up-differs open 2.5"],
    ["another player", { username: "bob" }, "top-up-differs open 10"],
    ["another id", { id: "ref-2" }, "top-up-differs open 10"],
    ["the other direction", { type: "Withdraw" }, "top-up-differs open 10"],
  ])("with %s is a mismatch at once, until an answer agrees", async (_, item, mismatch) => {
    provider.answer(() => topUpAnswer({ ...ITEM, ...item }));
    await append(debit());
    await world.verifyAt(MINUTE_MS);
    expect(await world.mismatches()).toEqual([mismatch]);
    provider.answer(() => topUpAnswer(ITEM));
    await world.liveUntil(2 * HOUR_MS);
    expect(await world.mismatches()).toEqual([mismatch.replace("open", "resolved")]);
  });

  test("with code 1 repeated late enough is a rejection and a mismatch, and a later success is another mismatch", async () => {
    provider.answer(() => topUpFailed);
    await append(debit());
    await world.verifyAt(10 * SECOND_MS);
    expect(await world.story()).toMatchObject({
      status: "pending",
      answers: [{ says: "failed", code: "1" }],
    });
    expect(await world.mismatches()).toEqual([]);
    await world.liveUntil(20 * MINUTE_MS);
    expect(await world.mismatches()).toEqual(["top-up-rejected open 10"]);
    provider.answer(() => topUpAnswer(ITEM));
    await world.liveUntil(2 * HOUR_MS);
    expect(await world.story()).toMatchObject({ status: "accepted" });
    expect(await world.mismatches()).toEqual(["top-up-rejected resolved 10", "top-up-late-success open 10"]);
  });

  test.each([
    ["no item", topUpAnswer()],
    ["another code", replyWith({ code: 2, message: "?", data: null })],
    ["garbage", replyWith("<html>")],
  ])("with %s has no answer, and is a mismatch after a day", async (_, reply) => {
    provider.answer(() => reply);
    await append(debit());
    await world.verifyAt(10 * SECOND_MS);
    expect(await world.story()).toMatchObject({ status: "pending", answers: [{ says: "nothing" }] });
    await world.liveUntil(DAY_MS + MINUTE_MS);
    expect(await world.mismatches()).toEqual(["top-up-inconclusive open 10"]);
  });

  test("with a refId longer than a mismatch shows is compared by the whole refId", async () => {
    const id = "r".repeat(400);
    provider.answer(() => topUpAnswer({ ...ITEM, id }));
    await append(debit({ txnId: id }));
    await world.verifyAt(MINUTE_MS);
    expect((await world.story(id)).status).toBe("accepted");
  });

  test("in an answer with several items is the item with its id", async () => {
    const another = { ...ITEM, id: "ref-2", amount: 3 };
    provider.answer(() => topUpAnswer(another, ITEM));
    await append(debit());
    await world.verifyAt(MINUTE_MS);
    expect((await world.story()).status).toBe("accepted");
  });
});

describe("the search for top-ups finds", () => {
  const pick = (since: number | null = null, products = ["P1"]) =>
    pickUpTopUps(
      sql,
      products.map((productId) => ({ productId, since })),
      { now: NOON, firstDelayMs: 10_000 },
    );

  test("every adjustBalance entry once, and no other entry", async () => {
    await append(debit(), credit({ txnId: "ref-2" }), exampleEntry());
    expect(await pick()).toBe(2);
    expect(await pick()).toBe(0);
    expect(await topUps()).toEqual(
      ["ref-1 P1 anna DEBIT 10.00 pending", "ref-2 P1 anna CREDIT 10.00 pending"].map(plain),
    );
  });

  test("entries that come late and out of order, however old their times are", async () => {
    await append(debit());
    await pick();
    await append(debit({ txnId: "ref-2", occurredAt: NOON - 90 * DAY_MS, receivedAt: NOON - 90 * DAY_MS }));
    expect(await pick()).toBe(1);
  });

  test("an entry whose transaction was still open at the last search", async () => {
    await append(debit({ txnId: "before" }));
    await pick();
    await sql.begin(async (tx) => {
      await tx`
        insert into callback_entries (entry_id, callback, request_id, product_id, username, currency, txn_id, status,
          bet_amount, skip_balance_update, occurred_at, received_at)
        values ('slow', 'adjustBalance', 'r', 'P1', 'anna', 'THB', 'slow', 'DEBIT', 5, false, ${NOON}, ${NOON})`;
      await append(debit({ txnId: "quick" }));
      expect(await pick()).toBe(1);
      await append(debit({ txnId: "quicker" }));
      expect(await pick()).toBe(1);
    });
    expect(await pick()).toBe(1);
    expect(await pick()).toBe(0);
  });

  test("all entries of a product that has a top-up path only since today", async () => {
    await append(debit(), debit({ txnId: "other", productId: "P2" }));
    expect(await pick()).toBe(1);
    expect(await pick(null, ["P1", "P2"])).toBe(1);
  });

  test("nothing before the ledger begins", async () => {
    await append(debit({ occurredAt: NOON - HOUR_MS }));
    expect(await pick(NOON)).toBe(0);
  });

  test("all entries in a database whose transaction ids began again at a small number", async () => {
    await append(debit());
    await pick();
    await sql`update top_up_states set picked_until = '9000000000000000000'`;
    await append(debit({ txnId: "ref-2" }));
    expect(await pick()).toBe(1);
  });

  test("two top-ups with one refId of two products or players, and one of the same: the one received first", async () => {
    await append(
      debit(),
      debit({ betAmount: amount("99"), receivedAt: NOON + SECOND_MS }),
      debit({ username: "bob" }),
      debit({ productId: "P2" }),
    );
    expect(await pick(null, ["P1", "P2"])).toBe(3);
    expect(await topUps()).toContain(plain("ref-1 P1 anna DEBIT 10.00 pending"));
  });

  test("each entry once, in several simultaneous searches", async () => {
    await append(...Array.from({ length: 200 }, (_, index) => debit({ txnId: `ref-${index}` })));
    const picked = await Promise.all(Array.from({ length: 5 }, () => pick()));
    expect(picked.reduce((sum, count) => sum + count, 0)).toBe(200);
  });

  test("no top-up of a product without a path, while transfers of every product are verified", async () => {
    provider.answer(() => topUpAnswer(ITEM));
    await append(debit());
    await pick();
    const config = parseConfig({ products: [{ productId: "P1" }] });
    expect(await world.verifyAt(MINUTE_MS, world.context({ config }))).toEqual({ settled: 0, refused: null });
    expect(await world.verifyAt(MINUTE_MS)).toEqual({ settled: 1, refused: null });
  });
});

test("very many transfers do not delay the top-ups, nor top-ups the transfers", async () => {
  const numbers = Array.from({ length: 200 }, (_, index) => index);
  await world.hand(...numbers.map((number) => deposit({ transactionRef: `t-${number}` })));
  await append(...numbers.map((number) => debit({ txnId: `u-${number}` })));
  await world.verifyAt(MINUTE_MS);
  const paths = provider.questions.map(({ path }) => path);
  expect(paths).toHaveLength(400);
  expect(new Set(paths.slice(0, 100)).size).toBe(2);
  expect(new Set(paths.slice(-100)).size).toBe(2);
});

test("a ref that several top-ups share needs one more field, and a transfer with that ref comes first", async () => {
  await append(debit(), debit({ username: "bob" }));
  await world.verifyAt(0);
  const find = (choice: object = {}) =>
    findTransfer(world.context(), { ref: "ref-1", kind: null, productId: null, username: null, ...choice });
  await expect(find()).rejects.toMatchObject({
    code: "conflict",
    message: expect.stringContaining("name product"),
  });
  expect(await find({ username: "bob" })).toMatchObject({ kind: "top-up", sent: { username: "bob" } });
  await world.hand();
  expect(await find()).toMatchObject({ kind: "transfer" });
  await expect(find({ ref: "ref-7" })).rejects.toMatchObject({
    code: "not-found",
    message: 'there is no transfer "ref-7"',
  });
});

/** The database keeps amounts without zeros at their end. */
function plain(text: string): string {
  return text.replace("10.00", "10");
}
