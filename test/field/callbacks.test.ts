/** What providers' callbacks do in the field: each habit, played over real HTTP. */

import { readFileSync } from "node:fs";
import { pino } from "pino";
import { beforeEach, describe, expect, onTestFinished, test } from "vitest";
import {
  digits,
  exampleEnvelope,
  expectLedgerAgrees,
  foldLedger,
  type Operator,
  type OperatorChanges,
  post,
  startOperator,
} from "../callbacks/operator.ts";
import { useDatabase } from "../support/database.ts";

const { sql } = useDatabase();
const byRound = { transactionType: "BY_ROUND" };
let operator: Operator;

/** A player on a server of its own. In the end the ledger must say what the wallet did. */
async function openWith(changes: OperatorChanges = {}): Promise<void> {
  operator = await startOperator(sql, changes);
  const { player } = operator;
  onTestFinished(() => expectLedgerAgrees(sql, player, changes.productId));
}
beforeEach(() => openWith());

const outcomeOf: Operator["outcomeOf"] = (...request) => operator.outcomeOf(...request);
const statuses = async () =>
  (await foldLedger(sql, operator.player)).map(({ txnId, status }) => `${txnId} ${status}`).sort();
const columnsOf = (callback: string) => sql`
  select transaction_type as type, single_state as single, end_round as "end", callback
  from callback_entries where username = ${operator.player} and callback = ${callback} order by entry_id`;

describe("isSingleState is a field of each settle item, not a property of a product", () => {
  const settle = (isSingleState: boolean | null, fields = {}) =>
    outcomeOf("settleBets", {
      betAmount: 10,
      payoutAmount: 25,
      ...(isSingleState === null ? {} : { isSingleState }),
      ...fields,
    });

  test("true debits betAmount and credits payoutAmount although nothing was placed", async () => {
    expect(await settle(true)).toBe("0 115");
    expect(await statuses()).toEqual(["bet-1 settled"]);
  });

  test("true fails with 10002 if the balance before is below the stake, and with 20003 after an earlier cancel", async () => {
    expect(await settle(true, { betAmount: 101, payoutAmount: 500 })).toBe("10002");
    expect(await outcomeOf("cancelBets", {})).toBe("20001");
    expect(await settle(true)).toBe("20003");
  });

  test("false without a placement fails with 20001 and debits no player, also if the product is single-state", async () => {
    expect(await settle(false)).toBe("20001");
    await openWith({ productId: "S1" });
    expect(await settle(false)).toBe("20001");
    expect(await operator.balance()).toBe("100");
  });

  test("false and true only pay a bet that was placed", async () => {
    await outcomeOf("placeBets", [{ id: "bet-1" }, { id: "bet-2" }]);
    expect(await settle(false)).toBe("0 105");
    expect(await settle(true, { id: "bet-2" })).toBe("0 130");
  });

  test("an item without the flag follows its product", async () => {
    expect(await settle(null)).toBe("20001");
    await openWith({ productId: "S1" });
    expect(await settle(null)).toBe("0 115");
  });

  test("each item of a request has its own flag, and the ledger keeps each", async () => {
    await outcomeOf("placeBets", { id: "bet-2" });
    const items = [
      { betAmount: 10, payoutAmount: 25, isSingleState: true, isEndRound: true },
      { id: "bet-2", payoutAmount: 5, isSingleState: false, isEndRound: false },
      { id: "bet-2", payoutAmount: 5 },
    ];
    expect(await outcomeOf("settleBets", items.slice(0, 2))).toBe("0 110");
    expect(await outcomeOf("settleBets", items.slice(2))).toBe("0 115");
    expect(await columnsOf("settleBets")).toMatchObject([
      { single: true, end: true },
      { single: false, end: false },
      { single: null, end: null },
    ]);
  });
});

