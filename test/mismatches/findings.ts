/** The content of a mismatch with defaults: the provider paid 25, the wallet 20. */

import type { LedgerSide, MismatchContent, ProviderSide } from "../../src/mismatch.ts";
import { amount, MINUTE_MS, NOON } from "../support/examples.ts";

export function exampleProviderSide(fields: Partial<ProviderSide> = {}): ProviderSide {
  return {
    id: "rec-1",
    betId: "b-1",
    status: "SETTLED",
    stake: "10",
    payout: "25",
    currency: "THB",
    username: "anna",
    updatedDate: "2026-11-20T11:59:30.000Z",
    accountingDate: "2026-11-20T11:59:00.000Z",
    ...fields,
  };
}

export function exampleLedgerSide(fields: Partial<LedgerSide> = {}): LedgerSide {
  return {
    txnId: "bet-1",
    status: "settled",
    stake: "10",
    payout: "20",
    moved: "10",
    currency: "THB",
    username: "anna",
    firstEntryAt: "2026-11-20T11:55:00.000Z",
    lastEntryAt: "2026-11-20T11:56:00.000Z",
    ...fields,
  };
}

export function exampleFinding(fields: Partial<MismatchContent> = {}): MismatchContent {
  return {
    kind: "payout-differs",
    productId: "P1",
    username: "anna",
    currency: "THB",
    subject: "bet:bet-1",
    betId: "b-1",
    transactionId: "bet-1",
    roundId: "round-1",
    transactionRef: null,
    amountAtRisk: amount("5"),
    reason: "paid out 25.00 THB at the provider, 20.00 THB in the ledger",
    provider: exampleProviderSide(),
    ledger: exampleLedgerSide(),
    occurredAt: NOON - 5 * MINUTE_MS,
    ...fields,
  };
}
