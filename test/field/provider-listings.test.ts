/** How providers list free games, feature spins and the steps of a bet: each habit over real HTTP, with a ledger in plain SQL. */

import { describe, expect, test } from "vitest";
import { type Item, place, type Row, settle, useListingWorld } from "./listing-world.ts";

const { play } = useListingWorld();

interface Case {
  readonly name: string;
  readonly rows: readonly Row[];
  readonly items: readonly Item[];
  readonly opened: readonly string[];
  /** of the day's statement: what both sides won for the player, and the provider's stakes */
  readonly net?: readonly [provider: string, ledger: string, stake: string];
  /** default: nothing */
  readonly pending?: string;
}

async function check(
  { rows, items, opened, net, pending = "0" }: Case,
  product: object = {},
  diff: object = {},
): Promise<void> {
  const played = await play(rows, items, product, diff);
  expect(played.opened).toEqual(opened);
  expect(played.unexplained).toEqual([]);
  const { provider, ledger } = played.row as {
    provider: { net: string; stake: string };
    ledger: { net: string };
  };
  expect(played.row).toMatchObject({ rest: "0", pending });
  if (net !== undefined) expect([provider.net, ledger.net, provider.stake]).toEqual(net);
}

const listed = (bet: string, at: number, stake: string, payout: string, more: Partial<Item> = {}): Item => ({
  bet,
  at,
  stake,
  payout,
  ...more,
});

describe("free games with a nominal stake", () => {
  const nominal = { nominalStakes: true };
  const free = [place("a", 5, "0"), settle("a", 6, "50")];
  const record = listed("a", 6, "10", "50");
  const cases: readonly Case[] = [
    {
      name: "a placement of 0",
      rows: free,
      items: [record],
      opened: [],
      net: ["50", "50", "0"],
    },
    {
      name: "a placement that is skipped",
      rows: [place("a", 5, "10", { skip: true, moved: "0" }), settle("a", 6, "50")],
      items: [record],
      opened: [],
      net: ["50", "50", "0"],
    },
    {
      name: "a game that is paid by a reward alone",
      rows: [{ callback: "winRewards", txn: "a", at: 6, payout: "50" }],
      items: [record],
      opened: [],
      net: ["50", "50", "0"],
    },
    {
      name: "a game that is lost",
      rows: [place("a", 5, "0"), settle("a", 6, "0")],
      items: [listed("a", 6, "10", "0")],
      opened: [],
      net: ["0", "0", "0"],
    },
    {
      name: "a game that still runs on both sides",
      rows: [place("a", 5, "0")],
      items: [listed("a", 5, "10", "0", { status: "OPEN" })],
      opened: [],
      net: ["0", "0", "0"],
    },
    {
      name: "a game whose record has its round only",
      rows: free,
      items: [{ ...record, bet: "whole" }],
      opened: [],
      net: ["50", "50", "0"],
    },
    {
      name: "free spins beside a paid bet, each in a record of its own",
      rows: [place("paid", 4, "20"), settle("paid", 5, "0"), ...free],
      items: [record, listed("paid", 5, "20", "0")],
      opened: [],
      net: ["30", "30", "20"],
    },
    {
      name: "free spins and a paid bet in one record under a spin's id",
      rows: [place("paid", 4, "20"), settle("paid", 5, "0"), ...free],
      items: [{ ...record, stake: "20" }],
      opened: [],
      net: ["30", "30", "20"],
    },
    {
      name: "a win that the wallet paid short",
      rows: [place("a", 5, "0"), settle("a", 6, "40")],
      items: [record],
      opened: ["payout-differs of a, effect -10"],
      net: ["50", "40", "0"],
    },
    {
      name: "a wallet that took the nominal stake",
      rows: [place("a", 5, "0", { moved: "-10" }), settle("a", 6, "50")],
      items: [record],
      opened: ["net-differs of a, effect -10"],
      net: ["50", "40", "0"],
    },
    {
      name: "a wallet that took the stake of a placement that is skipped",
      rows: [place("a", 5, "10", { skip: true, moved: "-10" }), settle("a", 6, "50")],
      items: [record],
      opened: ["net-differs of a, effect -10"],
    },
    {
      name: "a free game without a record",
      rows: free,
      items: [],
      opened: ["missing-at-provider of a, effect 50"],
    },
    {
      name: "a record without a bet in the ledger",
      rows: [],
      items: [record],
      opened: ["missing-in-ledger of a, effect -40"],
    },
    {
      name: "a settlement without a placement",
      rows: [settle("a", 200, "50")],
      items: [{ ...record, at: 200 }],
      opened: ["missing-placement of a, effect 10"],
    },
    {
      name: "a bet that somebody paid for",
      rows: [place("a", 5, "10"), settle("a", 6, "50")],
      items: [{ ...record, stake: "12" }],
      opened: ["stake-differs of a, effect 2"],
    },
  ];

  test.each(cases)("$name", async (one) => await check(one, nominal));

  test.each(["id", "round"])("count as free if the product is matched by %s alone", async (rule) => {
    const records = [rule === "id" ? { ...record, bet: "b-a", id: "a" } : { ...record, bet: "whole" }];
    await check({ name: rule, rows: free, items: records, opened: [] }, { ...nominal, matchBy: [rule] });
  });

  test("count as free within a tolerance, and their payout is compared within it", async () => {
    const rounded = { name: "", rows: free, items: [{ ...record, payout: "50.004" }], opened: [] };
    await check(rounded, nominal, { tolerance: { THB: "0.01" } });
  });

  test("count as free beside the sessions of a mixed product", async () => {
    const fishing = [
      { callback: "adjustBalance", txn: "in", round: null, at: 7, stake: "100" },
      { callback: "adjustBalance", txn: "out", round: null, at: 8, payout: "60" },
    ];
    const mixed = {
      name: "",
      rows: [...free, ...fishing],
      items: [record, listed("reef", 8, "40", "0", { round: "reef" })],
      opened: [],
      net: ["10", "10", "40"],
    } as const;
    await check(mixed, { ...nominal, settlement: "mixed" });
  });

  test("are differences without the setting", async () => {
    await check({ name: "", rows: free, items: [record], opened: ["stake-differs of a, effect 10"] });
  });
});

