import { beforeEach, describe, expect, test } from "vitest";
import { formatInstant } from "../../src/clock.ts";
import type { Query } from "../../src/db/client.ts";
import type { Transfer } from "../../src/transfer.ts";
import {
  type Claim,
  claimDue,
  releaseClaims,
  renewClaims,
  writeAnswer,
} from "../../src/verify/claim-store.ts";
import type { VerifyState } from "../../src/verify/decide.ts";
import { listTransfers } from "../../src/verify/list-store.ts";
import {
  addTransfer,
  addTransfers,
  closeInconclusive,
  countTransfers,
  readAnswers,
} from "../../src/verify/store.ts";
import { emptyTables, useDatabase } from "../support/database.ts";
import { amount, HOUR_MS, MINUTE_MS, NOON } from "../support/examples.ts";
import { untilSomebodyWaits } from "../support/lock-wait.ts";
import { deposit, VERIFY } from "./sent.ts";

const { sql } = useDatabase();

beforeEach(async () => {
  await emptyTables(sql);
});

const add = (...transfers: Transfer[]) => addTransfers(sql, transfers, NOON, VERIFY);
const numbered = (count: number) =>
  Array.from({ length: count }, (_, index) => deposit({ transactionRef: `ref-${index + 1}` }));
const claim = (limit: number, now = NOON + MINUTE_MS, query: Query = sql) =>
  claimDue(query, "transfer", { now, products: [{ productId: "P1", limit }] });

async function claimOne(): Promise<Claim> {
  const [one] = await claim(1);
  if (one === undefined) throw new Error("nothing is due");
  return one;
}

const NOTHING = {
  askedAt: NOON,
  tookMs: 50,
  says: "nothing",
  code: "provider-timeout",
  message: "late",
  raw: null,
};
const settle = (one: Claim, changes: Partial<VerifyState> = {}, isDecisive = false) =>
  writeAnswer(
    sql,
    one,
    { ...one.state, attempts: one.state.attempts + 1, nextVerifyAt: NOON, ...changes },
    { ...NOTHING, says: "nothing", isDecisive },
  );

describe("handing over", () => {
  test("the same transfer again has no effect, however often it comes", async () => {
    expect(await add(deposit())).toEqual({ added: 1, known: 0, conflicts: [] });
    expect(await add(deposit({ amount: amount("10") }))).toEqual({ added: 0, known: 1, conflicts: [] });
    expect(await addTransfer(sql, deposit(), NOON + HOUR_MS, VERIFY)).toEqual({ isNew: false });
    const [row] = await sql`select handed_at as "handedAt", amount from transfers`;
    expect(row).toEqual({ handedAt: NOON, amount: "10" });
  });

  test.each<[what: string, changes: Partial<Transfer>, named: string]>([
    ["amount", { amount: amount("10.01") }, "amount 10.00, not 10.01"],
    ["player", { username: "bob" }, 'username "anna", not "bob"'],
    ["product", { productId: "P2" }, 'productId "P1", not "P2"'],
    ["currency", { currency: "USD" }, 'currency "THB", not "USD"'],
    ["type", { type: "WITHDRAW" }, 'type "DEPOSIT", not "WITHDRAW"'],
    ["time", { sentAt: NOON + 1 }, "sentAt 2026-11-20T12:00:00.000Z, not 2026-11-20T12:00:00.001Z"],
  ])("its ref with another %s is a conflict that names both values", async (_, changes, named) => {
    await add(deposit());
    const message = `transactionRef "ref-1" is known already, with ${named}`;
    expect(await add(deposit(changes))).toEqual({ added: 0, known: 0, conflicts: [{ index: 0, message }] });
    await expect(addTransfer(sql, deposit(changes), NOON, VERIFY)).rejects.toMatchObject({
      code: "conflict",
      message,
    });
    expect(await listed()).toEqual(["ref-1 pending"]);
  });

  test("ten clients with the same hundred transfers at the same time add each once", async () => {
    const done = await Promise.all(Array.from({ length: 10 }, () => add(...numbered(100))));
    expect(done.reduce((sum, { added }) => sum + added, 0)).toBe(100);
    expect(done.every(({ added, known }) => added + known === 100)).toBe(true);
  });
});

