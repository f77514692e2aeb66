import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { LedgerBet, StoredRecord } from "../../src/bet.ts";
import type { CallbackEntry } from "../../src/callback.ts";
import { assessPairs } from "../../src/diff/assess.ts";
import { foldEntries } from "../../src/ledger/fold.ts";
import { formatAmount } from "../../src/money.ts";
import { amount, exampleEntry, exampleSettle, MINUTE_MS, NOON } from "../support/examples.ts";
import { type BetFields, bet, record, SETTINGS } from "./sides.ts";

const assess = (...sides: Parameters<typeof assessPairs>) =>
  assessPairs(...sides)
    .map(({ pending }) => pending)
    .filter((pending) => pending !== null);
const show = (records: readonly StoredRecord[], bets: readonly LedgerBet[]) =>
  assess(records, bets, SETTINGS)
    .map(({ content }) => `${content.kind} ${content.subject} ${formatAmount(content.amountAtRisk)}`)
    .sort();

describe("a bet that the provider lacks", () => {
  const missing = (others: LedgerBet[], records: StoredRecord[] = [], fields: BetFields = {}) =>
    assess(records, [bet({ txnId: "t1", ...fields }), ...others], SETTINGS).find(
      ({ content }) => content.kind === "missing-at-provider" && content.subject === "bet:t1",
    );

  test.each([
    { name: "waits while another bet of its round is open", waits: true, others: [bet({ status: "open" })] },
    {
      name: "waits while the provider has something of its round open",
      waits: true,
      others: [bet()],
      records: [record({ betStatus: "OPEN" })],
    },
    {
      name: "waits for nothing after the end of its round",
      waits: false,
      others: [bet()],
      records: [record()],
    },
    {
      name: "does not wait for another round",
      waits: false,
      others: [bet({ status: "open", roundId: "round-2" })],
      records: [record({ id: "r3", betId: "bet-3", roundId: "round-3", betStatus: "OPEN" })],
    },
  ])("$name", ({ waits, others, records }) => {
    expect(missing(others, records)?.waitsForRound).toBe(waits);
  });

  test("without a round does not wait for another bet without one", () => {
    const nowhere = { roundId: null };
    expect(missing([bet({ status: "open", ...nowhere })], [], nowhere)?.waitsForRound).toBe(false);
  });

  test("leaves the provider time from the last end of its round, because one record may report all bets", () => {
    const last = bet({ txnId: "t2", lastEntryAt: NOON, lastReceivedAt: NOON });
    expect(missing([last])?.entryTimes).toEqual({
      firstEntryAt: NOON - 5 * MINUTE_MS,
      lastEntryAt: NOON,
      lastReceivedAt: NOON,
    });
  });
});

test("a bet that the ledger lacks waits for no entry, because it has none", () => {
  expect(assess([record()], [], SETTINGS)).toMatchObject([{ entryTimes: null }]);
});

test("the ended part of a round agrees while the provider does not list the open part", () => {
  const unnamed = (fields: Parameters<typeof record>[0] = {}) =>
    record({ betId: "unknown", id: "r1", ...fields });
  const bets = [bet({ txnId: "t1" }), bet({ txnId: "t2", status: "open" })];
  expect(show([unnamed()], bets)).toEqual(["stuck-open bet:t2 10"]);
  expect(show([unnamed({ payout: "1" })], bets)).toEqual(["round-differs round:round-1 11"]);
  expect(show([unnamed()], bets.slice(1))).toEqual(["round-differs round:round-1 0"]);
});

test("a difference between two existing sides does not wait for other bets of the round", () => {
  const open = bet({ txnId: "t2", status: "open", lastEntryAt: NOON });
  const pendingDifferences = assess([record({ payout: "1" })], [bet(), open], SETTINGS);
  const pending = pendingDifferences.find(({ content }) => content.kind === "payout-differs");
  expect(pending).toMatchObject({ content: { kind: "payout-differs" }, waitsForRound: false });
  expect(pending?.entryTimes?.lastEntryAt).toBe(NOON - 4 * MINUTE_MS);
});

test("ids that cross between two bets give each bet its own mismatch", () => {
  const records = [record({ betId: "x", id: "y", roundId: "round-1" })];
  const bets = [
    bet({ txnId: "x", payout: "1", roundId: "round-1" }),
    bet({ txnId: "y", roundId: "round-2" }),
  ];
  expect(show(records, bets)).toEqual(["missing-at-provider bet:y 10", "payout-differs bet:x 1"]);
  const lonely = record({ betId: "x", id: "z", roundId: "round-3" });
  const byId = { ...SETTINGS, matchBy: ["id"] as const };
  const found = assess([lonely, record({ betId: "w", id: "x", payout: "2" })], [bet({ txnId: "x" })], byId);
  expect(found.map(({ content }) => `${content.kind} ${content.subject}`).sort()).toEqual([
    "missing-in-ledger bet:x",
    "payout-differs bet:x",
  ]);
});

test("the differences do not depend on the order in which records are read", () => {
  const records = [
    record({ id: "r1", betId: "b1", roundId: "round-1", betStatus: "OPEN" }),
    record({ id: "r2", betId: "b1", roundId: "round-2", betStatus: "UNSETTLED" }),
    record({ id: "r3", betId: "b3", roundId: "round-1", payout: "3" }),
    record({ id: "r4", betId: "bet-1", roundId: "round-4", currency: "USD" }),
    record({ id: "r5", betId: "bet-1", roundId: "round-5" }),
  ];
  const bets = [bet(), bet({ txnId: "t2" })];
  const expected = assess(records, bets, SETTINGS).map(({ content }) => content);
  expect(expected.length).toBeGreaterThan(1);
  fc.assert(
    fc.property(fc.shuffledSubarray(records, { minLength: records.length }), (read) => {
      const found = assess(read, bets, SETTINGS).map(({ content }) => content);
      expect(new Set(found.map((one) => JSON.stringify(one)))).toEqual(
        new Set(expected.map((one) => JSON.stringify(one))),
      );
    }),
  );
});

