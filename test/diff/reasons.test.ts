/** The reason of a mismatch is one sentence that names what differs, with both values: it is what ops read first. */

import { describe, expect, test } from "vitest";
import type { LedgerBet, StoredRecord } from "../../src/bet.ts";
import { assessPairs } from "../../src/diff/assess.ts";
import { amount } from "../support/examples.ts";
import { bet, record, SETTINGS } from "./sides.ts";

interface Sides {
  readonly records?: StoredRecord[];
  readonly bets?: LedgerBet[];
}

const reasonsOf = ({ records = [], bets = [] }: Sides) =>
  assessPairs(records, bets, SETTINGS).flatMap(({ pending }) => pending?.content.reason ?? []);

const open = { status: "open" } as const;
const won = record({ payout: "25" });
const inDollars = (stake: string, fields: Partial<Record<"payout" | "moved", string>> = {}) => ({
  ...bet({ stake, ...fields }),
  currency: "USD",
});

describe("one side lacks the bet", () => {
  test.each<Sides & { readonly reason: string }>([
    {
      records: [record({ payout: "25.5" })],
      reason:
        "the provider has a bet that is SETTLED with a stake of 10.00 THB and a payout of 25.50 THB, but the ledger has no such bet: no callback for it was received",
    },
    {
      bets: [bet({ payout: "25.5" })],
      reason:
        "the ledger has a bet that is settled with a stake of 10.00 THB and a payout of 25.50 THB, but the provider has no record of it",
    },
    {
      bets: [bet(open)],
      reason:
        "open in the ledger for too long, with a stake of 10.00 THB; the provider has no record of it, and neither settleBets nor cancelBets was received",
    },
  ])("$reason", ({ reason, ...sides }) => {
    expect(reasonsOf(sides)).toEqual([reason]);
  });
});

describe("a callback is missing", () => {
  test.each<Sides & { readonly reason: string }>([
    {
      records: [won],
      bets: [bet(open)],
      reason:
        "SETTLED with a payout of 25.00 THB at the provider, still open in the ledger: no settleBets was received",
    },
    {
      records: [won],
      bets: [bet({ ...open, payout: "5", moved: "-5", paidInParts: amount("5") })],
      reason:
        "SETTLED with a payout of 25.00 THB at the provider, still open in the ledger: no settleBets that ends the bet was received",
    },
    {
      records: [won],
      bets: [bet({ ...open, placed: false, stake: "0" })],
      reason:
        "SETTLED with a payout of 25.00 THB at the provider, still open in the ledger: no placeBets, and no settleBets that is single-state, was received",
    },
    {
      records: [record({ betStatus: "VOID" })],
      bets: [bet(open)],
      reason: "VOID at the provider, still open in the ledger: no cancelBets was received",
    },
    {
      records: [won],
      bets: [bet({ placed: false, stake: "0", payout: "25" })],
      reason:
        "settled in the ledger with a payout of 25.00 THB, but the stake of 10.00 THB at the provider was never placed: no placeBets was received",
    },
  ])("$reason", ({ reason, ...sides }) => {
    expect(reasonsOf(sides)).toEqual([reason]);
  });
});

describe("both sides have the bet with other values", () => {
  test.each<Sides & { readonly reason: string }>([
    {
      records: [record({ betStatus: "VOID" })],
      bets: [bet()],
      reason: "the bet is VOID at the provider, settled in the ledger",
    },
    {
      records: [record({ stake: "8.125" })],
      bets: [bet()],
      reason: "the stake is 8.125 THB at the provider, 10.00 THB in the ledger",
    },
    {
      records: [record({ payout: "20" })],
      bets: [bet({ payout: "19.99" })],
      reason: "paid out 20.00 THB at the provider, 19.99 THB in the ledger",
    },
    {
      records: [record({ stake: "30" })],
      bets: [bet(), bet({ txnId: "bet-2", payout: "5" })],
      reason:
        "the bets of the round that no id matches are SETTLED with a stake of 30.00 THB and a payout of 0.00 THB at the provider, settled with a stake of 20.00 THB and a payout of 5.00 THB in the ledger",
    },
  ])("$reason", ({ reason, ...sides }) => {
    expect(reasonsOf(sides)).toEqual([reason]);
  });
});

describe("the wallet moved another amount than both sides ask for", () => {
  test.each<Sides & { readonly reason: string }>([
    {
      records: [record()],
      bets: [bet({ moved: "-20" })],
      reason:
        "the wallet moved -20.00 THB, but a bet that is settled with a stake of 10.00 THB and a payout of 0.00 THB asks for -10.00 THB",
    },
    {
      records: [record({ betStatus: "OPEN" })],
      bets: [bet({ ...open, moved: "0" })],
      reason:
        "the wallet moved 0.00 THB, but a bet that is open with a stake of 10.00 THB and a payout of 0.00 THB asks for -10.00 THB",
    },
    {
      records: [record({ betId: "round", stake: "20", payout: "5" })],
      bets: [bet(), bet({ txnId: "bet-2", payout: "5", moved: "0" })],
      reason:
        "the wallet moved -10.00 THB, but a round that is settled with a stake of 20.00 THB and a payout of 5.00 THB asks for -15.00 THB",
    },
  ])("$reason", ({ reason, ...sides }) => {
    expect(reasonsOf(sides)).toEqual([reason]);
  });
});

describe("the currencies differ", () => {
  test.each<Sides & { readonly reason: string }>([
    {
      records: [record({ currency: "USD" })],
      bets: [bet()],
      reason: "the currency is USD at the provider, THB in the ledger",
    },
    {
      records: [record({ id: "r1", stake: "4" }), record({ id: "r2", stake: "6", currency: "USD" })],
      bets: [bet()],
      reason: "the currency is THB and USD at the provider, THB in the ledger",
    },
    {
      records: [record()],
      bets: [bet({ others: [inDollars("0", { payout: "25", moved: "20" })] })],
      reason:
        "the entries of one bet have several currencies: in THB they asked for -10.00 THB and the wallet moved -10.00 THB, in USD they asked for 25.00 USD and the wallet moved 20.00 USD",
    },
    {
      bets: [bet({ ...open, others: [inDollars("5")] })],
      reason:
        "the entries of one bet have several currencies: in THB they asked for -10.00 THB and the wallet moved -10.00 THB, in USD they asked for -5.00 USD and the wallet moved -5.00 USD",
    },
  ])("$reason", ({ reason, ...sides }) => {
    expect(reasonsOf(sides)).toEqual([reason]);
  });
});
