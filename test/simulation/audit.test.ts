import { expect, test } from "vitest";
import type { PlantedFault } from "../../src/sandbox/world/world.ts";
import { type AuditedMismatch, auditMismatches } from "./audit.ts";

const PLANTED: PlantedFault = {
  kind: "payout-differs",
  productId: "P1",
  username: "player",
  betId: "b1",
  transactionId: "t1",
  roundId: "r1",
  amountAtRisk: "10",
  completeAt: 0,
};

function opened(changes: Partial<AuditedMismatch> = {}): AuditedMismatch {
  const { completeAt: _, ...fault } = PLANTED;
  return { ...fault, status: "open", reason: "", ...changes };
}

test("a planted fault counts as found when it is open once, with the exact amount", () => {
  const audit = auditMismatches([PLANTED], [opened({ amountAtRisk: "10.00" })]);
  expect(audit).toMatchObject({ planted: 1, found: 1, precision: 1, recall: 1, missed: [], wrong: [] });
});

test.each([
  ["another amount", { amountAtRisk: "10.01" }],
  ["another kind", { kind: "stake-differs" }],
  ["another bet", { betId: "b2" }],
  ["another transaction", { transactionId: null }],
  ["another player", { username: "Player" }],
  ["another round", { roundId: null }],
])("%s is both a missed fault and a false alarm", (_, changes) => {
  const wrong = opened(changes);
  expect(auditMismatches([PLANTED], [wrong])).toMatchObject({
    found: 0,
    precision: 0,
    recall: 0,
    missed: [PLANTED],
    wrong: [wrong],
  });
});

test("a mismatch that opened and was resolved is a false alarm, although nothing is open any more", () => {
  const resolved = opened({ status: "resolved", betId: "b9" });
  expect(auditMismatches([PLANTED], [opened(), resolved])).toMatchObject({
    found: 1,
    precision: 0.5,
    recall: 1,
    wrong: [resolved],
  });
});

test("a planted fault that is open twice does not count as found", () => {
  expect(auditMismatches([PLANTED], [opened(), opened()])).toMatchObject({ found: 0, missed: [PLANTED] });
});
