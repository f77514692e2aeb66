import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { useDatabase } from "../support/database.ts";
import { digits, expectLedgerAgrees, type Operator, startOperator } from "./operator.ts";

const { sql } = useDatabase();
let operator: Operator;
beforeEach(async () => {
  operator = await startOperator(sql);
});
afterEach(() => expectLedgerAgrees(sql, operator.player));

const outcomeOf: Operator["outcomeOf"] = (...request) => operator.outcomeOf(...request);
const place = (fields = {}) => outcomeOf("placeBets", fields);
const settle = (payoutAmount: number, fields = {}) => outcomeOf("settleBets", { payoutAmount, ...fields });
const cancel = (fields = {}) => outcomeOf("cancelBets", fields);

describe("placing", () => {
  test("a placement takes its stake", async () => {
    expect(await place()).toBe("0 90");
  });

  test("a placement beyond the balance fails with 10002 and takes nothing", async () => {
    expect(await place({ betAmount: 100.01 })).toBe("10002");
    expect(await operator.balance()).toBe("100");
    expect(await place({ betAmount: 100 })).toBe("0 0");
  });

  test("a free spin has a stake of 0 and needs no balance", async () => {
    await place({ betAmount: 100 });
    expect(await place({ id: "bet-2", betAmount: 0, isFeature: true })).toBe("0 0");
  });

  test("a placement of a known bet under another request id fails with 20002 in every state of the bet", async () => {
    await place();
    expect(await place()).toBe("20002");
    await cancel();
    expect(await place()).toBe("20002");
    expect(await operator.balance()).toBe("100");
  });

  test("a request applies all items or none: one item beyond the balance fails the whole request", async () => {
    const items = [{ id: "bet-1" }, { id: "bet-2", betAmount: 91 }];
    expect(await outcomeOf("placeBets", items)).toBe("10002");
    expect(await operator.balance()).toBe("100");
    expect(await outcomeOf("placeBets", [{ id: "bet-1" }, { id: "bet-2", betAmount: 90 }])).toBe("0 0");
  });

  test("two items of one request with the same id fail as duplicates", async () => {
    expect(await outcomeOf("placeBets", [{}, {}])).toBe("20002");
    expect(await operator.balance()).toBe("100");
  });

  test("a placement with skipBalanceUpdate takes no money", async () => {
    expect(await place({ skipBalanceUpdate: true, betAmount: 1000 })).toBe("0 100");
  });
});

describe("a bet that the provider still considers", () => {
  test("WAITING and then OPEN make one bet, debited once", async () => {
    expect(await place({ status: "WAITING" })).toBe("0 90");
    expect(await place({ status: "OPEN" })).toBe("0 90");
    expect(await place({ status: "OPEN" })).toBe("20002");
  });

  test("OPEN debits what WAITING did not debit", async () => {
    expect(await place({ status: "WAITING", skipBalanceUpdate: true })).toBe("0 100");
    expect(await place({ status: "OPEN" })).toBe("0 90");
  });

  test("OPEN with another stake moves the difference", async () => {
    await place({ status: "WAITING" });
    expect(await place({ status: "OPEN", betAmount: 12 })).toBe("0 88");
  });

  test("OPEN beyond the balance fails with 10002", async () => {
    await place({ status: "WAITING", skipBalanceUpdate: true });
    expect(await place({ status: "OPEN", betAmount: 101 })).toBe("10002");
  });

  test("a second WAITING fails with 20002", async () => {
    await place({ status: "WAITING" });
    expect(await place({ status: "WAITING" })).toBe("20002");
  });

  test("a cancel gives back only what was taken", async () => {
    await place({ status: "WAITING", skipBalanceUpdate: true });
    expect(await cancel({ status: "REJECT" })).toBe("0 100");
  });
});

describe("adjusting a stake", () => {
  test("an adjustment moves the difference of the stakes", async () => {
    await place();
    expect(await outcomeOf("adjustBets", { betAmount: 4 })).toBe("0 96");
    expect(await outcomeOf("adjustBets", { betAmount: 30 })).toBe("0 70");
  });

  test("an adjustment of an unknown bet fails with 20001, one without a change with 20002", async () => {
    expect(await outcomeOf("adjustBets", {})).toBe("20001");
    await place();
    expect(await outcomeOf("adjustBets", {})).toBe("20002");
  });

  test("an adjustment of a settled bet fails with 20004, of a void one with 20003", async () => {
    await place();
    await place({ id: "bet-2" });
    await settle(0);
    await cancel({ id: "bet-2" });
    expect(await outcomeOf("adjustBets", { betAmount: 5 })).toBe("20004");
    expect(await outcomeOf("adjustBets", { id: "bet-2", betAmount: 5 })).toBe("20003");
  });

  test("an adjustment beyond the balance fails with 10002", async () => {
    await place();
    expect(await outcomeOf("adjustBets", { betAmount: 101 })).toBe("10002");
  });
});