describe("callbacks by round", () => {
  const byRound = { transactionType: "BY_ROUND" };
  const place = (txnId: string) => exampleEntry({ txnId });
  const settle = (txnId: string, payout: string, fields: Partial<CallbackEntry> = {}) =>
    exampleSettle({ txnId, payoutAmount: amount(payout), ...fields });
  const rollback = (txnId: string, payout: string, fields: Partial<CallbackEntry> = {}) =>
    exampleEntry({
      callback: "rollback",
      status: "ROLLBACK",
      txnId,
      betAmount: amount("0"),
      payoutAmount: amount(payout),
      ...byRound,
      ...fields,
    });
  /** The entries are a minute apart. */
  const fold = (entries: readonly CallbackEntry[]) =>
    foldEntries(
      entries.map((entry, index) => ({ ...entry, occurredAt: NOON - (60 - index) * MINUTE_MS })),
      { singleState: false },
    );
  const first = record({ id: "r1", betId: "t1", payout: "20" });
  const second = record({ id: "r2", betId: "t2", payout: "30" });

  test("a settlement of a whole round is compared with the whole round", () => {
    const settled = (payout: string) => fold([place("t1"), place("t2"), settle("t2", payout, byRound)]);
    expect(show([first, second], settled("50"))).toEqual([]);
    expect(show([first, second], settled("49.99"))).toEqual(["round-differs round:round-1 0.01"]);
  });

  test("a single-state settlement of a round is complete, as part of its round and as a bet", () => {
    const single = (flag: boolean | null) =>
      fold([settle("t1", "20", { betAmount: amount("10"), singleState: flag })]);
    expect(show([first], single(true))).toEqual([]);
    expect(show([record({ id: "r1", betId: "t1", payout: "20", roundId: "another" })], single(true))).toEqual(
      [],
    );
    expect(show([first], single(null))).toEqual(["missing-placement bet:t1 10"]);
    // The settlement settles nothing, and no entry asked for its payout.
    expect(show([first], single(false))).toEqual(["missing-settlement bet:t1 10"]);
  });

  test("a settlement of a round with one bet is compared like any other settlement", () => {
    const bets = fold([place("t1"), settle("t1", "19", byRound)]);
    expect(show([first], bets)).toEqual(["payout-differs bet:t1 1"]);
  });

  test("a round that is opened again and ends bet by bet is compared bet by bet", () => {
    const bets = fold([
      place("t1"),
      place("t2"),
      settle("t2", "50", byRound),
      rollback("t2", "50"),
      settle("t1", "20"),
      settle("t2", "31"),
    ]);
    expect(show([first, second], bets)).toEqual(["payout-differs bet:t2 1"]);
  });

  test("a round that is opened again is compared bet by bet", () => {
    const bets = fold([place("t1"), place("t2"), settle("t2", "50", byRound), rollback("t2", "50")]);
    const running = { betStatus: "OPEN", payout: "0" } as const;
    const records = [
      record({ ...running, betId: "t1", id: "r1" }),
      record({ ...running, betId: "t2", id: "r2", stake: "11" }),
    ];
    expect(show(records, bets)).toEqual(["stake-differs bet:t2 1"]);
  });

  test.each(["t1", "t2", "unknown"])("a rollback with %s takes from each bet its own payout", (named) => {
    for (const moved of [null, amount("-50")]) {
      const bets = fold([
        place("t1"),
        place("t2"),
        settle("t1", "20"),
        settle("t2", "30"),
        rollback(named, "50", { moved }),
      ]);
      expect(bets.map((one) => [one.txnId, one.status, formatAmount(one.moved)])).toEqual([
        ["t1", "open", "-10"],
        ["t2", "open", "-10"],
      ]);
    }
  });

  test("a rollback also takes the rewards if it names them together with all payouts", () => {
    const reward = exampleEntry({
      callback: "winRewards",
      txnId: "t1",
      betAmount: null,
      payoutAmount: amount("100"),
    });
    const played = [place("t1"), place("t2"), settle("t1", "20"), settle("t2", "30"), reward];
    const moved = (payout: string) =>
      fold([...played, rollback("t1", payout)]).map((one) => [
        formatAmount(one.payout),
        formatAmount(one.moved),
      ]);
    expect(moved("150")).toEqual([
      ["0", "-10"],
      ["0", "-10"],
    ]);
    expect(moved("50")).toEqual([
      ["100", "90"],
      ["0", "-10"],
    ]);
  });

  test("a repeated request acts on the same bets as before, and makes no bet of its own", () => {
    const cancel = {
      callback: "cancelBets",
      status: "REFUND",
      txnId: "cancel-1",
      requestId: "q",
      ...byRound,
    } as const;
    const repeat = exampleEntry({ ...cancel, moved: amount("0") });
    const bets = fold([place("t1"), place("t2"), exampleEntry(cancel), repeat]);
    expect(bets.map((one) => [one.txnId, one.status, formatAmount(one.moved)])).toEqual([
      ["t1", "void", "0"],
      ["t2", "void", "0"],
    ]);
    expect(bets.map((one) => one.lastEntryAt)).toEqual(Array(2).fill(NOON - 57 * MINUTE_MS));
  });
});
