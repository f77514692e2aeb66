/** Records of a part of a bet, or of several bets: each habit over real HTTP, with a ledger in plain SQL. */

import { describe, expect, test } from "vitest";
import { type Item, place, type Row, settle, useListingWorld } from "./listing-world.ts";

const { play } = useListingWorld();

interface Case {
  readonly name: string;
  readonly rows: readonly Row[];
  readonly items: readonly Item[];
  /** all that is open in the end, or ever was */
  readonly opened: readonly string[];
  readonly product?: object;
}

async function check({ rows, items, opened, product = {} }: Case): Promise<void> {
  const played = await play(rows, items, product);
  expect(played.opened).toEqual(opened);
  expect(played.unexplained).toEqual([]);
  expect(played.row).toMatchObject({ pending: "0" });
}

const listed = (bet: string, at: number, stake: string, more: Partial<Item> = {}): Item => ({
  bet,
  at,
  stake,
  ...more,
});
const adjust = (txn: string, at: number, stake: string, more: Partial<Row> = {}): Row => ({
  callback: "adjustBets",
  txn,
  at,
  stake,
  ...more,
});
const cancel = (txn: string, at: number): Row => ({ callback: "cancelBets", txn, at });
const reward = (txn: string, at: number, payout: string, more: Partial<Row> = {}): Row => ({
  callback: "winRewards",
  txn,
  at,
  payout,
  ...more,
});

describe("a bet that the ledger lacks, beside another one", () => {
  const known = [place("a", 5, "10"), settle("a", 6, "3")];
  const own = { id: "a", payout: "3" };
  const lacking = ["missing-in-ledger of R, effect 10"];
  test.each<Case>([
    {
      name: "of its ticket runs and was updated earlier",
      rows: known,
      items: [listed("R", 6, "10", own), listed("R", 5, "10", { id: "b", status: "OPEN" })],
      opened: lacking,
    },
    {
      name: "of its ticket runs and was updated later",
      rows: known,
      items: [listed("R", 6, "10", own), listed("R", 8, "10", { id: "b", status: "OPEN" })],
      opened: lacking,
    },
    {
      name: "of its ticket runs, and neither has a round",
      rows: known.map((row) => ({ ...row, round: null })),
      items: [
        listed("R", 6, "10", { ...own, round: "UNKNOWN" }),
        listed("R", 5, "10", { id: "b", status: "OPEN", round: "UNKNOWN" }),
      ],
      opened: lacking,
    },
    {
      name: "of its ticket has ended, while the known one runs",
      rows: [place("a", 5, "10")],
      items: [
        listed("R", 5, "10", { id: "a", status: "OPEN" }),
        listed("R", 6, "10", { id: "b", payout: "25" }),
      ],
      opened: ["missing-in-ledger of R, effect -15"],
    },
    {
      name: "of its round runs",
      rows: known,
      items: [listed("a", 6, "10", { payout: "3" }), listed("b", 5, "10", { status: "OPEN" })],
      opened: ["missing-in-ledger of b, effect 10"],
    },
  ])("$name", check);
});

describe("nominal stakes of a round", () => {
  const nominal = { nominalStakes: true };
  const free = [place("f", 5, "0"), settle("f", 6, "50")];
  test.each<Case>([
    {
      name: "do not make up for a paid bet that is listed with less",
      rows: [...free, place("p", 5, "20"), settle("p", 6, "0")],
      items: [listed("f", 6, "10", { payout: "50" }), listed("p", 6, "10")],
      opened: ["stake-differs of p, effect -10"],
    },
    {
      name: "do not make up for one of two paid bets",
      rows: [...free, place("p", 5, "20"), settle("p", 6, "0"), place("q", 5, "7"), settle("q", 6, "0")],
      items: [listed("f", 6, "10", { payout: "50" }), listed("p", 6, "10"), listed("q", 6, "7")],
      opened: ["stake-differs of p, effect -10"],
    },
    {
      name: "are those of a paid bet without a record, beside another with its own",
      rows: [...free, place("p", 5, "20"), settle("p", 6, "0"), place("q", 5, "7"), settle("q", 6, "0")],
      items: [listed("f", 6, "20", { payout: "50" }), listed("q", 6, "7")],
      opened: [],
    },
    {
      name: "are none if the player paid for the bet, and an adjustment gave the stake back",
      rows: [place("a", 5, "20"), adjust("a", 6, "0"), settle("a", 7, "50")],
      items: [listed("a", 7, "20", { payout: "50" })],
      opened: ["stake-differs of a, effect 20"],
    },
    {
      name: "are none if the provider lists the adjusted stake",
      rows: [place("a", 5, "20"), adjust("a", 6, "0"), settle("a", 7, "50")],
      items: [listed("a", 7, "0", { payout: "50" })],
      opened: [],
    },
    {
      name: "are those of a placement that is skipped, whatever adjusts it",
      rows: [place("a", 5, "20", { skip: true }), adjust("a", 6, "15", { skip: true }), settle("a", 7, "50")],
      items: [listed("a", 7, "15", { payout: "50" })],
      opened: [],
    },
  ])("$name", (one) => check({ ...one, product: nominal }));
});

