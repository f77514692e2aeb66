import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { useDatabase } from "../support/database.ts";
import { digits, expectLedgerAgrees, type Operator, startOperator } from "./operator.ts";

const { sql } = useDatabase();
let operator: Operator;
beforeEach(async () => {
  operator = await startOperator(sql);
});
afterEach(() => expectLedgerAgrees(sql, operator.player));

const tell: Operator["tell"] = (...request) => operator.tell(...request);
const place = (fields = {}) => tell("placeBets", fields);
const settle = (payoutAmount: number, fields = {}) => tell("settleBets", { payoutAmount, ...fields });
const cancel = (fields = {}) => tell("cancelBets", fields);

describe("placing", () => {
  test("a placement takes its stake", async () => {
    expect(await place()).toBe("0 90");
  });

  test("a placement beyond the balance is 10002, and takes nothing", async () => {
    expect(await place({ betAmount: 100.01 })).toBe("10002");
    expect(await operator.balance()).toBe("100");
    expect(await place({ betAmount: 100 })).toBe("0 0");
  });

  test("a free spin has a stake of 0, and needs no balance", async () => {
    await place({ betAmount: 100 });
    expect(await place({ id: "bet-2", betAmount: 0, isFeature: true })).toBe("0 0");
  });

  test("a known id is 20002 with another request id, whatever has become of the bet", async () => {
    await place();
    expect(await place()).toBe("20002");
    await cancel();
    expect(await place()).toBe("20002");
    expect(await operator.balance()).toBe("100");
  });

  test("all items or none: one that cannot be paid takes the others with it", async () => {
    const items = [{ id: "bet-1" }, { id: "bet-2", betAmount: 91 }];
    expect(await tell("placeBets", items)).toBe("10002");
    expect(await operator.balance()).toBe("100");
    expect(await tell("placeBets", [{ id: "bet-1" }, { id: "bet-2", betAmount: 90 }])).toBe("0 0");
  });

  test("two items of one request with the same id are a duplicate", async () => {
    expect(await tell("placeBets", [{}, {}])).toBe("20002");
    expect(await operator.balance()).toBe("100");
  });

  test("skipBalanceUpdate places without taking anything", async () => {
    expect(await place({ skipBalanceUpdate: true, betAmount: 1000 })).toBe("0 100");
  });
});

describe("a bet the provider considers", () => {
  test("WAITING and then OPEN is one bet, debited once", async () => {
    expect(await place({ status: "WAITING" })).toBe("0 90");
    expect(await place({ status: "OPEN" })).toBe("0 90");
    expect(await place({ status: "OPEN" })).toBe("20002");
  });

  test("what WAITING did not debit, OPEN does", async () => {
    expect(await place({ status: "WAITING", skipBalanceUpdate: true })).toBe("0 100");
    expect(await place({ status: "OPEN" })).toBe("0 90");
  });

  test("OPEN with another stake moves the difference", async () => {
    await place({ status: "WAITING" });
    expect(await place({ status: "OPEN", betAmount: 12 })).toBe("0 88");
  });

  test("OPEN beyond the balance is 10002", async () => {
    await place({ status: "WAITING", skipBalanceUpdate: true });
    expect(await place({ status: "OPEN", betAmount: 101 })).toBe("10002");
  });

  test("WAITING twice is 20002", async () => {
    await place({ status: "WAITING" });
    expect(await place({ status: "WAITING" })).toBe("20002");
  });

  test("it can be cancelled, and gives back what was taken only", async () => {
    await place({ status: "WAITING", skipBalanceUpdate: true });
    expect(await cancel({ status: "REJECT" })).toBe("0 100");
  });
});

describe("adjusting", () => {
  test("the difference of the stakes is moved", async () => {
    await place();
    expect(await tell("adjustBets", { betAmount: 4 })).toBe("0 96");
    expect(await tell("adjustBets", { betAmount: 30 })).toBe("0 70");
  });

  test("an unknown bet is 20001, an unchanged amount 20002", async () => {
    expect(await tell("adjustBets", {})).toBe("20001");
    await place();
    expect(await tell("adjustBets", {})).toBe("20002");
  });

  test("a settled bet is 20004, a void one 20003", async () => {
    await place();
    await place({ id: "bet-2" });
    await settle(0);
    await cancel({ id: "bet-2" });
    expect(await tell("adjustBets", { betAmount: 5 })).toBe("20004");
    expect(await tell("adjustBets", { id: "bet-2", betAmount: 5 })).toBe("20003");
  });

  test("more than the balance is 10002", async () => {
    await place();
    expect(await tell("adjustBets", { betAmount: 101 })).toBe("10002");
  });
});