describe("one address often serves all products under a prefix", () => {
  const checkAt = (path: string) => post(operator.url, path, exampleEnvelope(operator.player));

  test("the server skips an optional segment before the callback's name", async () => {
    expect((await checkAt("sexy/checkBalance")).json).toMatchObject({ statusCode: 0, balance: 100 });
    expect((await checkAt("checkBalance")).json).toMatchObject({ statusCode: 0, balance: 100 });
  });

  test.each(["sexy/live/checkBalance", "checkBalance/sexy", "sexy/", "sexy/placeBet"])(
    "%s is 404",
    async (path) => {
      expect((await checkAt(path)).status).toBe(404);
    },
  );

  test("with a base path the server serves callbacks only below it, with or without one segment more", async () => {
    await openWith({ settings: { basePath: "/api/callback" } });
    expect((await checkAt("api/callback/checkBalance")).json).toMatchObject({ balance: 100 });
    expect((await checkAt("api/callback/hentory/checkBalance")).json).toMatchObject({ balance: 100 });
    for (const path of [
      "checkBalance",
      "sexy/checkBalance",
      "api/checkBalance",
      "api/callback/a/b/checkBalance",
    ]) {
      expect((await checkAt(path)).status).toBe(404);
    }
    const { status, headers } = await fetch(`${operator.url}/api/callback/hentory/placeBets`);
    expect([status, headers.get("allow")]).toEqual([405, "POST"]);
  });
});

describe("other names are in use: unsettleBets and rollbackBets for rollback", () => {
  const rollback = (path: string, fields = {}) =>
    post(operator.url, path, {
      ...exampleEnvelope(operator.player),
      id: `back-${operator.player}`,
      txns: [
        { id: "bet-1", status: "ROLLBACK", roundId: "round-1", betAmount: 10, payoutAmount: 5, ...fields },
      ],
    });
  beforeEach(async () => {
    await outcomeOf("placeBets", {});
    await outcomeOf("settleBets", { payoutAmount: 5 });
  });

  test.each(["unsettleBets", "rollbackBets", "sexy/unsettleBets"])(
    "%s is rollback, in the wallet and in the ledger",
    async (path) => {
      expect((await rollback(path)).json).toMatchObject({ statusCode: 0, balanceAfter: 90 });
      expect(await columnsOf("rollback")).toHaveLength(1);
      expect(await statuses()).toEqual(["bet-1 open"]);
    },
  );

  test.each(["OPEN", "SETTLED", "REFUND", "UNSETTLED"])(
    "an operator in the field finds what is undone by the status that unsettleBets repeats, so %s is taken there, and not by rollback",
    async (status) => {
      expect((await rollback("rollback", { status })).json).toMatchObject({ statusCode: 30001 });
      expect((await rollback("unsettleBets", { status })).json).toMatchObject({ statusCode: 0 });
      expect(await statuses()).toEqual(["bet-1 open"]);
    },
  );

  test("the same request under another name is a replay, and other items under its id fail with 20002", async () => {
    const first = await rollback("unsettleBets");
    for (const path of ["rollback", "rollbackBets", "sexy/rollback", "unsettleBets"]) {
      expect((await rollback(path)).text).toBe(first.text);
    }
    expect((await rollback("rollback", { payoutAmount: 6 })).json).toMatchObject({ statusCode: 20002 });
    expect(await operator.balance()).toBe("90");
  });
});

describe("transactionType has a legacy value BY_BET, meaning BY_TRANSACTION; rollbacks sometimes leave it out", () => {
  test.each([["BY_BET"], ["BY_TRANSACTION"], [""], [null], [undefined]])(
    "%j acts on the one bet, in every callback",
    async (transactionType) => {
      const own = { transactionType };
      await outcomeOf("placeBets", [{ id: "bet-1" }, { id: "bet-2" }]);
      expect(await outcomeOf("settleBets", { payoutAmount: 5, ...own })).toBe("0 85");
      expect(await outcomeOf("rollback", { payoutAmount: 5, ...own })).toBe("0 80");
      expect(await outcomeOf("settleBets", { payoutAmount: 7, ...own })).toBe("0 87");
      expect(await outcomeOf("voidSettled", own)).toBe("0 90");
      expect(await outcomeOf("rollback", { betAmount: 10, ...own })).toBe("0 80");
      expect(await outcomeOf("cancelBets", own)).toBe("0 90");
      expect(await statuses()).toEqual(["bet-1 void", "bet-2 open"]);
    },
  );
});

