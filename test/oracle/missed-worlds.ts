/** Small worlds of which the program once said nothing, or something false. */

import { EARLY, type ExampleSettings, FIRST_DAY } from "./examples.ts";
import type { LedgerRow, ListedRecord } from "./facts.ts";

/** `found`: the kinds that the oracle wants open, what it does not judge, and what it sees outside. */
type MissedWorld = readonly [
  name: string,
  rows: Partial<LedgerRow>[],
  records: Partial<ListedRecord>[],
  settings: ExampleSettings,
  found: string,
];

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
const jackpot = { id: "jackpot", betId: "x", roundId: "j", payout: "7" };
const rollback = { callback: "rollback", payout_amount: "200" };
const voided = { callback: "voidSettled", bet_amount: "100", payout_amount: "200" };
const other = { ...place, txn_id: "b2", round_id: "r2" };
const balances = { balance_before: "500", balance_after: "400" };
const inDollars = (row: Partial<LedgerRow>) => ({ ...row, currency: "USD" });

export const MISSED_WORLDS: readonly MissedWorld[] = [
  [
    "a win in another currency, of the round",
    [place, { ...byRound, currency: "USD" }],
    [listed],
    {},
    "currency-differs",
  ],
  ["a win in another currency", [place, inDollars(settle)], [listed], {}, "currency-differs"],
  [
    "a reward in another currency",
    [place, settle, inDollars({ ...win, txn_id: "b1", round_id: "r1" })],
    [{ ...listed, payout: "207" }],
    {},
    "currency-differs",
  ],
  [
    "a cancel in another currency",
    [place, inDollars({ callback: "cancelBets", bet_amount: "100" })],
    [],
    {},
    "currency-differs",
  ],
  ["a void in another currency", [place, settle, inDollars(voided)], [], {}, "currency-differs"],
  [
    "an adjustment in another currency",
    [place, inDollars({ callback: "adjustBets", bet_amount: "150" }), settle],
    [listed],
    {},
    "currency-differs",
  ],
  [
    "a settle in another currency, after a rollback",
    [place, settle, rollback, inDollars(settle)],
    [listed],
    {},
    "currency-differs",
  ],
  ["a buy-in that was never debited", [{ ...debit, moved: "0" }, credit], [shot], session, "net-differs"],
  ["a buy-in that was debited twice", [{ ...debit, moved: "-200" }, credit], [shot], session, "net-differs"],
  ["a credit of 60 that paid 600", [debit, { ...credit, moved: "600" }], [shot], session, "net-differs"],
  ["a credit that paid nothing", [debit, { ...credit, moved: "0" }], [shot], session, "net-differs"],
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
  ["play in a product of transfers", [place], [], { walletMode: "transfer" }, "outside -100"],
  ["a cash-out without a record", [place, { ...settle, end_round: false }], [], {}, ""],
  [
    "a cash-out of a bet that the provider lists as open",
    [place, { ...settle, end_round: false }],
    [{ ...listed, payout: "0", betStatus: "OPEN" }],
    {},
    "",
  ],
  [
    "a whole second: place, place, settle the round",
    [byRound, place, { ...place, txn_id: "b0" }].map((row) => ({ ...row, ...second(0) })),
    [{ ...listed, stake: "200" }],
    {},
    "",
  ],
  [
    "a whole second: rollback and two settles",
    [{ ...settle, payout_amount: "50" }, rollback, settle, place].map((row) => ({ ...row, ...second(0) })),
    [{ ...listed, payout: "50" }],
    {},
    "",
  ],
  [
    "a whole second: place, settle, void",
    [voided, settle, place].map((row) => ({ ...row, ...second(0) })),
    [],
    {},
    "",
  ],
  [
    "a whole second: tip, cancel the tip",
    [{ ...tip, callback: "cancelTips" }, tip].map((row) => ({ ...row, ...second(0) })),
    [],
    {},
    "",
  ],
  [
    "a whole second: place, adjust, settle",
    [settle, { callback: "adjustBets", bet_amount: "150" }, place].map((row) => ({ ...row, ...second(0) })),
    [{ ...listed, stake: "150" }],
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
    "a settle of the round before its placements",
    [
      { ...byRound, ...second(0) },
      { ...place, ...second(1_000) },
      { ...place, txn_id: "b0", ...second(2_000) },
    ],
    [{ ...listed, stake: "200" }],
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
  ["a tip of the first day that was never debited", [{ ...tip, moved: "0" }], [], FIRST_DAY, "net-differs"],
  [
    "a tip of the first day that was cancelled, and not paid back",
    [tip, { ...tip, callback: "cancelTips", moved: "0" }],
    [],
    FIRST_DAY,
    "net-differs",
  ],
  [
    "a reward of the first day that was paid twice",
    [{ ...win, moved: "14" }],
    [jackpot],
    FIRST_DAY,
    "net-differs",
  ],
  [
    "a reward of the first day that was never paid",
    [{ ...win, moved: "0" }],
    [jackpot],
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
    "a row whose amount is no number, and a bet beside it",
    [place, { ...settle, payout_amount: "12,50" }, other, { ...settle, txn_id: "b2", round_id: "r2" }],
    [listed],
    {},
    "missing-at-provider,not judged: a rejected entry",
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
  ["a name in two cases", [place, { ...settle, username: "ANNA" }], [listed], {}, "username-differs"],
  [
    "two debits that start from one balance",
    [
      { ...place, ...balances },
      { ...other, ...balances },
    ],
    [],
    { balances: "complete" },
    "balance-differs",
  ],
  // Never missed.
  [
    "a balance that does not fit",
    [{ ...place, balance_before: "500", balance_after: "300" }, settle],
    [listed],
    {},
    "balance-differs",
  ],
];
