import { expect, test } from "vitest";
import type { LedgerBet, StoredRecord } from "../../src/bet.ts";
import { assessPairs } from "../../src/diff/assess.ts";
import { bet, record, SETTINGS } from "./sides.ts";

/** Settled with 25 in round-1, and rewarded with 50 in r2. */
const REWARDED = bet({ payout: "75", payouts: 2, movements: 3 });
const OWN = record({ payout: "25" });
const REWARD = record({ id: "zz-1", betId: "zz-1", roundId: "r2", stake: "0", payout: "50" });
const BOTH = ["missing-in-ledger of bet:zz-1, effect -50", "payout-differs of bet:bet-1, effect 50"];

test.each<{ name: string; bets?: LedgerBet[]; records?: StoredRecord[]; found: string[] }>([
  { name: "in a round without bets", found: ["payout-differs of bet:bet-1, effect 0"] },
  {
    name: "but not in a round with a bet, if the record may be another bet's",
    bets: [REWARDED, bet({ txnId: "bet-2", roundId: "r2", status: "void" })],
    found: BOTH,
  },
  {
    name: "but not in no round",
    records: [OWN, { ...REWARD, roundId: "UNKNOWN" }],
    found: BOTH,
  },
  {
    name: "but not if the record still runs",
    records: [OWN, { ...REWARD, betStatus: "OPEN" }],
    found: ["missing-in-ledger of bet:zz-1, effect 0", "payout-differs of bet:bet-1, effect 50"],
  },
  {
    name: "but not if the bet was paid once",
    bets: [bet({ payout: "75" })],
    found: BOTH,
  },
  {
    name: "but not in another currency",
    records: [OWN, { ...REWARD, currency: "USD" }],
    found: BOTH,
  },
])(
  "a reward and its record are one difference $name",
  ({ bets = [REWARDED], records = [OWN, REWARD], found }) => {
    const pendingDifferences = assessPairs(records, bets, SETTINGS).flatMap(({ pending }) => pending ?? []);
    expect(
      pendingDifferences
        .map(({ content }) => `${content.kind} of ${content.subject}, effect ${content.effect}`)
        .sort(),
    ).toEqual(found);
  },
);