describe("feature spins that are settled by their last id", () => {
  const spins = [place("f1", 5, "0"), place("f2", 6, "0"), place("f3", 7, "0"), settle("f3", 8, "50")];
  const each = (first: string, second: string, third: string) => [
    listed("f1", 8, "0", first),
    listed("f2", 8, "0", second),
    listed("f3", 8, "0", third),
  ];
  const bought = [place("buy", 4, "20"), settle("buy", 4, "0")];
  const cases: readonly Case[] = [
    {
      name: "one record under the last id",
      rows: spins,
      items: [listed("f3", 8, "0", "50")],
      opened: [],
      net: ["50", "50", "0"],
    },
    {
      name: "one record under the first id",
      rows: spins,
      items: [listed("f1", 8, "0", "50")],
      opened: [],
    },
    {
      name: "one record under an id of its own",
      rows: spins,
      items: [listed("whole", 8, "0", "50")],
      opened: [],
    },
    {
      name: "a record for each spin, with the sum in the last",
      rows: spins,
      items: each("0", "0", "50"),
      opened: [],
      net: ["50", "50", "0"],
    },
    {
      name: "a record for each spin, with its own win",
      rows: spins,
      items: each("10", "15", "25"),
      opened: [],
      net: ["50", "50", "0"],
    },
    {
      name: "after a bought feature, in one record",
      rows: [...bought, ...spins],
      items: [listed("f3", 8, "20", "50")],
      opened: [],
      net: ["30", "30", "20"],
    },
    {
      name: "after a bought feature, in a record each",
      rows: [...bought, ...spins],
      items: [listed("buy", 4, "20", "0"), ...each("10", "15", "25")],
      opened: [],
      net: ["30", "30", "20"],
    },
    {
      name: "a win that is paid short, in one record",
      rows: [place("f1", 5, "0"), place("f2", 6, "0"), place("f3", 7, "0"), settle("f3", 8, "40")],
      items: [listed("f3", 8, "0", "50")],
      opened: ["round-differs of round-1, effect -10"],
    },
    {
      name: "a win that is paid short, in a record each",
      rows: [place("f1", 5, "0"), place("f2", 6, "0"), place("f3", 7, "0"), settle("f3", 8, "40")],
      items: each("10", "15", "25"),
      opened: ["round-differs of round-1, effect -10"],
    },
    {
      name: "a wallet that paid twice",
      rows: [...spins.slice(0, 3), settle("f3", 8, "50", { moved: "100" })],
      items: [listed("f3", 8, "0", "50")],
      opened: ["net-differs of round-1, effect 50"],
    },
    {
      name: "a settlement of one spin that is lost, while each has its own",
      rows: [place("f1", 5, "0"), place("f2", 6, "0"), settle("f2", 7, "15")],
      items: [listed("f1", 6, "0", "10"), listed("f2", 7, "0", "15")],
      opened: ["missing-settlement of f1, effect -10"],
    },
    {
      name: "no record at all",
      rows: spins,
      items: [],
      opened: ["missing-at-provider of f3, effect 50"],
    },
    {
      name: "a spin that begins after the settlement, and never ends",
      rows: [...spins, place("f4", 9, "0")],
      items: [listed("f3", 8, "0", "50")],
      opened: ["stuck-open of f4, effect 0"],
    },
    {
      name: "a spin that still runs on both sides",
      rows: [place("f1", 5, "0"), place("f2", 6, "0"), settle("f1", 7, "10")],
      items: [listed("f1", 7, "0", "10"), listed("f2", 6, "0", "0", { status: "OPEN" })],
      opened: [],
    },
    {
      name: "a bet of the round that somebody paid for and nothing settles",
      rows: [place("buy", 4, "20"), ...spins],
      items: [listed("buy", 8, "20", "0"), listed("f3", 8, "0", "50")],
      opened: ["missing-settlement of buy, effect 0"],
    },
  ];

  test.each(cases)("$name", async (one) => await check(one));
});

