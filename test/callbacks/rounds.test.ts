import { beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { useDatabase } from "../support/database.ts";
import { expectLedgerAgrees, foldLedger, type Operator, startOperator } from "./operator.ts";

const { sql } = useDatabase();
const byRound = { transactionType: "BY_ROUND" };

describe("by round", () => {
  let operator: Operator;
  beforeEach(async () => {
    operator = await startOperator(sql);
    onTestFinished(() => expectLedgerAgrees(sql, operator.player));
  });
  const outcomeOf: Operator["outcomeOf"] = (...request) => operator.outcomeOf(...request);
  const placeTwo = () => outcomeOf("placeBets", [{ id: "bet-1" }, { id: "bet-2", betAmount: 20 }]);
  const statuses = async () =>
    (await foldLedger(sql, operator.player)).map(({ txnId, status }) => `${txnId} ${status}`).sort();

  test("a settle ends every open bet of the round, and pays the bet that it names", async () => {
    await placeTwo();
    expect(await outcomeOf("settleBets", { ...byRound, id: "bet-2", payoutAmount: 50 })).toBe("0 120");
    expect(await statuses()).toEqual(["bet-1 settled", "bet-2 settled"]);
    expect(await outcomeOf("settleBets", { ...byRound, id: "bet-2", payoutAmount: 50 })).toBe("20002");
    expect(await outcomeOf("settleBets", { ...byRound, id: "bet-2", payoutAmount: 51 })).toBe("20004");
  });

  test("a settle that names no bet pays the earliest one, and a different settle afterwards is no replay", async () => {
    await placeTwo();
    expect(await outcomeOf("settleBets", { ...byRound, id: "round-end", payoutAmount: 50 })).toBe("0 120");
    expect(await outcomeOf("settleBets", { ...byRound, id: "round-end", payoutAmount: 50 })).toBe("20002");
    expect(await outcomeOf("settleBets", { ...byRound, id: "round-end", payoutAmount: 9 })).toBe("20004");
  });

  test("a bet placed without a round belongs to the first round that a callback names for it", async () => {
    await outcomeOf("placeBets", [{ id: "bet-1" }, { id: "bet-2", roundId: "UNKNOWN" }]);
    await outcomeOf("winRewards", { id: "bet-2", payoutAmount: 5 });
    await outcomeOf("adjustBets", { id: "bet-2", roundId: "round-9", betAmount: 20 });
    expect(await outcomeOf("cancelBets", byRound)).toBe("0 105");
    expect(await statuses()).toEqual(["bet-1 void", "bet-2 void"]);
  });

  test("a placement can use an id that only the end of a round named, and the bet ends with its round", async () => {
    await placeTwo();
    await outcomeOf("settleBets", { ...byRound, id: "bet-3", payoutAmount: 50 });
    expect(await outcomeOf("placeBets", { id: "bet-3", betAmount: 5 })).toBe("0 115");
    expect(await outcomeOf("cancelBets", byRound)).toBe("0 120");
    expect(await statuses()).toEqual(["bet-1 settled", "bet-2 settled", "bet-3 void"]);
  });

  test("a settle of an unknown round fails with 20001, of a cancelled one with 20003", async () => {
    expect(await outcomeOf("settleBets", byRound)).toBe("20001");
    await placeTwo();
    await outcomeOf("cancelBets", byRound);
    expect(await outcomeOf("settleBets", { ...byRound, id: "round-end" })).toBe("20003");
    expect(await outcomeOf("settleBets", byRound)).toBe("20003");
  });

  test("a cancel acts on open bets only, and gives back the sum of their debits", async () => {
    await placeTwo();
    await outcomeOf("placeBets", { id: "bet-3", betAmount: 5 });
    await outcomeOf("settleBets", { id: "bet-2" });
    expect(await outcomeOf("cancelBets", byRound)).toBe("0 80");
    const [entry] = await sql`
      select moved from callback_entries where username = ${operator.player} and callback = 'cancelBets'`;
    expect(Number(entry?.["moved"])).toBe(15);
    expect(await statuses()).toEqual(["bet-1 void", "bet-2 settled", "bet-3 void"]);
  });

  test("a cancel without an open bet fails with 20004 if one is settled, else with 20003", async () => {
    await placeTwo();
    await outcomeOf("cancelBets", { id: "bet-1" });
    await outcomeOf("settleBets", { id: "bet-2" });
    expect(await outcomeOf("cancelBets", byRound)).toBe("20004");
    await outcomeOf("placeBets", { id: "bet-9", roundId: "round-9" });
    await outcomeOf("cancelBets", { ...byRound, id: "bet-9", roundId: "round-9" });
    expect(await outcomeOf("cancelBets", { ...byRound, id: "bet-9", roundId: "round-9" })).toBe("20003");
  });

  test("a cancel of an unknown round fails with 20001, and every late bet of that round is refused", async () => {
    expect(await outcomeOf("cancelBets", byRound)).toBe("20001");
    expect(await outcomeOf("placeBets", { id: "bet-7" })).toBe("20003");
    expect(await outcomeOf("placeBets", { id: "bet-7", roundId: "round-2" })).toBe("0 90");
  });

  test("a rollback reopens every ended bet, except tips and bets with only rewards", async () => {
    await placeTwo();
    await outcomeOf("settleBets", { ...byRound, id: "bet-1", payoutAmount: 50 });
    await outcomeOf("placeTips", {});
    await outcomeOf("winRewards", { id: "reward-1", payoutAmount: 7 });
    expect(await operator.balance()).toBe("124");
    expect(await outcomeOf("rollback", { ...byRound, payoutAmount: 50, betAmount: 30 })).toBe("0 74");
    expect(await statuses()).toEqual(["bet-1 open", "bet-2 open", "reward-1 settled", "tip-1 settled"]);
    expect(await outcomeOf("rollback", { ...byRound, payoutAmount: 50 })).toBe("20002");
  });

  test("a rollback of a round with a settled and a void bet takes back the amounts of both", async () => {
    await placeTwo();
    await outcomeOf("settleBets", { id: "bet-1", payoutAmount: 50 });
    await outcomeOf("cancelBets", { id: "bet-2", betAmount: 20 });
    expect(await outcomeOf("rollback", { ...byRound, payoutAmount: 50, betAmount: 20 })).toBe("0 70");
    expect(await outcomeOf("cancelBets", byRound)).toBe("0 100");
  });

  test("a rollback of an unknown round fails with 20001", async () => {
    expect(await outcomeOf("rollback", byRound)).toBe("20001");
  });

  test.each(["", "UNKNOWN"])("%j names no round: the callback acts on its own bet only", async (roundId) => {
    await outcomeOf("placeBets", [
      { id: "bet-1", roundId },
      { id: "bet-2", roundId },
    ]);
    expect(await outcomeOf("cancelBets", { ...byRound, roundId })).toBe("0 90");
    expect(await statuses()).toEqual(["bet-1 void", "bet-2 open"]);
  });
});

describe("a product that settles without placements", () => {
  let operator: Operator;
  beforeEach(async () => {
    operator = await startOperator(sql, { productId: "S1" });
    onTestFinished(() => expectLedgerAgrees(sql, operator.player, "S1"));
  });
  const settle = (fields = {}) =>
    operator.outcomeOf("settleBets", { isSingleState: true, betAmount: 10, payoutAmount: 0, ...fields });

  test("a settle without a placement takes the stake and pays", async () => {
    expect(await settle({ payoutAmount: 25 })).toBe("0 115");
    expect(await settle({ payoutAmount: 25 })).toBe("20002");
    expect(await settle({ payoutAmount: 24 })).toBe("20004");
  });

  test("a settle fails with 10002 if the balance before it is below the stake, regardless of the payout", async () => {
    expect(await settle({ betAmount: 101, payoutAmount: 500 })).toBe("10002");
    expect(await operator.balance()).toBe("100");
  });

  test("a settle does not debit a placed bet again", async () => {
    await operator.outcomeOf("placeBets", {});
    expect(await settle({ payoutAmount: 25 })).toBe("0 115");
  });

  test("a settle after a rollback does not take the stake a second time", async () => {
    await settle({ payoutAmount: 25 });
    expect(await operator.outcomeOf("rollback", { payoutAmount: 25 })).toBe("0 90");
    expect(await settle({ payoutAmount: 5 })).toBe("0 95");
  });

  test("a settle of a bet that was cancelled before it arrived fails with 20003", async () => {
    expect(await operator.outcomeOf("cancelBets", {})).toBe("20001");
    expect(await settle()).toBe("20003");
  });
});