describe("settling", () => {
  test("a settle pays", async () => {
    await place();
    expect(await settle(25.5)).toBe("0 115.5");
  });

  test("an unknown bet is 20001, and succeeds once its placement is there, by the same request", async () => {
    const late = { id: `late-${operator.player}` };
    expect(await tell("settleBets", { payoutAmount: 5 }, late)).toBe("20001");
    await place();
    expect(await tell("settleBets", { payoutAmount: 5 }, late)).toBe("0 95");
  });

  test("a settle after the last one is 20002 when it is equal, and 20004 when not", async () => {
    await place();
    await settle(5);
    expect(await settle(5)).toBe("20002");
    expect(await settle(6)).toBe("20004");
    expect(await operator.balance()).toBe("95");
  });

  test("a settle adds where the one before said that the round goes on", async () => {
    await place();
    expect(await settle(5, { isEndRound: false })).toBe("0 95");
    expect(await settle(5, { isEndRound: false })).toBe("0 100");
    expect(await settle(7)).toBe("0 107");
    expect(await settle(7)).toBe("20002");
    expect(await settle(8)).toBe("20004");
  });

  test("a payout with which the balance could not be kept is 30001, and the wallet goes on", async () => {
    await place();
    const most = digits("9".repeat(61));
    expect(await tell("settleBets", { payoutAmount: most })).toBe("30001");
    expect(await settle(5)).toBe("0 95");
  });

  test("an equal part that moves nothing is a repeat: a void undoes it once", async () => {
    await place();
    const part = { skipBalanceUpdate: true, isEndRound: false };
    expect(await settle(5, part)).toBe("0 90");
    expect(await settle(5, part)).toBe("0 90");
    expect(await settle(6, part)).toBe("0 90");
    expect(await tell("voidSettled", { skipBalanceUpdate: false })).toBe("0 89");
  });

  test("a cancelled bet is 20003", async () => {
    await place();
    await cancel();
    expect(await settle(5)).toBe("20003");
  });

  test("skipBalanceUpdate settles without paying", async () => {
    await place();
    expect(await settle(50, { skipBalanceUpdate: true })).toBe("0 90");
  });
});

describe("cancelling", () => {
  test("what was taken is given back, whatever the cancel says it was", async () => {
    await place();
    await tell("adjustBets", { betAmount: 4 });
    expect(await cancel({ betAmount: 10 })).toBe("0 100");
  });

  test("a second cancel is 20003, a settled bet 20004", async () => {
    await place();
    await cancel();
    expect(await cancel()).toBe("20003");
    await place({ id: "bet-2" });
    await settle(0, { id: "bet-2" });
    expect(await cancel({ id: "bet-2" })).toBe("20004");
  });

  test("a cancel of an unknown bet is 20001 each time, and its late placement is refused with 20003", async () => {
    expect(await cancel()).toBe("20001");
    expect(await cancel()).toBe("20001");
    expect(await place()).toBe("20003");
    expect(await operator.balance()).toBe("100");
    const stones = await sql`select kind, ref from wallet_tombstones where username = ${operator.player}`;
    expect(stones).toEqual([{ kind: "bet", ref: "bet-1" }]);
  });

  test("every unknown bet of a cancel that fails is remembered, and no known one is cancelled", async () => {
    await place();
    expect(await tell("cancelBets", [{}, { id: "bet-2" }, { id: "bet-3" }])).toBe("20001");
    expect(await place({ id: "bet-2" })).toBe("20003");
    expect(await place({ id: "bet-3" })).toBe("20003");
    expect(await settle(5)).toBe("0 95");
  });
});