describe("a provider that lists a record for each step of a bet", () => {
  const bet = [place("a", 5, "10"), settle("a", 30, "25")];
  const open = listed("a", 5, "10", "0", { id: "step-1", status: "OPEN" });
  const ended = listed("a", 30, "10", "25", { id: "step-2" });
  const cases: readonly Case[] = [
    { name: "open, then settled", rows: bet, items: [open, ended], opened: [], net: ["15", "15", "10"] },
    {
      name: "open, then settled at the same moment",
      rows: bet,
      items: [{ ...open, at: 30, from: 5 }, ended],
      opened: [],
      net: ["15", "15", "10"],
    },
    {
      name: "open, then void",
      rows: [place("a", 5, "10"), { callback: "cancelBets", txn: "a", at: 30 }],
      items: [open, { ...ended, payout: "0", status: "VOID" }],
      opened: [],
      net: ["0", "0", "0"],
    },
    {
      name: "settled, then unsettled, then settled otherwise",
      rows: [...bet, { callback: "rollback", txn: "a", at: 40, payout: "25" }, settle("a", 50, "5")],
      items: [
        open,
        ended,
        listed("a", 40, "10", "0", { id: "step-3", status: "UNSETTLED" }),
        listed("a", 50, "10", "5", { id: "step-4" }),
      ],
      opened: [],
      net: ["-5", "-5", "10"],
    },
    {
      name: "settled, then unsettled, while the ledger runs again",
      rows: [...bet, { callback: "rollback", txn: "a", at: 40, payout: "25" }],
      items: [ended, listed("a", 40, "10", "0", { id: "step-3", status: "UNSETTLED" })],
      opened: [],
    },
    {
      name: "the steps of a bet of a larger round",
      rows: [place("b", 4, "20"), settle("b", 30, "0"), ...bet],
      items: [listed("b", 30, "20", "0"), open, ended],
      opened: [],
      net: ["-5", "-5", "30"],
    },
    {
      name: "another payout",
      rows: bet,
      items: [open, { ...ended, payout: "20" }],
      opened: ["payout-differs of a, effect 5"],
      net: ["10", "15", "10"],
    },
    {
      name: "a settlement that is lost",
      rows: [place("a", 5, "10")],
      items: [open, ended],
      opened: ["missing-settlement of a, effect -25"],
    },
    {
      name: "a bet that no entry knows",
      rows: [],
      items: [open, ended],
      opened: ["missing-in-ledger of a, effect -15"],
    },
    {
      name: "two settled parts, which are added up",
      rows: [place("a", 5, "20"), settle("a", 30, "25")],
      items: [listed("a", 30, "10", "25", { id: "part-1" }), listed("a", 30, "10", "0", { id: "part-2" })],
      opened: [],
      net: ["5", "5", "20"],
    },
    {
      name: "two parts of which one still runs, which are added up",
      rows: [
        place("a", 5, "20"),
        { callback: "settleBets", txn: "a", at: 30, payout: "25" },
        { callback: "rollback", txn: "a", at: 31, payout: "25" },
      ],
      items: [
        listed("a", 5, "10", "0", { id: "part-1", status: "OPEN" }),
        listed("a", 30, "10", "25", { id: "part-2" }),
      ],
      opened: [],
      pending: "25",
    },
  ];

  test.each(cases)("$name", async (one) => await check(one));

  test.each(["a", "step-1", "step-2"])("is found by the id %s with its last step", async (id) => {
    const { find } = await play(bet, [open, ended]);
    const { bets } = await find(id);
    expect(bets).toHaveLength(1);
    expect(bets[0]).toMatchObject({ provider: { id: "step-2", payout: "25" }, difference: null });
  });

  test("in a product of sessions, if the steps lie far apart", async () => {
    const session = {
      name: "",
      rows: [
        { callback: "adjustBalance", txn: "in", round: null, at: 100, stake: "100" },
        { callback: "adjustBalance", txn: "out", round: null, at: 101, payout: "60" },
      ],
      items: [
        listed("reef", 10, "40", "0", { id: "step-1", status: "OPEN" }),
        listed("reef", 101, "40", "0", { id: "step-2" }),
      ],
      opened: [],
      net: ["-40", "-40", "40"],
    } as const;
    await check(session, { settlement: "session" }, { providerGrace: "PT2H", callbackGrace: "PT2H" });
  });
});

test("a paid bet that the ledger lacks, in the round of a free game, keeps its stake", async () => {
  await check(
    {
      name: "",
      rows: [place("a", 5, "0"), settle("a", 6, "5")],
      items: [listed("a", 6, "20", "5"), listed("p", 7, "20", "0")],
      opened: ["missing-in-ledger of p, effect 20"],
      net: ["-15", "5", "20"],
    },
    { nominalStakes: true },
  );
});

test("bets of one ticket, each named by the id of its record, are no steps of one bet", async () => {
  await check({
    name: "",
    rows: [
      place("a", 5, "10"),
      settle("a", 6, "3"),
      place("b", 5, "10"),
      place("d", 5, "12"),
      settle("d", 6, "0"),
    ],
    items: [
      listed("R", 6, "10", "3", { id: "a" }),
      listed("R", 8, "10", "0", { id: "b", status: "UNSETTLED" }),
      listed("R", 6, "10", "0", { id: "d" }),
    ],
    opened: ["stake-differs of d, effect -2"],
    net: ["-27", "-29", "30"],
  });
});