describe("claiming", () => {
  test("a due transfer is claimed once, however many workers ask at the same time", async () => {
    await add(...numbered(100));
    const claimed = (await Promise.all(Array.from({ length: 12 }, () => claim(10)))).flat();
    for (let more = await claim(10); more.length > 0; more = await claim(10)) claimed.push(...more);
    expect(new Set(claimed.map(({ id }) => id)).size).toBe(100);
    expect(claimed).toHaveLength(100);
  });

  test("the most overdue come first, and none before its time", async () => {
    await add(
      deposit({ transactionRef: "later", sentAt: NOON + MINUTE_MS }),
      deposit({ transactionRef: "second", sentAt: NOON }),
      deposit({ transactionRef: "first", sentAt: NOON - HOUR_MS }),
    );
    expect(refsOf(await claim(10, NOON + 9_999))).toEqual(["first"]);
    await sql`update transfers set lease_until = null`;
    expect(refsOf(await claim(10, NOON + 10_000))).toEqual(["first", "second"]);
  });

  test("a killed worker's claim ends with its lease, and its own answer is refused then", async () => {
    await add(deposit());
    const killed = await claimOne();
    expect(await claim(1)).toEqual([]);
    await letLeasesEnd();
    const next = await claimOne();
    await expect(settle(killed)).rejects.toMatchObject({ code: "lease-lost" });
    await settle(next, { status: "accepted", nextVerifyAt: null });
    expect(await readAnswers(sql, "transfer", next.id)).toHaveLength(1);
    expect(await listed()).toEqual(["ref-1 accepted"]);
  });

  test("a renewed claim stays, and a lost claim cannot be renewed", async () => {
    await add(deposit());
    const lost = await claimOne();
    await letLeasesEnd();
    const kept = await claimOne();
    await letLeasesEnd();
    await renewClaims(sql, "transfer", [lost]);
    const [stolen] = await claim(1);
    expect(stolen?.token).not.toBe(kept.token);
    if (stolen === undefined) throw new Error("the renewal of a lost claim kept it");
    await letLeasesEnd();
    await renewClaims(sql, "transfer", [stolen]);
    expect(await claim(1)).toEqual([]);
  });

  test("a released claim is free at once; the release of a lost claim changes nothing", async () => {
    await add(deposit());
    const first = await claimOne();
    await releaseClaims(sql, "transfer", [first]);
    const second = await claimOne();
    await releaseClaims(sql, "transfer", [first]);
    expect(await claim(1)).toEqual([]);
    await settle(second);
  });

  test("an answer is settled once", async () => {
    await add(deposit());
    const one = await claimOne();
    await settle(one);
    await expect(settle(one)).rejects.toMatchObject({ code: "lease-lost" });
    expect((await readAnswers(sql, "transfer", one.id)).map(({ attempt }) => attempt)).toEqual([1]);
  });

  test("of two workers that settle the same claim at the same moment, one is refused", async () => {
    await add(deposit());
    const one = await claimOne();
    const done = await Promise.allSettled([settle(one), settle(one), settle(one)]);
    expect(done.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
    expect(await readAnswers(sql, "transfer", one.id)).toHaveLength(1);
  });

  test("a transfer that another transaction is claiming is skipped without waiting", async () => {
    await add(...numbered(2));
    await sql.begin(async (tx) => {
      const [held] = await claim(1, NOON + MINUTE_MS, tx);
      expect(refsOf(await claim(2))).toEqual(
        ["ref-1", "ref-2"].filter((ref) => ref !== held?.sent.transactionRef),
      );
    });
  });
});

describe("evidence", () => {
  test("an answer is kept with its decision", async () => {
    await add(deposit());
    const one = await claimOne();
    await settle(one, { nextVerifyAt: NOON + HOUR_MS });
    expect(await readAnswers(sql, "transfer", one.id)).toEqual([
      { ...NOTHING, attempt: 1, status: "pending", isDecisive: false, nextVerifyAt: NOON + HOUR_MS },
    ]);
  });

  test("of very many answers the first and the last are kept, and every one that decided something", async () => {
    await add(deposit());
    for (let attempt = 1; attempt <= 70; attempt += 1) await settle(await claimOne(), {}, attempt % 25 === 0);
    const kept = (await readAnswers(sql, "transfer", 1)).map(({ attempt }) => attempt);
    const first = Array.from({ length: 20 }, (_, index) => index + 1);
    const last = Array.from({ length: 20 }, (_, index) => index + 51);
    expect(kept).toEqual([...first, 25, 50, ...last]);
  });
});

describe("closing", () => {
  const CLOSE = { by: "mary", note: "found in their statement", at: NOON + HOUR_MS };

  test("only an inconclusive transfer can be closed, and only once; no question follows", async () => {
    await add(deposit());
    expect(await closeInconclusive(sql, "transfer", 1, CLOSE)).toBe(false);
    await settle(await claimOne(), { status: "inconclusive" });
    expect(await closeInconclusive(sql, "transfer", 1, CLOSE)).toBe(true);
    expect(await closeInconclusive(sql, "transfer", 1, { ...CLOSE, by: "bob" })).toBe(false);
    expect(await claim(1, NOON + 1000 * HOUR_MS)).toEqual([]);
    const [one] = (await list()).transfers;
    expect(one).toMatchObject({
      closedBy: "mary",
      note: CLOSE.note,
      state: { status: "inconclusive", decidedAt: CLOSE.at, nextVerifyAt: null },
    });
  });

  test("an answer to a question that was under way when the transfer was closed is refused", async () => {
    await add(deposit());
    await settle(await claimOne(), { status: "inconclusive" });
    const underWay = await claimOne();
    await closeInconclusive(sql, "transfer", 1, CLOSE);
    await expect(settle(underWay, { status: "accepted" })).rejects.toMatchObject({ code: "lease-lost" });
    expect(await listed()).toEqual(["ref-1 inconclusive"]);
  });

  test("a close that waits for an answer that is being settled sees its decision", async () => {
    await add(deposit());
    await settle(await claimOne(), { status: "inconclusive" });
    const one = await claimOne();
    const settled = Promise.withResolvers<void>();
    const settling = sql.begin(async (tx) => {
      await writeAnswer(
        tx,
        one,
        { ...one.state, attempts: 2, status: "accepted", nextVerifyAt: null },
        { ...NOTHING, says: "booked", isDecisive: true },
      );
      settled.resolve();
      await untilSomebodyWaits(sql);
    });
    await settled.promise;
    expect(await closeInconclusive(sql, "transfer", 1, CLOSE)).toBe(false);
    await settling;
  });
});

test("they are counted by status", async () => {
  await add(...numbered(3), deposit({ transactionRef: "other", productId: "P2" }));
  expect(await countTransfers(sql)).toEqual({ pending: 4, accepted: 0, rejected: 0, inconclusive: 0 });
});

const list = () =>
  listTransfers(sql, {
    ...{ kind: "transfer", statuses: [], productId: null, username: null, currency: null },
    ...{ sort: "newest", limit: 100, after: null },
  });

async function listed(): Promise<string[]> {
  return (await list()).transfers.map(({ sent, state }) => `${sent.transactionRef} ${state.status}`);
}

function refsOf(found: readonly { sent: { transactionRef: string } }[]): string[] {
  return found.map(({ sent }) => sent.transactionRef);
}

async function letLeasesEnd(): Promise<void> {
  await sql`update transfers set lease_until = ${formatInstant(NOON - HOUR_MS)}::timestamptz where lease_until is not null`;
}
