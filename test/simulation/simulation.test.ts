import { describe, expect, test } from "vitest";
import { describePlays } from "./describe-plays.ts";
import { canShow, LEDGERS } from "./ledger-writer.ts";
import { createOddWorld } from "./oddities/odd-world.ts";
import { planSeed } from "./seed-plan.ts";
import { PLAYS } from "./seeds.ts";
import { runSeeds, type SeedRun } from "./simulation.ts";
import { planTransfers } from "./transfer-plan.ts";

describePlays(PLAYS.filter((_, index) => index % 2 === 0));

test("each way to keep a ledger is played once, here or in test/field", () => {
  const played = [...PLAYS.map(({ ledger }) => ledger), "insert", "relation", "changing"];
  expect(played.toSorted()).toEqual(LEDGERS.toSorted());
});

test("the seeds that the nightly draws begin at times that every part of the product can hold", () => {
  const latest = Date.parse("2070-01-01T00:00:00Z");
  for (const seed of [10_000, 671_457_346, 999_999_000]) {
    expect(planSeed(seed).begin).toBeLessThan(latest);
    expect(planTransfers(seed).begin).toBeLessThan(latest);
  }
});

test("some of the seeds plant every kind of mismatch that callbacks and records can make", () => {
  const planted = PLAYS.flatMap(({ seed, ledger }) => {
    const { world } = planSeed(seed);
    return createOddWorld(world)
      .plantedBy(Number.POSITIVE_INFINITY)
      .filter(({ kind }) => canShow(ledger, kind));
  });
  expect([...new Set(planted.map(({ kind }) => kind))].sort()).toEqual([
    "balance-differs",
    "currency-differs",
    "missing-at-provider",
    "missing-in-ledger",
    "missing-placement",
    "missing-settlement",
    "net-differs",
    "payout-differs",
    "provider-inconsistent",
    "round-differs",
    "session-differs",
    "stake-differs",
    "status-differs",
    "stuck-open",
    "username-differs",
    "vanished-at-provider",
  ]);
});

test("the seeds play each product", () => {
  const played = PLAYS.flatMap(({ seed }) => planSeed(seed).world.products.map(({ productId }) => productId));
  const all = ["TABLE", "SLOT", "SPORT", "ODD", "SINGLE", "LISTED", "ROUND", "FISH", "OMITTED", "CENTS"];
  expect(all.filter((productId) => !played.includes(productId))).toEqual([]);
});

describe("a run of several seeds at a time", () => {
  const runOf = (seed: number): SeedRun => ({
    seed,
    summary: "",
    planted: 0,
    found: 0,
    precision: 1,
    recall: 1,
    kinds: {},
    problems: [],
  });

  test("reports each seed once, in order, whichever ends first", async () => {
    const endings = new Map<number, () => void>();
    const reported: number[] = [];
    const running = runSeeds(
      {
        seedsAtOnce: 2,
        run: async (seed) => {
          await new Promise<void>((resolve) => endings.set(seed, resolve));
          return runOf(seed);
        },
        close: async () => {},
      },
      [1, 2, 3],
      ({ seed }) => reported.push(seed),
    );
    for (const seed of [2, 3, 1]) {
      await expect.poll(() => endings.has(seed)).toBe(true);
      endings.get(seed)?.();
    }
    expect((await running).map(({ seed }) => seed)).toEqual([1, 2, 3]);
    expect(reported).toEqual([1, 2, 3]);
  });
});
