import { beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { readBody } from "../../src/callbacks/raw-body.ts";
import { isMalformed, readRequest } from "../../src/callbacks/request.ts";
import { openWallet } from "../../src/callbacks/wallet.ts";
import { creditWallet } from "../../src/callbacks/wallet-store.ts";
import { Deadline } from "../../src/db/deadline.ts";
import { ENTRIES_WALK, openWalk, rememberDeleted } from "../../src/db/retention-store.ts";
import { deleteEntries } from "../../src/ledger/expired-entries-store.ts";
import { createTestClock } from "../support/clock.ts";
import { useDatabase } from "../support/database.ts";
import { amount, HOUR_MS, MINUTE_MS, NOON } from "../support/examples.ts";
import { exampleEnvelope, expectLedgerAgrees, type Operator, post, startOperator } from "./operator.ts";

const { sql } = useDatabase();
let operator: Operator;
beforeEach(async () => {
  operator = await startOperator(sql);
});

const newRequest = () => ({ id: `own-${operator.player}` });
const place = (fields = {}, envelope = {}) => operator.outcomeOf("placeBets", fields, envelope);

describe("after retention has deleted a request and its bet,", () => {
  /** Deletes the rows of the player's requests, and notes `upTo` as the end of deleted time, as retention does. */
  const forget = async (txnIds: readonly string[], upTo: number) => {
    await sql.begin(async (tx) => {
      await openWalk(tx, ENTRIES_WALK, { from: NOON - 24 * HOUR_MS, to: upTo });
      const bets = txnIds.map((ref) => ({ username: operator.player, ref, lastAt: NOON }));
      await rememberDeleted(tx, "P1", bets);
      const entries = await tx<{ id: string }[]>`
        select entry_id as id from callback_entries where username = ${operator.player}`;
      await deleteEntries(
        tx,
        "P1",
        entries.map(({ id }) => id),
      );
    });
    onTestFinished(async () => {
      await sql`delete from retention_states`;
    });
    expect(await sql`select from callback_requests where request_id = ${newRequest().id}`).toEqual([]);
  };

  test("a replay of it with its old time is refused, and moves nothing", async () => {
    const request = { ...newRequest(), timestampMillis: NOON };
    await place({}, request);
    await operator.outcomeOf("settleBets", { payoutAmount: 0, status: "SETTLED" });
    await forget([], NOON + 1);
    expect(await place({}, request)).toBe("30001");
    expect(await operator.balance()).toBe("90");
  });

  test.each([
    ["placeBets", {}],
    ["winRewards", { payoutAmount: 5 }],
    ["adjustBalance", { refId: "bet-1" }],
  ] as const)("a %s with a new time is refused, and moves nothing", async (callback, fields) => {
    const request = newRequest();
    await place({}, request);
    await operator.outcomeOf("settleBets", { payoutAmount: 0, status: "SETTLED" });
    await forget(["bet-1"], NOON - 24 * 60 * MINUTE_MS);
    expect(await operator.outcomeOf(callback, fields, request)).toBe("20002");
    expect(await operator.balance()).toBe("90");
  });

  test("another bet can be placed", async () => {
    await forget(["bet-1"], NOON - 24 * 60 * MINUTE_MS);
    expect(await place({ id: "bet-2" })).not.toBe("20002");
    expect(await operator.balance()).toBe("90");
  });
});

describe("a replay", () => {
  test("gets the first answer again, even if the bet has changed since, and moves nothing", async () => {
    const request = newRequest();
    const first = await operator.send("placeBets", {}, request);
    await place({ id: "bet-2" });
    const again = await operator.send("placeBets", {}, request);
    expect(again.json).toEqual(first.json);
    expect(again.json).toMatchObject({ statusCode: 0, balanceBefore: 100, balanceAfter: 90 });
    expect(await operator.balance()).toBe("80");
  });

  test("gets the first answer to the last byte, with its old time", async () => {
    const clock = createTestClock(NOON);
    const { send } = await startOperator(sql, { context: { clock } });
    const request = newRequest();
    const first = await send("placeBets", [{}, { id: "bet-2" }], request);
    clock.advance(MINUTE_MS);
    expect((await send("placeBets", [{}, { id: "bet-2" }], request)).text).toBe(first.text);
  });

  test("is recognised with any order of fields, notation of numbers and time", async () => {
    const request = newRequest();
    await place({ betAmount: 10 }, request);
    const envelope = { ...exampleEnvelope(operator.player), ...request };
    const txn =
      '{"betAmount":10.00,"playInfo":"Game One","gameCode":"G1","roundId":"round-1","status":"OPEN","id":"bet-1"}';
    const body = JSON.stringify({ ...envelope, txns: [] }).replace('"txns":[]', `"txns":[${txn}]`);
    expect((await post(operator.url, "placeBets", body)).json).toMatchObject({
      statusCode: 0,
      balanceAfter: 90,
    });
  });

  test.each([
    ["other items", { betAmount: 11 }, {}],
    ["one item more", [{}, { id: "bet-2" }], {}],
  ])("with %s fails with 20002", async (_what, items, envelope) => {
    const request = newRequest();
    await place({}, request);
    expect(await operator.outcomeOf("placeBets", items, { ...request, ...envelope })).toBe("20002");
    expect(await operator.balance()).toBe("90");
  });

  test("with another player fails with 20002", async () => {
    const request = newRequest();
    await place({}, request);
    const other = await startOperator(sql);
    expect(await other.outcomeOf("placeBets", {}, request)).toBe("20002");
    expect(await other.balance()).toBe("100");
  });

  test("is recognised only for the same callback", async () => {
    const request = newRequest();
    await place({}, request);
    expect(await operator.outcomeOf("settleBets", { payoutAmount: 5 }, request)).toBe("0 95");
  });

  test("of a failed request is judged again", async () => {
    const request = newRequest();
    expect(await place({ betAmount: 150 }, request)).toBe("10002");
    await creditWallet(
      sql,
      { username: operator.player, currency: "THB", amount: amount("60"), ref: `more-${operator.player}` },
      NOON,
    );
    expect(await place({ betAmount: 150 }, request)).toBe("0 10");
  });

  test("moves money once if 20 copies arrive at once, and all get the same balances", async () => {
    const request = newRequest();
    const answers = await Promise.all(Array.from({ length: 20 }, () => place({}, request)));
    expect(new Set(answers)).toEqual(new Set(["0 90"]));
    await expectLedgerAgrees(sql, operator.player);
  });
});

describe("adjustBalance", () => {
  const adjust = (fields = {}, envelope = {}) => operator.outcomeOf("adjustBalance", fields, envelope);

  test("DEBIT takes and CREDIT gives, with every digit", async () => {
    expect(await adjust({ amount: 30 })).toBe("0 70");
    expect(await adjust({ refId: "ref-2", status: "CREDIT", amount: 0.1 })).toBe("0 70.1");
  });

  test("a DEBIT beyond the balance fails with 10002", async () => {
    expect(await adjust({ amount: 100.5 })).toBe("10002");
  });

  test("a known refId fails with 20002, for an identical replay too", async () => {
    const request = newRequest();
    expect(await adjust({}, request)).toBe("0 90");
    expect(await adjust({}, request)).toBe("20002");
    expect(await adjust({ status: "CREDIT" })).toBe("20002");
    expect(await adjust([{ refId: "ref-3" }, { refId: "ref-3" }])).toBe("20002");
    expect(await operator.balance()).toBe("90");
  });

  test("a refId can be used again after its adjustBalance failed", async () => {
    expect(await adjust({ amount: 150 })).toBe("10002");
    expect(await adjust({ amount: 50 })).toBe("0 50");
  });

  test("50 parallel copies move money once", async () => {
    const request = newRequest();
    const copies = Array.from({ length: 50 }, (_, index) => adjust({}, index % 2 === 0 ? request : {}));
    const answers = await Promise.all(copies);
    expect(answers.sort()).toEqual(["0 90", ...Array.from({ length: 49 }, () => "20002")]);
    expect(await operator.balance()).toBe("90");
    const entries = await sql`select 1 from callback_entries where username = ${operator.player}`;
    expect(entries).toHaveLength(1);
  });
});

describe("simultaneous requests", () => {
  test("of one player never lose an update, and never take money that is not there", async () => {
    const answers = await Promise.all(
      Array.from({ length: 30 }, (_, index) => place({ id: `bet-${index}`, betAmount: 5 })),
    );
    expect(answers.filter((answer) => answer === "10002")).toHaveLength(10);
    expect(await operator.balance()).toBe("0");
    await expectLedgerAgrees(sql, operator.player);
  });

  test("of other players do not wait for a player whose wallet is locked", async () => {
    const other = await startOperator(sql);
    let answered: Promise<string> | undefined;
    await sql.begin(async (tx) => {
      await tx`select from wallets where username = ${operator.player} for update`;
      answered = place();
      expect(await other.outcomeOf("placeBets", { id: "bet-2" })).toBe("0 90");
    });
    expect(await answered).toBe("0 90");
  });

  test("of two players with one request id are not both applied", async () => {
    const other = await startOperator(sql);
    const requests = Array.from({ length: 10 }, (_, index) => ({ id: `shared-${index}` }));
    const answers = await Promise.all(
      requests.flatMap((request, index) =>
        [operator, other].map((one) =>
          one.outcomeOf("placeBets", { id: `bet-${index}`, betAmount: 1 }, request),
        ),
      ),
    );
    expect(answers.filter((answer) => answer === "20002")).toHaveLength(10);
  });

  test("with one txn id in two currencies concern one bet", async () => {
    await creditWallet(
      sql,
      { username: operator.player, currency: "EUR", amount: amount("100"), ref: `eur-${operator.player}` },
      NOON,
    );
    await place();
    expect(await operator.outcomeOf("placeBets", {}, { currency: "EUR" })).toBe("20002");
    expect(await operator.outcomeOf("settleBets", { payoutAmount: 5 }, { currency: "EUR" })).toBe("20001");
  });
});

test("entries with equal times are in the ledger in the order in which they took effect", async () => {
  const clock = createTestClock(NOON);
  const wallet = openWallet(sql, clock);
  onTestFinished(() => wallet.close());
  const apply = async (callback: "placeBets" | "settleBets" | "rollback", item: object) => {
    const envelope = { ...exampleEnvelope(operator.player), timestampMillis: NOON };
    const txns = [{ id: "bet-1", status: "ANY", roundId: "round-1", ...item }];
    const body = readBody(Buffer.from(JSON.stringify({ ...envelope, txns })));
    const request = readRequest(callback, body.value, NOON);
    if (isMalformed(request)) throw new Error(request.reason);
    const deadline = new Deadline(10_000);
    onTestFinished(() => deadline.stop());
    const received = { request, settings: { singleState: false }, body: body.kept, signature: null };
    return await wallet.apply(received, deadline);
  };
  await apply("placeBets", { betAmount: 10 });
  for (let round = 1; round <= 12; round += 1) {
    await apply("settleBets", { payoutAmount: round });
    await apply("rollback", { payoutAmount: round, betAmount: 10, transactionType: "BY_TRANSACTION" });
  }
  expect(await operator.balance()).toBe("90");
  await expectLedgerAgrees(sql, operator.player);
});