describe("voidSettled comes BY_ROUND too: every settled bet of the player's round", () => {
  const voidRound = (fields = {}) => outcomeOf("voidSettled", { ...byRound, ...fields });

  test("the callback undoes stakes and payouts of settled bets; an open bet, a void one and a tip stay", async () => {
    await outcomeOf(
      "placeBets",
      ["bet-1", "bet-2", "bet-3", "bet-4"].map((id) => ({ id })),
    );
    await outcomeOf("placeBets", { id: "bet-9", roundId: "round-9" });
    await outcomeOf("placeTips", {});
    await outcomeOf("settleBets", [
      { payoutAmount: 30 },
      { id: "bet-2" },
      { id: "bet-9", roundId: "round-9" },
    ]);
    await outcomeOf("cancelBets", { id: "bet-3" });
    expect(await operator.balance()).toBe("87");
    expect(await voidRound({ id: "of the round" })).toBe("0 77");
    expect(await statuses()).toEqual([
      "bet-1 void",
      "bet-2 void",
      "bet-3 void",
      "bet-4 open",
      "bet-9 settled",
      "tip-1 settled",
    ]);
    const [entry] = await sql`
      select moved from callback_entries where username = ${operator.player} and callback = 'voidSettled'`;
    expect(Number(entry?.["moved"])).toBe(-10);
  });

  test("an unknown round, and one without an ended bet, fail with 20001, a void one with 20003", async () => {
    expect(await voidRound()).toBe("20001");
    await outcomeOf("placeBets", [{ id: "bet-1" }, { id: "bet-2" }]);
    expect(await voidRound()).toBe("20001");
    await outcomeOf("cancelBets", { id: "bet-1" });
    expect(await voidRound()).toBe("20001");
    await outcomeOf("settleBets", { id: "bet-2", payoutAmount: 5 });
    expect(await voidRound()).toBe("0 100");
    expect(await voidRound()).toBe("20003");
  });

  test("the round can be rolled back, and settled again", async () => {
    await outcomeOf("placeBets", [{ id: "bet-1" }, { id: "bet-2" }]);
    await outcomeOf("settleBets", { ...byRound, payoutAmount: 50 });
    expect(await voidRound()).toBe("0 100");
    expect(await outcomeOf("rollback", { ...byRound, betAmount: 20 })).toBe("0 80");
    expect(await outcomeOf("settleBets", { ...byRound, payoutAmount: 50 })).toBe("0 130");
  });
});

describe("a settle is retried under a new request id with the same items: 20002, and nothing moves", () => {
  const retried = async (items: Parameters<Operator["outcomeOf"]>[1], balance: string) => {
    expect(await outcomeOf("settleBets", items)).toBe(`0 ${balance}`);
    expect(await outcomeOf("settleBets", items)).toBe("20002");
    expect(await operator.balance()).toBe(balance);
  };

  test("of one bet", async () => {
    await outcomeOf("placeBets", {});
    await retried({ payoutAmount: 25 }, "115");
  });

  test("of one that pays nothing, or that skips", async () => {
    await outcomeOf("placeBets", [{}, { id: "bet-2" }]);
    await retried({ payoutAmount: 0 }, "80");
    await retried({ id: "bet-2", payoutAmount: 5, skipBalanceUpdate: true }, "80");
  });

  test("of several items", async () => {
    await outcomeOf("placeBets", [{}, { id: "bet-2" }]);
    await retried([{ payoutAmount: 25 }, { id: "bet-2", payoutAmount: 5 }], "110");
  });

  test("of a single-state item", () =>
    retried({ isSingleState: true, betAmount: 10, payoutAmount: 25 }, "115"));

  test("BY_ROUND, whether it names a bet or the round", async () => {
    await outcomeOf("placeBets", [{}, { id: "bet-2" }]);
    await retried({ ...byRound, payoutAmount: 25 }, "105");
    await outcomeOf("placeBets", { id: "bet-3", roundId: "round-2" });
    await retried({ ...byRound, id: "end", roundId: "round-2", payoutAmount: 5 }, "100");
  });

  test("of a single-state item BY_ROUND, whose payout another bet of the round has", async () => {
    const single = { isSingleState: true, betAmount: 10 };
    await outcomeOf("placeBets", {});
    await retried({ ...byRound, ...single, id: "end", payoutAmount: 25 }, "115");
    expect(await outcomeOf("settleBets", { ...byRound, ...single, id: "end", payoutAmount: 24 })).toBe(
      "20004",
    );
    // A bet of its own in the same round, equal except for its id.
    await retried({ ...byRound, ...single, id: "bet-2", payoutAmount: 25 }, "130");
  });

  test("of several items with one new: the server applies none", async () => {
    await outcomeOf("placeBets", [{}, { id: "bet-2" }]);
    await outcomeOf("settleBets", { payoutAmount: 25 });
    expect(await outcomeOf("settleBets", [{ id: "bet-2", payoutAmount: 5 }, { payoutAmount: 25 }])).toBe(
      "20002",
    );
    expect(await statuses()).toEqual(["bet-1 settled", "bet-2 open"]);
  });
});

