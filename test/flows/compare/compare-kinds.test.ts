import { beforeEach, describe, expect, test } from "vitest";
import type { CallbackEntry } from "../../../src/callback.ts";
import { changeEntriesUnseen } from "../../support/database.ts";
import { amount, exampleEntry, exampleSettle } from "../../support/examples.ts";
import { callbacksOf, iso, minute, recordOf, useDiffWorld } from "./comparison-world.ts";

const { sql, clock, diff, diffAt, settle, receive, listed, readAll, mismatches, ledgerBegins } =
  useDiffWorld();
beforeEach(ledgerBegins);

describe("one bet under two players' names", () => {
  const bobs = { username: "bob" };
  const MISNAMED = ["username-differs of bet-1 is open"];

  test("is one mismatch, of the player who has the callbacks, in whatever order the sides arrive", async () => {
    await receive(...callbacksOf("25"));
    await listed(recordOf("25", bobs));
    await settle(1, 15, 56, 57, 300);
    expect(await mismatches()).toEqual(MISNAMED);
    expect((await readAll())[0]).toMatchObject({
      username: "anna",
      provider: { username: "bob" },
      ledger: { username: "anna" },
      reason: "the player is bob at the provider, anna in the ledger",
    });
  });

  test("replaces the mismatches of both sides in one comparison", async () => {
    await listed(recordOf("25", bobs));
    await settle(15);
    expect(await mismatches()).toEqual(["missing-in-ledger of bet-1 is open"]);
    await receive(...callbacksOf("25", { receivedAt: minute(16) }));
    await settle(16, 31, 75);
    expect(await mismatches()).toEqual(["missing-in-ledger of bet-1 is open"]);
    await settle(76, 77);
    expect(await mismatches()).toEqual(["missing-in-ledger of bet-1 is resolved", ...MISNAMED]);
    const [first, second] = await readAll();
    expect(first?.resolvedAt).toBe(second?.firstSeenAt);
  });

  test("replaces the mismatch of a bet that is missing at the provider", async () => {
    await receive(...callbacksOf("25"));
    await settle(56, 57);
    await listed(recordOf("25", bobs));
    await settle(58, 100, 101);
    expect(await mismatches()).toEqual(["missing-at-provider of bet-1 is resolved", ...MISNAMED]);
  });

  test("ends when the provider lists the bet correctly, and the other record is a mismatch of its own", async () => {
    await receive(...callbacksOf("25"));
    await listed(recordOf("25", bobs));
    await settle(56, 57);
    await listed(recordOf("25"));
    await settle(58, 59, 90);
    expect(await mismatches()).toEqual([
      "missing-in-ledger of bet-1 is open",
      "username-differs of bet-1 is resolved",
    ]);
    expect((await readAll()).find(({ kind }) => kind === "missing-in-ledger")?.username).toBe("bob");
  });

  test("ends when the other player's callbacks come", async () => {
    await receive(...callbacksOf("25"));
    await listed(recordOf("25", bobs));
    await settle(56, 57);
    await receive(...callbacksOf("25", bobs));
    await settle(58, 59, 60, 200, 201);
    expect(await mismatches()).toEqual([
      "missing-at-provider of bet-1 is open",
      "username-differs of bet-1 is resolved",
    ]);
  });
});

describe("money that moved in another way", () => {
  test("than the agreed bet requires is a mismatch after callbackGrace", async () => {
    const [placed, settled] = callbacksOf("25") as [CallbackEntry, CallbackEntry];
    await receive({ ...placed, moved: amount("-20") }, settled);
    await listed(recordOf("25"));
    await diffAt(14);
    expect(await mismatches()).toEqual([]);
    await diffAt(15);
    expect(await mismatches()).toEqual(["net-differs of bet-1 is open"]);
    expect((await readAll())[0]).toMatchObject({
      amountAtRisk: "10",
      reason:
        "the wallet moved 5.00 THB, but a bet that is settled with a stake of 10.00 THB and a payout of 25.00 THB asks for 15.00 THB",
    });
    await receive(
      exampleSettle({ requestId: settled.requestId, payoutAmount: amount("25"), moved: amount("10") }),
    );
    await settle(16, 31, 32);
    expect(await mismatches()).toEqual(["net-differs of bet-1 is resolved"]);
  });

  test("than a request's balances say is a mismatch of the request, whatever the rounds of its items are", async () => {
    const request = { requestId: "q", balanceBefore: amount("100"), moved: amount("-10") };
    const other = { txnId: "bet-2", roundId: "round-2" };
    await receive(exampleEntry({ ...request, balanceAfter: amount("80") }));
    await diffAt(1);
    await receive(exampleEntry({ ...request, ...other, balanceAfter: amount("80") }));
    await settle(2, 30);
    expect(await mismatches()).toEqual([]);
    await receive(exampleEntry({ ...request, txnId: "bet-3", requestId: "q3", balanceAfter: amount("95") }));
    await settle(31);
    expect(await mismatches()).toEqual(["balance-differs of bet-3 is open"]);
    expect((await readAll())[0]).toMatchObject({ amountAtRisk: "5", provider: null });
  });
});

