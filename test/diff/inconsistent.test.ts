import { expect, test } from "vitest";
import { findInconsistent } from "../../src/diff/inconsistent.ts";
import { record, SETTINGS } from "./sides.ts";

test.each([
  { payoutStatus: "WIN", payout: "0", betStatus: "SETTLED", found: true },
  { payoutStatus: "WIN", payout: "0.01", betStatus: "SETTLED", found: false },
  { payoutStatus: "LOSE", payout: "10.01", betStatus: "SETTLED", found: true },
  { payoutStatus: "LOSE", payout: "10", betStatus: "SETTLED", found: false },
  { payoutStatus: "DRAW", payout: "99", betStatus: "SETTLED", found: false },
  { payoutStatus: "UNKNOWN", payout: "0", betStatus: "SETTLED", found: false },
  { payoutStatus: "WIN", payout: "0", betStatus: "UNSETTLED", found: false },
  { payoutStatus: "WIN", payout: "0", betStatus: "OPEN", found: false },
  { payoutStatus: "LOSE", payout: "99", betStatus: "VOID", found: false },
] as const)(
  "a $betStatus bet of 10 that is a $payoutStatus paying $payout contradicts itself: $found",
  (example) => {
    const { found, ...fields } = example;
    const content = findInconsistent(record(fields), () => "t1", SETTINGS);
    expect(content !== null).toBe(found);
    if (found)
      expect(content).toMatchObject({ kind: "provider-inconsistent", betId: "bet-1", transactionId: "t1" });
  },
);

test("a record that was accounted before the ledger began does not contradict itself", () => {
  const before = record({ payoutStatus: "WIN", accountingDate: "2026-11-18T11:59:59.999Z" });
  expect(findInconsistent(before, () => null, SETTINGS)).toBeNull();
});