describe("a bet of which one part is void while the other runs", () => {
  const parts = [
    listed("a", 30, "10", { id: "part-1", status: "VOID" }),
    listed("a", 5, "10", { id: "part-2", status: "OPEN" }),
  ];
  const endedParts = [...parts.slice(0, 1), listed("a", 31, "10", { id: "part-2", payout: "25" })];
  test.each<Case>([
    { name: "keeps the whole stake until it ends", rows: [place("a", 5, "20")], items: parts, opened: [] },
    {
      name: "keeps it in a product that lists open bets",
      rows: [place("a", 5, "20")],
      items: parts,
      opened: [],
      product: { openBetsListed: true },
    },
    {
      name: "got the part's stake back by an adjustment",
      rows: [place("a", 5, "20"), adjust("a", 30, "10")],
      items: parts,
      opened: [],
    },
    {
      name: "got it back, and ends",
      rows: [place("a", 5, "20"), adjust("a", 30, "10"), settle("a", 31, "25")],
      items: endedParts,
      opened: [],
    },
    {
      name: "never got it back, and ends",
      rows: [place("a", 5, "20"), settle("a", 31, "25")],
      items: endedParts,
      opened: ["stake-differs of a, effect -10"],
    },
    {
      name: "should have got it back, but the wallet moved nothing",
      rows: [place("a", 5, "20"), adjust("a", 30, "10", { moved: "0" })],
      items: parts,
      opened: ["net-differs of a, effect -10"],
    },
    {
      name: "is cancelled whole in the ledger",
      rows: [place("a", 5, "20"), cancel("a", 30)],
      items: parts,
      opened: ["status-differs of a, effect 10"],
    },
    {
      name: "has a bet for each part",
      rows: [place("part-1", 5, "10"), cancel("part-1", 30), place("part-2", 5, "10")],
      items: parts,
      opened: [],
    },
    {
      name: "is no such bet if an adjustment halved it before its last step, which is void, and the cancel is lost",
      rows: [place("a", 5, "20"), adjust("a", 7, "10")],
      items: [
        listed("a", 7, "10", { id: "step-1", status: "OPEN" }),
        listed("a", 30, "10", { id: "step-2", status: "VOID" }),
      ],
      opened: ["missing-settlement of a, effect -10"],
    },
    {
      name: "is no such bet if its last step is void, and the cancel is lost",
      rows: [place("a", 5, "10")],
      items: parts,
      opened: ["missing-settlement of a, effect -10"],
    },
  ])("$name", check);
});

describe("steps of a bet with different stakes", () => {
  const free = [place("a", 5, "0"), settle("a", 30, "50")];
  const steps = (first: string, second: string) => [
    listed("a", 5, first, { id: "step-1", status: "OPEN" }),
    listed("a", 30, second, { id: "step-2", payout: "50" }),
  ];
  const nominal = { nominalStakes: true };
  test.each<Case>([
    { name: "nominal while it runs", rows: free, items: steps("10", "0"), opened: [], product: nominal },
    { name: "nominal once it has ended", rows: free, items: steps("0", "10"), opened: [], product: nominal },
    { name: "nominal in both", rows: free, items: steps("10", "12"), opened: [], product: nominal },
    { name: "nominal while it runs, without the setting", rows: free, items: steps("10", "0"), opened: [] },
    {
      name: "adjusted before the end",
      rows: [place("a", 5, "20"), adjust("a", 10, "15"), settle("a", 30, "50")],
      items: steps("20", "15"),
      opened: [],
    },
    {
      name: "of which the placement is lost, and a free part runs",
      rows: [settle("a", 30, "5")],
      items: [
        listed("a", 30, "10", { id: "part-1", payout: "5" }),
        listed("a", 31, "0", { id: "part-2", status: "OPEN" }),
      ],
      opened: ["missing-placement of a, effect 10"],
    },
    {
      name: "paid short",
      rows: [place("a", 5, "0"), settle("a", 30, "40")],
      items: steps("10", "0"),
      opened: ["payout-differs of a, effect -10"],
      product: nominal,
    },
    {
      name: "of which the settlement is lost",
      rows: [place("a", 5, "0")],
      items: steps("10", "0"),
      opened: ["missing-settlement of a, effect -50"],
      product: nominal,
    },
  ])("$name", check);
});