describe("settling", () => {
  test("a settle pays the payout", async () => {
    await place();
    expect(await settle(25.5)).toBe("0 115.5");
  });

  test("a settle of an unknown bet fails with 20001, and the same request succeeds once the placement has arrived", async () => {
    const late = { id: `late-${operator.player}` };
    expect(await outcomeOf("settleBets", { payoutAmount: 5 }, late)).toBe("20001");
    await place();
    expect(await outcomeOf("settleBets", { payoutAmount: 5 }, late)).toBe("0 95");
  });

  test("after the last settle an equal settle fails with 20002, another one with 20004", async () => {
    await place();
    await settle(5);
    expect(await settle(5)).toBe("20002");
    expect(await settle(6)).toBe("20004");
    expect(await operator.balance()).toBe("95");
  });

  test("a settle adds its payout if the settle before it was partial", async () => {
    await place();
    expect(await settle(5, { isEndRound: false })).toBe("0 95");
    expect(await settle(6, { isEndRound: false })).toBe("0 101");
    expect(await settle(6)).toBe("0 107");
    expect(await settle(6)).toBe("20002");
    expect(await settle(8)).toBe("20004");
  });

  test("a partial settle that is repeated under another request id fails with 20002 and is paid once", async () => {
    await place();
    const part = { isEndRound: false };
    expect(await settle(5, part)).toBe("0 95");
    expect(await settle(5, part)).toBe("20002");
    expect(await settle(5, { ...part, transactionType: "BY_ROUND" })).toBe("20002");
    // Two parts may pay the same amount. Their txnId distinguishes them.
    expect(await settle(5, { ...part, txnId: "part-2" })).toBe("0 100");
    expect(await settle(5, { ...part, txnId: "part-2" })).toBe("20002");
    expect(await settle(0)).toBe("0 100");
    expect(await settle(5, { ...part, txnId: "part-2" })).toBe("20002");
    expect(await operator.balance()).toBe("100");
  });

  test("after a partial settle the bet is open: it can be adjusted, and voidSettled fails", async () => {
    await place();
    expect(await settle(5, { isEndRound: false })).toBe("0 95");
    expect(await outcomeOf("adjustBets", { betAmount: 12 })).toBe("0 93");
    expect(await outcomeOf("voidSettled", {})).toBe("20001");
    expect(await outcomeOf("rollback", { payoutAmount: 5 })).toBe("20002");
    expect(await settle(7)).toBe("0 100");
    expect(await outcomeOf("voidSettled", {})).toBe("0 100");
  });

  test("a payout that would make the balance too large fails with 30001, and the wallet keeps working", async () => {
    await place();
    const most = digits("9".repeat(61));
    expect(await outcomeOf("settleBets", { payoutAmount: most })).toBe("30001");
    expect(await settle(5)).toBe("0 95");
  });

  test("an equal partial settle is refused, even if it moves nothing: one void undoes the payout once", async () => {
    await place();
    const part = { skipBalanceUpdate: true, isEndRound: false };
    expect(await settle(5, part)).toBe("0 90");
    expect(await settle(5, part)).toBe("20002");
    expect(await settle(6, part)).toBe("0 90");
    expect(await settle(0)).toBe("0 90");
    expect(await outcomeOf("voidSettled", { skipBalanceUpdate: false })).toBe("0 89");
  });

  test("a settle of a cancelled bet fails with 20003", async () => {
    await place();
    await cancel();
    expect(await settle(5)).toBe("20003");
  });

  test("a settle with skipBalanceUpdate pays nothing", async () => {
    await place();
    expect(await settle(50, { skipBalanceUpdate: true })).toBe("0 90");
  });
});

describe("cancelling", () => {
  test("a cancel gives back the debited amount, even if it names another one", async () => {
    await place();
    await outcomeOf("adjustBets", { betAmount: 4 });
    expect(await cancel({ betAmount: 10 })).toBe("0 100");
  });

  test("a second cancel fails with 20003, a cancel of a settled bet with 20004", async () => {
    await place();
    await cancel();
    expect(await cancel()).toBe("20003");
    await place({ id: "bet-2" });
    await settle(0, { id: "bet-2" });
    expect(await cancel({ id: "bet-2" })).toBe("20004");
  });

  test("a cancel of an unknown bet fails with 20001 each time, and the late placement fails with 20003", async () => {
    expect(await cancel()).toBe("20001");
    expect(await cancel()).toBe("20001");
    expect(await place()).toBe("20003");
    expect(await operator.balance()).toBe("100");
    const stones = await sql`select kind, ref from wallet_tombstones where username = ${operator.player}`;
    expect(stones).toEqual([{ kind: "bet", ref: "bet-1" }]);
  });

  test("a cancel that fails leaves a tombstone for every unknown bet it names, and cancels no known one", async () => {
    await place();
    expect(await outcomeOf("cancelBets", [{}, { id: "bet-2" }, { id: "bet-3" }])).toBe("20001");
    expect(await place({ id: "bet-2" })).toBe("20003");
    expect(await place({ id: "bet-3" })).toBe("20003");
    expect(await settle(5)).toBe("0 95");
  });
});

