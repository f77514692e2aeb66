import { describe, expect, test } from "vitest";
import type { CallbackEntry } from "../../src/callback.ts";
import { findBalances } from "../../src/diff/balance.ts";
import { askedByEntry } from "../../src/ledger/fold.ts";
import { formatAmount } from "../../src/money.ts";
import { amount, exampleEntry, NOON } from "../support/examples.ts";

const item = (
  moved: string | null,
  before: string | null,
  after: string | null,
  fields: Partial<CallbackEntry> = {},
) =>
  exampleEntry({
    requestId: "q1",
    moved: moved === null ? null : amount(moved),
    balanceBefore: before === null ? null : amount(before),
    balanceAfter: after === null ? null : amount(after),
    ...fields,
  });
const found = (...entries: CallbackEntry[]) =>
  findBalances(entries, askedByEntry(entries, { singleState: false }), new Map()).map(
    ({ subject, amountAtRisk }) => `${subject} ${formatAmount(amountAtRisk)}`,
  );

describe("a request's balances and the sum that its items moved", () => {
  test("agree over all of its items", () => {
    expect(
      found(item("-10", "100", "85"), item("-5", "100", "85", { txnId: "bet-2", roundId: "round-2" })),
    ).toEqual([]);
  });

  test("differ by their difference, in either direction", () => {
    expect(found(item("-10", "100", "95"))).toEqual(['request:["placeBets","q1"] 5']);
    expect(found(item("-10", "100", "85"))).toEqual(['request:["placeBets","q1"] 5']);
  });

  test.each([
    { name: "the balance before", entry: item("-10", null, "95") },
    { name: "the balance after", entry: item("-10", "100", null) },
    {
      name: "what its placement took",
      entry: item(null, "90", "95", { callback: "cancelBets", status: "REFUND" }),
    },
  ])("are not compared if $name is not known", ({ entry }) => {
    expect(found(entry)).toEqual([]);
  });

  test("agree with the requested amounts, if the moved amounts are unknown", () => {
    expect(found(item(null, "100", "90"))).toEqual([]);
    expect(found(item(null, "100", "95"))).toEqual(['request:["placeBets","q1"] 5']);
    const cancelled = (after: string) =>
      item(null, "90", after, {
        callback: "cancelBets",
        status: "REFUND",
        requestId: "q2",
        occurredAt: NOON,
      });
    expect(found(item(null, "100", "90"), cancelled("100"))).toEqual([]);
    expect(found(item(null, "100", "90"), cancelled("95"))).toEqual(['request:["cancelBets","q2"] 5']);
  });

  test("are compared for each request alone", () => {
    expect(found(item("-10", "100", "90"), item("-10", "90", "80", { requestId: "q2" }))).toEqual([]);
    expect(found(item("-10", "100", "90"), item("5", "90", "95", { callback: "settleBets" }))).toEqual([]);
  });

  test("are not compared for a replay, which repeats the first answer and moves nothing", () => {
    const later = { receivedAt: NOON, occurredAt: NOON };
    expect(found(item("0", "100", "90", later), item("-10", "100", "90"))).toEqual([]);
    expect(found(item("0", "100", "90", later), item("-10", "100", "80"))).not.toEqual([]);
  });

  test("are described in one sentence", () => {
    expect(findBalances([item("-10", "100", "95")], new Map(), new Map())[0]).toMatchObject({
      kind: "balance-differs",
      transactionId: "bet-1",
      provider: null,
      ledger: { moved: "-10" },
      reason:
        "the balance changed by -5.00 THB with the placeBets request q1, but the wallet moved -10.00 THB for it",
    });
  });
});
