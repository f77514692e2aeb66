/** Worlds of a few rows and records, for the tests of the oracle. */

import type { Facts, LedgerRow, ListedRecord, ProductSettings } from "./facts.ts";

export const NOW = Date.parse("2026-11-20T12:00:00Z");
export const EARLY = NOW - 36_000_000;
export const FIRST_DAY = { ledgerSince: EARLY - 1_000 };
const BEGIN = Date.parse("2026-11-01T00:00:00Z");

export type ExampleSettings = Partial<ProductSettings & Pick<Facts, "balances">>;

/** The rows are ten seconds apart, of one bet; the records are of that bet. */
export function factsOf(
  rows: readonly Partial<LedgerRow>[],
  records: readonly Partial<ListedRecord>[],
  { balances = "partial", ...settings }: ExampleSettings = {},
): Facts {
  const product = {
    productId: "P",
    walletMode: "seamless",
    settlement: "bets",
    lostBets: "written",
    matchBy: ["betId", "id", "round"],
  };
  const flags = {
    singleState: false,
    openBetsListed: false,
    nominalStakes: false,
    stuckOpenAfter: 86_400_000,
    ledgerSince: null,
  };
  return {
    rows: rows.map((row, index) => ({
      entry_id: `e${index}`,
      callback: "placeBets",
      request_id: `q${index}`,
      product_id: "P",
      username: "anna",
      currency: "THB",
      txn_id: "b1",
      round_id: "r1",
      status: "OPEN",
      bet_amount: null,
      payout_amount: null,
      transaction_type: null,
      skip_balance_update: false,
      moved: null,
      balance_before: null,
      balance_after: null,
      single_state: null,
      end_round: null,
      occurred_at: EARLY + index * 10_000,
      received_at: EARLY + index * 10_000,
      ...row,
    })),
    records: records.map((record) => ({
      id: "1",
      betId: "b1",
      username: "anna",
      currency: "THB",
      stake: "0",
      payout: "0",
      productId: "P",
      roundId: "r1",
      betStatus: "SETTLED",
      payoutStatus: "UNKNOWN",
      accountingDate: "2026-11-20T02:00:00Z",
      updatedDate: "2026-11-20T02:00:00Z",
      ...record,
    })),
    rejected: [],
    onceListed: [],
    products: [{ ...product, ...flags, ...settings }],
    ledgerSince: BEGIN,
    balances,
    sessionQuiet: 3_600_000,
    tolerance: {},
    now: NOW,
    fresh: 7_200_000,
  };
}