describe("voiding a settlement", () => {
  test("voidSettled undoes stake and payout, regardless of its status", async () => {
    await place();
    await settle(30);
    expect(await outcomeOf("voidSettled", { payoutAmount: 30, status: "ANYTHING" })).toBe("0 100");
  });

  test("voidSettled of an unknown or open bet fails with 20001, a second one with 20003", async () => {
    expect(await outcomeOf("voidSettled", {})).toBe("20001");
    await place();
    expect(await outcomeOf("voidSettled", {})).toBe("20001");
    await settle(5);
    expect(await outcomeOf("voidSettled", {})).toBe("0 100");
    expect(await outcomeOf("voidSettled", {})).toBe("20003");
  });

  test("voidSettled takes back a payout that the player has spent, even below zero", async () => {
    await place();
    await settle(60);
    await place({ id: "bet-2", betAmount: 150 });
    expect(await outcomeOf("voidSettled", {})).toBe("0 -50");
  });
});

describe("rewards", () => {
  const reward = (payoutAmount: number, fields = {}) => outcomeOf("winRewards", { payoutAmount, ...fields });

  test("a reward of an unknown id makes a settled bet of its own", async () => {
    expect(await reward(7, { betAmount: 99 })).toBe("0 107");
    expect(await settle(5)).toBe("20001");
    expect(await cancel()).toBe("20004");
    expect(await place()).toBe("20002");
  });

  test("a reward of a known id adds to its payout, an equal reward fails with 20002", async () => {
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
  const rollback = (fields = {}) => outcomeOf("rollback", fields);

  test("a rollback of an unknown bet fails with 20001, of an open one with 20002", async () => {
    expect(await rollback()).toBe("20001");
    await place();
    expect(await rollback()).toBe("20002");
  });

  test("a rollback of a settled bet takes the payout back, and the bet can be settled, cancelled or adjusted again", async () => {
    await place();
    await settle(5);
    expect(await rollback({ payoutAmount: 5 })).toBe("0 90");
    expect(await settle(5)).toBe("0 95");
    await rollback({ payoutAmount: 5 });
    expect(await outcomeOf("adjustBets", { betAmount: 3 })).toBe("0 97");
    expect(await cancel()).toBe("0 100");
  });

  test("a rollback of a void bet takes the stake again", async () => {
    await place();
    await cancel();
    expect(await rollback()).toBe("0 90");
    expect(await cancel()).toBe("0 100");
  });

  test("a rollback of a voided settlement takes the stake again, but pays nothing", async () => {
    await place();
    await settle(30);
    await outcomeOf("voidSettled", {});
    expect(await rollback()).toBe("0 90");
    expect(await settle(30)).toBe("0 120");
  });

  test("a rollback applies even below zero; after that only placements of 0 succeed", async () => {
    await place();
    await settle(60);
    await place({ id: "bet-2", betAmount: 150 });
    expect(await rollback({ payoutAmount: 60 })).toBe("0 -60");
    expect(await place({ id: "bet-3", betAmount: 1 })).toBe("10002");
    expect(await place({ id: "bet-4", betAmount: 0 })).toBe("0 -60");
  });

  test("a rollback takes back a reward with the settlement only if it names their sum", async () => {
    await place();
    await settle(5);
    await outcomeOf("winRewards", { payoutAmount: 7 });
    expect(await rollback({ payoutAmount: 5 })).toBe("0 97");
    await settle(5);
    expect(await rollback({ payoutAmount: 12 })).toBe("0 90");
  });
});

describe("tips", () => {
  test("a tip takes its amount, a repeated tip fails with 20002", async () => {
    expect(await outcomeOf("placeTips", {})).toBe("0 97");
    expect(await outcomeOf("placeTips", {})).toBe("20002");
    expect(await outcomeOf("placeTips", { id: "tip-2", betAmount: 98 })).toBe("10002");
  });

  test("a cancel gives a tip back, a second cancel fails with 20003, a cancel of an unknown tip with 20001", async () => {
    expect(await outcomeOf("cancelTips", {})).toBe("20001");
    await outcomeOf("placeTips", {});
    expect(await outcomeOf("cancelTips", {})).toBe("0 100");
    expect(await outcomeOf("cancelTips", {})).toBe("20003");
  });

  test("a cancel of a tip does not find a bet of the same id", async () => {
    await place();
    expect(await outcomeOf("cancelTips", { id: "bet-1" })).toBe("20001");
  });
});
