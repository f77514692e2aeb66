/** Amounts of two currencies are never added: a mismatch states what is at risk in each. */

import { expect, test } from "vitest";
import type { LedgerBet, StoredRecord } from "../../src/bet.ts";
import { assessPairs } from "../../src/diff/assess.ts";
import { formatAmount } from "../../src/money.ts";
import { bet, record, SETTINGS } from "./sides.ts";

/** "currency-differs: THB 15, effect 15; USD 21, effect -21", the mismatch's own currency first. */
function risksOf(records: StoredRecord[], bets: LedgerBet[]): string[] {
  return assessPairs(records, bets, SETTINGS)
    .flatMap(({ pending }) => pending?.content ?? [])
    .map(({ kind, currency, amountAtRisk, effect, ledger }) => {
      const own = {
        currency,
        amountAtRisk: formatAmount(amountAtRisk),
        effect: effect && formatAmount(effect),
      };
      const others = ledger !== null && "otherCurrencies" in ledger ? (ledger.otherCurrencies ?? []) : [];
      const risks = [own, ...others].map(
        (one) => `${one.currency} ${one.amountAtRisk}, effect ${one.effect}`,
      );
      return `${kind}: ${risks.join("; ")}`;
    });
}

const usd = { currency: "USD" };

test.each<{ name: string; records?: StoredRecord[]; bets: LedgerBet[]; risks: string }>([
  {
    name: "all money that moved in the ledger's currency, and all that was due in the provider's",
    records: [record({ ...usd, stake: "9", payout: "30" })],
    bets: [bet({ payout: "25" })],
    risks: "THB 15, effect 15; USD 21, effect -21",
  },
  {
    name: "the stake of an open bet in each currency; what it was paid counts in its own alone",
    records: [record({ ...usd, stake: "9", betStatus: "OPEN" })],
    bets: [bet({ status: "open", payout: "4", moved: "-6" })],
    risks: "THB 6, effect -6; USD 9, effect 9",
  },
  {
    name: "the record's money against the entries of its currency, and all money of the other entries",
    records: [record({ payout: "25" })],
    bets: [bet({ others: [{ ...bet({ stake: "0", payout: "25" }), ...usd }] })],
    risks: "THB 25, effect -25; USD 25, effect 25",
  },
  {
    name: "the larger amount that the entries of a currency declare, if the wallet moved nothing in it",
    records: [record()],
    bets: [bet({ others: [{ ...bet({ stake: "3", payout: "7", moved: "0" }), ...usd }] })],
    risks: "THB 0, effect 0; USD 7, effect 0",
  },
])("at risk is $name", ({ records = [], bets, risks }) => {
  expect(risksOf(records, bets)).toEqual([`currency-differs: ${risks}`]);
});