test("a record that contradicts itself is a mismatch of its own, besides that of the bet", async () => {
  await receive(...callbacksOf("0"));
  await listed(recordOf("0", { payoutStatus: "WIN" }));
  await diffAt(14);
  expect(await mismatches()).toEqual([]);
  await diffAt(15);
  expect(await mismatches()).toEqual(["provider-inconsistent of bet-1 is open"]);
  await listed(recordOf("0", { updatedDate: iso(14) }));
  await diffAt(30);
  expect(await mismatches()).toEqual(["provider-inconsistent of bet-1 is resolved"]);
});

describe("a stale side", () => {
  const many = (count: number) => Array.from({ length: count }, (_, index) => `b${index}`);
  const records = (count: number) => many(count).map((id) => recordOf("1", { betId: id, id, roundId: id }));
  const alerts = async () =>
    (await sql<{ kind: string }[]>`select kind from alerts where kind like '%-stale'`).map(
      ({ kind }) => kind,
    );

  test("of twenty records without callbacks delays them for providerGrace, with one alert", async () => {
    await listed(...records(20));
    for (const minutes of [15, 20, 40, 74]) await diffAt(minutes);
    expect(await mismatches()).toEqual([]);
    expect(await alerts()).toEqual(["ledger-stale"]);
    await diffAt(75);
    expect(await mismatches()).toHaveLength(20);
  });

  test("delays nothing after it is no longer stale", async () => {
    await listed(...records(20));
    await diffAt(15);
    await receive(...callbacksOf("1", { txnId: "b0", roundId: "b0" }));
    await diffAt(25);
    expect(await mismatches()).toHaveLength(19);
  });

  test("needs more than nineteen", async () => {
    await listed(...records(19));
    await diffAt(15);
    expect(await mismatches()).toHaveLength(19);
    expect(await alerts()).toEqual([]);
  });

  test("of twenty settled bets without records delays them for the provider", async () => {
    await receive(...many(20).flatMap((id) => callbacksOf("1", { txnId: id, roundId: id })));
    await settle(56, 57, 100);
    expect(await mismatches()).toEqual([]);
    expect(await alerts()).toEqual(["provider-stale"]);
    await settle(116);
    expect(await mismatches()).toHaveLength(20);
  });
});

test("data that cannot be compared delays nothing else, and is retried", async () => {
  await receive(...callbacksOf("20"), ...callbacksOf("1", { username: "bob" }));
  await listed(recordOf("25"), recordOf("2", { username: "bob" }));
  await changeEntriesUnseen(
    sql,
    "update callback_entries set occurred_at = '12000-01-01Z' where username = 'bob'",
  );
  await diffAt(15);
  expect(await mismatches()).toEqual(["payout-differs of bet-1 is open"]);
  await changeEntriesUnseen(
    sql,
    "update callback_entries set occurred_at = received_at where username = 'bob'",
  );
  await diffAt(75);
  expect((await readAll()).map(({ username }) => username).sort()).toEqual(["anna", "bob"]);
});

test("a round id that is used for ever hides no bet that the provider lacks", async () => {
  await receive(...callbacksOf("25"));
  for (let hour = 1; hour <= 25; hour += 1) {
    clock.set(minute(hour * 60));
    const at = { occurredAt: minute(hour * 60), receivedAt: minute(hour * 60) };
    await receive(exampleEntry({ txnId: `again-${hour}`, ...at }));
    await diff();
  }
  await settle(1501, 1502);
  expect(await mismatches()).toContain("missing-at-provider of bet-1 is open");
});