describe("feature spins", () => {
  const placed = [place("f1", 5, "0"), place("f2", 6, "0"), place("f3", 7, "0")];
  const cancelled = [...placed, cancel("f3", 8)];
  const isVoid = (bet: string) => listed(bet, 8, "0", { status: "VOID" });
  const rewarded = [place("f1", 5, "0"), reward("f1", 5, "10"), place("f2", 6, "0"), settle("f2", 8, "50")];
  test.each<Case>([
    { name: "whose last one is cancelled, without a record", rows: cancelled, items: [], opened: [] },
    { name: "whose last one is cancelled and void", rows: cancelled, items: [isVoid("f3")], opened: [] },
    {
      name: "whose last one is cancelled, and which are all void",
      rows: cancelled,
      items: [isVoid("f1"), isVoid("f2"), isVoid("f3")],
      opened: [],
    },
    {
      name: "whose last one is cancelled, while the others ended with nothing",
      rows: cancelled,
      items: [listed("f1", 8, "0"), listed("f2", 8, "0"), isVoid("f3")],
      opened: [],
    },
    {
      name: "whose settlement is voided",
      rows: [...placed, settle("f3", 8, "50"), { callback: "voidSettled", txn: "f3", at: 9, payout: "50" }],
      items: [isVoid("f3")],
      opened: [],
    },
    {
      name: "whose last one is cancelled, while another one won what was never paid",
      rows: cancelled,
      items: [listed("f1", 8, "0", { payout: "15" }), isVoid("f3")],
      opened: ["missing-settlement of f1, effect -15"],
    },
    {
      name: "that were rewarded, in one record",
      rows: rewarded,
      items: [listed("f2", 8, "0", { payout: "60" })],
      opened: [],
    },
    {
      name: "that were rewarded, in a record each",
      rows: rewarded,
      items: [listed("f1", 8, "0", { payout: "10" }), listed("f2", 8, "0", { payout: "50" })],
      opened: [],
    },
    {
      name: "that were rewarded after the end",
      rows: [place("f1", 5, "0"), place("f2", 6, "0"), settle("f2", 8, "50"), reward("f1", 9, "10")],
      items: [listed("f2", 9, "0", { payout: "60" })],
      opened: [],
    },
    {
      name: "that were rewarded with what the provider does not have",
      rows: rewarded,
      items: [listed("f2", 8, "0", { payout: "50" })],
      opened: ["round-differs of round-1, effect 10"],
    },
    {
      name: "that were rewarded twice",
      rows: [...rewarded.slice(0, 1), reward("f1", 5, "10", { moved: "20" }), ...rewarded.slice(2)],
      items: [listed("f1", 8, "0", { payout: "10" }), listed("f2", 8, "0", { payout: "50" })],
      opened: ["missing-settlement of f1, effect 10"],
    },
    {
      name: "that were rewarded, and that the provider does not have",
      rows: rewarded,
      items: [],
      opened: ["missing-at-provider of f1, effect 10", "missing-at-provider of f2, effect 50"],
    },
  ])("$name", check);
});

test("a row of the largest amount that the ledger accepts is compared, and so are the bets beside it", async () => {
  const played = await play(
    [place("a", 5, "1e61"), settle("a", 6, "25"), place("b", 5, "10"), settle("b", 6, "25")],
    [listed("a", 6, "1e61", { payout: "25" }), listed("b", 6, "10", { payout: "20" })],
  );
  expect(played.opened).toEqual(["payout-differs of b, effect 5"]);
});