test("a sender that computes amounts in floating point: the server keeps the digits as they came", async () => {
  await outcomeOf("placeBets", { betAmount: digits("0.30000000000000004") });
  const { text } = await operator.send("settleBets", {
    payoutAmount: digits("0.1000000000000000055511151231257827"),
  });
  expect(text).toContain(
    `"balanceBefore":99.69999999999999996,"balanceAfter":99.7999999999999999655511151231257827`,
  );
  const rows = await sql`
    select coalesce(payout_amount, bet_amount)::text as amount from callback_entries
    where username = ${operator.player} order by entry_id`;
  expect(rows.map(({ amount }) => amount)).toEqual([
    "0.30000000000000004",
    "0.1000000000000000055511151231257827",
  ]);
});

test("some testers leave out timestampMillis and item status: the server answers 30001, and the log names the field", async () => {
  const logged: string[] = [];
  await openWith({ context: { log: pino({}, { write: (line) => logged.push(line) }) } });
  expect(await outcomeOf("placeBets", {}, { timestampMillis: undefined })).toBe("30001");
  expect(await outcomeOf("placeBets", { status: undefined })).toBe("30001");
  expect(logged[0]).toMatch(/timestampMillis must be whole milliseconds since 1970.*but is missing/);
  expect(logged[1]).toMatch(/txns\[0\]\.status must be text, but is missing/);
  expect(await operator.balance()).toBe("100");
});

test("an operator may check the sessionToken of checkBalance and placeBets: the server never stores the token", async () => {
  const token = { sessionToken: "token-of-anna" };
  expect((await operator.send("placeBets", {}, token)).json).toMatchObject({ statusCode: 0 });
  await post(operator.url, "sexy/checkBalance", { ...exampleEnvelope(operator.player), ...token });
  const bodies = await sql`select body from callback_bodies where body like ${`%${operator.player}%`}`;
  expect(bodies).toHaveLength(2);
  expect(JSON.stringify(bodies)).not.toContain("token-of-anna");
});

describe('status code 30001 is "invalid token" in the provider\'s list, 40003 "forbidden"', () => {
  test("a request without a required field fails with 30001, and docs/callbacks.md says what else the code means", async () => {
    expect(await outcomeOf("placeBets", {}, { currency: undefined })).toBe("30001");
    const page = readFileSync(new URL("../../docs/callbacks.md", import.meta.url), "utf8");
    const [, meaning] = /^\| 30001 \| (.*) \|$/m.exec(page) ?? [];
    expect(meaning).toMatch(/A field is missing or wrong/);
    expect(meaning).toMatch(/"invalid token"/);
  });

  test("a sender from a refused address gets no answer at all: the server never answers 40003", async () => {
    const { url, player } = await startOperator(sql, { settings: { allowedIps: ["192.0.2.1"] } });
    await expect(post(url, "checkBalance", exampleEnvelope(player))).rejects.toThrow("fetch failed");
  });
});
