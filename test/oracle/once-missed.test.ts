import { describe, expect, test } from "vitest";
import { EARLY, FIRST_DAY, factsOf } from "./examples.ts";
import { type LedgerRow, type ListedRecord, type ProductSettings, units } from "./facts.ts";
import { judge } from "./judge.ts";

/** Worlds in which nothing was said once: "found" is what the oracle wants open, and what it sees outside. */
describe("the oracle finds what the program once missed", () => {
  const session = { settlement: "session" };
  const mixed = { settlement: "mixed" };
  const place = { callback: "placeBets", bet_amount: "100" };
  const settle = { callback: "settleBets", payout_amount: "200", bet_amount: null };
  const debit = {
    callback: "adjustBalance",
    status: "DEBIT",
    round_id: null,
    txn_id: "ref1",
    bet_amount: "100",
  };
  const credit = { ...debit, status: "CREDIT", txn_id: "ref2", bet_amount: null, payout_amount: "60" };
  const shot = { betId: "s1", roundId: "s1", stake: "40", payout: "0" };
  const win = { callback: "winRewards", txn_id: "jackpot", round_id: "j", payout_amount: "7" };
  const listed = { stake: "100", payout: "200" };
  const second = (at: number) => ({ occurred_at: EARLY + at, received_at: EARLY + at });
  const tip = { callback: "placeTips", status: "TIPS", txn_id: "tip", bet_amount: "5" };
  const byRound = { ...settle, transaction_type: "BY_ROUND" };
  const free = { nominalStakes: true };

  test.each<[string, Partial<LedgerRow>[], Partial<ListedRecord>[], Partial<ProductSettings>, string]>([
    [
      "a win in another currency, of the round",
      [place, { ...byRound, currency: "USD" }],
      [listed],
      {},
      "currency-differs",
    ],
    ["a buy-in that was never debited", [{ ...debit, moved: "0" }, credit], [shot], session, "net-differs"],
    [
      "a buy-in that was debited twice",
      [{ ...debit, moved: "-200" }, credit],
      [shot],
      session,
      "net-differs",
    ],
    ["a credit of 60 that paid 600", [debit, { ...credit, moved: "600" }], [shot], session, "net-differs"],
    [
      "a jackpot of a session that the provider lacks",
      [debit, credit, win],
      [shot],
      session,
      "session-differs",
    ],
    [
      "a jackpot of a session that both have",
      [debit, credit, win],
      [shot, { ...shot, betId: "j", id: "j", stake: "0", payout: "7" }],
      session,
      "",
    ],
    [
      "a record long after the last movement",
      [debit, credit],
      [{ ...shot, accountingDate: "2026-11-20T05:00:00Z" }],
      session,
      "",
    ],
    [
      "fishing under the id of slots",
      [place, settle, debit, credit],
      [listed, { ...shot, id: "2" }],
      mixed,
      "",
    ],
    [
      "fishing that lost a credit",
      [place, settle, debit],
      [listed, { ...shot, id: "2" }],
      mixed,
      "session-differs",
    ],
    ["a credit of a product of bets", [{ ...credit, payout_amount: "5000" }], [], {}, "outside 5000"],
    ["bets of a product of sessions", [place], [], session, "outside -100"],
    ["play in an unknown product", [{ ...place, product_id: "X" }], [], {}, "outside -100"],
    ["a cash-out without a record", [place, { ...settle, end_round: false }], [], {}, ""],
    [
      "a whole second: place, place, settle the round",
      [byRound, place, { ...place, txn_id: "b0" }].map((row) => ({ ...row, ...second(0) })),
      [{ ...listed, stake: "200" }],
      {},
      "",
    ],
    [
      "a whole second: rollback and two settles",
      [settle, { callback: "rollback", payout_amount: "200" }, { ...settle, payout_amount: "50" }, place].map(
        (row) => ({ ...row, ...second(0) }),
      ),
      [{ ...listed, payout: "50" }],
      {},
      "",
    ],
    [
      "numbers in ids of one moment",
      [
        { ...place, entry_id: "w-8" },
        { callback: "adjustBets", bet_amount: "7", entry_id: "w-10" },
        { callback: "adjustBets", bet_amount: "5", entry_id: "w-9" },
      ].map((row) => ({ ...row, ...second(0) })),
      [{ stake: "7", betStatus: "OPEN" }],
      {},
      "",
    ],
    [
      "a settle of the round before its placement",
      [
        { ...byRound, ...second(0) },
        { ...place, ...second(2_000) },
      ],
      [listed],
      {},
      "",
    ],
    [
      "a tip of the first day that was debited twice",
      [tip, { ...tip, request_id: "again" }],
      [],
      FIRST_DAY,
      "net-differs",
    ],
    [
      "a reward of the first day that was paid twice",
      [{ ...win, moved: "14" }],
      [{ id: "jackpot", betId: "x", roundId: "j", payout: "7" }],
      FIRST_DAY,
      "net-differs",
    ],
    [
      "by_round in small letters",
      [place, { ...place, txn_id: "b2" }, { ...settle, transaction_type: "by_round" }],
      [{ ...listed, stake: "200" }],
      {},
      "",
    ],
    [
      "a row without a time",
      [place, { ...settle, received_at: null as never }],
      [listed],
      {},
      "not judged: a rejected entry",
    ],
    [
      "a request id with other content",
      [
        { ...place, request_id: "q" },
        { ...settle, request_id: "s" },
        { ...settle, request_id: "s", payout_amount: "50" },
      ],
      [{ ...listed, payout: "250" }],
      {},
      "",
    ],
    ["a free game", [{ ...place, skip_balance_update: true }, settle], [listed], free, ""],
    [
      "a free game that was paid short",
      [{ ...place, bet_amount: "0" }, settle],
      [{ ...listed, payout: "210" }],
      free,
      "payout-differs",
    ],
    [
      "spins that their last id settles",
      [
        place,
        { ...place, txn_id: "b2", bet_amount: "0" },
        { ...place, txn_id: "b3", bet_amount: "0" },
        { ...settle, payout_amount: "0" },
        { ...settle, txn_id: "b3" },
      ],
      [listed],
      {},
      "",
    ],
    [
      "a record for each step",
      [place, settle],
      [
        { ...listed, id: "1", payout: "0", betStatus: "OPEN" },
        { ...listed, id: "2" },
      ],
      {},
      "",
    ],
    [
      "a reward in another round",
      [place, settle, { ...win, txn_id: "b1" }],
      [listed, { id: "9", betId: "j", roundId: "j", payout: "7" }],
      {},
      "payout-differs",
    ],
    [
      "a name in two cases",
      [place, { ...settle, username: "ANNA" }],
      [listed],
      {},
      "not judged: a name in two cases",
    ],
    [
      "a balance that does not fit",
      [{ ...place, balance_before: "500", balance_after: "300" }, settle],
      [listed],
      {},
      "balance-differs",
    ],
  ])("%s", (_, rows, records, settings, expected) => {
    const { claims, undecided, outside } = judge(factsOf(rows, records, settings));
    const found = [
      ...claims.map(({ readings }) => readings[0]?.[0]?.kind),
      ...new Set(undecided.map(({ why }) => `not judged: ${why}`)),
      ...[...outside.values()].map((moved) => `outside ${moved / units("1")}`),
    ];
    expect(found.join()).toBe(expected);
  });
});
