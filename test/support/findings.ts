/** A finding with defaults: a test names only the fields that matter. */

import type { LedgerSide, MismatchContent, ProviderSide } from "../../src/mismatch.ts";
import { amount, NOON } from "./examples.ts";

export const PROVIDER_SIDE: ProviderSide = {
  id: "rec-1",
  betId: "bet-1",
  status: "SETTLED",
  stake: "10.00",
  payout: "30.00",
  currency: "THB",
  username: "anna",
  updatedDate: "2026-11-20T11:59:00.000Z",
  accountingDate: "2026-11-20T11:58:00.000Z",
};

export const LEDGER_SIDE: LedgerSide = {
  txnId: "bet-1",
  status: "settled",
  stake: "10.00",
  payout: "25.50",
  moved: "15.50",
  currency: "THB",
  username: "anna",
  firstEntryAt: "2026-11-20T11:55:00.000Z",
  lastEntryAt: "2026-11-20T11:56:00.000Z",
};

/** anna won 30.00 THB in P1, and was paid 25.50 THB. */
export function exampleFinding(fields: Partial<MismatchContent> = {}): MismatchContent {
  const betId = fields.betId ?? "bet-1";
  return {
    kind: "payout-differs",
    productId: "P1",
    username: "anna",
    currency: "THB",
    subject: `bet:${betId}`,
    betId,
    transactionId: betId,
    roundId: "round-1",
    transactionRef: null,
    amountAtRisk: amount("4.50"),
    reason: "paid out 30.00 THB at the provider, 25.50 THB in the ledger",
    provider: PROVIDER_SIDE,
    ledger: LEDGER_SIDE,
    occurredAt: NOON - 300_000,
    ...fields,
  };
}