describe("voiding what was settled", () => {
  test("stake and payout are undone, whatever its status says", async () => {
    await place();
    await settle(30);
    expect(await tell("voidSettled", { payoutAmount: 30, status: "ANYTHING" })).toBe("0 100");
  });

  test("an unknown bet and an open one are 20001, a second void is 20003", async () => {
    expect(await tell("voidSettled", {})).toBe("20001");
    await place();
    expect(await tell("voidSettled", {})).toBe("20001");
    await settle(5);
    expect(await tell("voidSettled", {})).toBe("0 100");
    expect(await tell("voidSettled", {})).toBe("20003");
  });

  test("a payout that is spent is taken back below zero", async () => {
    await place();
    await settle(60);
    await place({ id: "bet-2", betAmount: 150 });
    expect(await tell("voidSettled", {})).toBe("0 -50");
  });
});

describe("rewards", () => {
  const reward = (payoutAmount: number, fields = {}) => tell("winRewards", { payoutAmount, ...fields });

  test("a reward of an unknown id is a settled bet of its own", async () => {
    expect(await reward(7, { betAmount: 99 })).toBe("0 107");
    expect(await settle(5)).toBe("20001");
    expect(await cancel()).toBe("20004");
    expect(await place()).toBe("20002");
  });

  test("a reward of a known id adds, an equal one is 20002", async () => {
    await place();
    expect(await reward(7)).toBe("0 97");
    expect(await reward(7)).toBe("20002");
    expect(await reward(8)).toBe("0 105");
    expect(await reward(7)).toBe("20002");
  });

  test("a reward never closes an open bet", async () => {
    await place();
    await reward(7);
    expect(await settle(20)).toBe("0 117");
    expect(await reward(3)).toBe("0 120");
  });
});

describe("rolling back", () => {
  const rollback = (fields = {}) => tell("rollback", fields);

  test("an unknown bet is 20001, an open one 20002", async () => {
    expect(await rollback()).toBe("20001");
    await place();
    expect(await rollback()).toBe("20002");
  });

  test("a settled bet gives its payout back, and everything is possible again", async () => {
    await place();
    await settle(5);
    expect(await rollback({ payoutAmount: 5 })).toBe("0 90");
    expect(await settle(5)).toBe("0 95");
    await rollback({ payoutAmount: 5 });
    expect(await tell("adjustBets", { betAmount: 3 })).toBe("0 97");
    expect(await cancel()).toBe("0 100");
  });

  test("a void bet is taken again", async () => {
    await place();
    await cancel();
    expect(await rollback()).toBe("0 90");
    expect(await cancel()).toBe("0 100");
  });

  test("a voided settlement runs again without its payout", async () => {
    await place();
    await settle(30);
    await tell("voidSettled", {});
    expect(await rollback()).toBe("0 90");
    expect(await settle(30)).toBe("0 120");
  });

  test("it is applied even below zero, after which only nothing can be placed", async () => {
    await place();
    await settle(60);
    await place({ id: "bet-2", betAmount: 150 });
    expect(await rollback({ payoutAmount: 60 })).toBe("0 -60");
    expect(await place({ id: "bet-3", betAmount: 1 })).toBe("10002");
    expect(await place({ id: "bet-4", betAmount: 0 })).toBe("0 -60");
  });

  test("a reward goes with the settlement only where the rollback names both together", async () => {
    await place();
    await settle(5);
    await tell("winRewards", { payoutAmount: 7 });
    expect(await rollback({ payoutAmount: 5 })).toBe("0 97");
    await settle(5);
    expect(await rollback({ payoutAmount: 12 })).toBe("0 90");
  });
});

describe("tips", () => {
  test("a tip is taken, a repeated one is 20002", async () => {
    expect(await tell("placeTips", {})).toBe("0 97");
    expect(await tell("placeTips", {})).toBe("20002");
    expect(await tell("placeTips", { id: "tip-2", betAmount: 98 })).toBe("10002");
  });

  test("a cancelled tip is given back, a second cancel is 20003, an unknown tip 20001", async () => {
    expect(await tell("cancelTips", {})).toBe("20001");
    await tell("placeTips", {});
    expect(await tell("cancelTips", {})).toBe("0 100");
    expect(await tell("cancelTips", {})).toBe("20003");
  });

  test("a bet's id is no tip's", async () => {
    await place();
    expect(await tell("cancelTips", { id: "bet-1" })).toBe("20001");
  });
});
