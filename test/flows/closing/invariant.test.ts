/**
 * Any sequence of changes, comparisons and closings: the closed days plus their corrections are today's data, to the
 * last digit.
 */

import fc from "fast-check";
import { beforeEach, describe, expect, test } from "vitest";
import type { BetRecord } from "../../../src/bet.ts";
import type { CallbackEntry } from "../../../src/callback.ts";
import { readClosedBounds, readClosedDays } from "../../../src/closing/closed-day-store.ts";
import { ReconError } from "../../../src/errors.ts";
import { COMPARE_LIMITS } from "../../../src/flows/compare/comparison-context.ts";
import { actOnMismatches } from "../../../src/flows/mismatches/act-on-mismatches.ts";
import { EXPLAINED_BY } from "../../../src/report-item.ts";
import { emptyTables } from "../../support/database.ts";
import {
  amount,
  exampleAdjustment,
  exampleEntry,
  exampleRecord,
  exampleSettle,
  HOUR_MS,
} from "../../support/examples.ts";
import { useDiffWorld } from "../compare/comparison-world.ts";
import { DAY_MS, TODAY, useClosing } from "./closing-world.ts";

const SETTINGS = {
  products: [
    { productId: "P1" },
    { productId: "FISH", settlement: "session" },
    { productId: "BOTH", settlement: "mixed" },
  ],
  diff: { tolerance: { EUR: "0.01" } },
};
const { sql, clock, diff, receive, listed, readAll, ledgerBegins, fetchPlanned } = useDiffWorld();
/** Of a round with more entries or records, only some bets are loaded. */
let wholeRound = COMPARE_LIMITS.wholeRound;
const limits = () => ({ ...COMPARE_LIMITS, wholeRound });
const { context, fetched, close, correct, expectInvariant, expectAllMoney, expectLines } = useClosing(
  sql,
  clock,
  SETTINGS,
  limits,
);

const BETS = 6;
const PLAYERS = ["ann", "bob"];
const CURRENCIES = ["THB", "EUR"];
const PRODUCTS = ["P1", "FISH", "BOTH"];
/** With days before and after the closed ones. */
const DAYS = [-1, 1, 2, 3].map((day) => new Date(TODAY + day * DAY_MS).toISOString().slice(0, 10));
/** Of each product some of these are compared, and some are outside. */
const STRAYS = ["adjustBalance", "winRewards", "placeTips", "cancelTips", "placeBets", "settleBets"] as const;

const at = fc.integer({ min: 0, max: 3 * 24 * 4 - 1 }).map((quarter) => TODAY + quarter * (HOUR_MS / 4));
const money = fc.constantFrom("0", "5", "10", "10.005", "20", "25.1");
const bet = fc.record({
  number: fc.integer({ min: 1, max: BETS }),
  /** several bets share a round */
  round: fc.constantFrom("r1", "r1", "r2", "UNKNOWN"),
  player: fc.constantFrom(...PLAYERS),
  currency: fc.constantFrom(...CURRENCIES),
});

const wholeRounds = fc.constantFrom(2, 3, COMPARE_LIMITS.wholeRound);
const step = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant("play" as const),
      bet,
      at,
      stake: money,
      payout: money,
      listed: money,
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant("list" as const),
      bet,
      at,
      stake: money,
      payout: money,
      status: fc.constantFrom("SETTLED" as const, "OPEN" as const, "VOID" as const),
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("place" as const), bet, at, stake: money }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("settle" as const), bet, at, payout: money }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("cancel" as const), bet, at }) },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant("fish" as const),
      player: fc.constantFrom(...PLAYERS),
      at,
      amount: money,
      number: fc.integer({ min: 1, max: 5 }),
      lists: fc.boolean(),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant("stray" as const),
      productId: fc.constantFrom(...PRODUCTS),
      callback: fc.constantFrom(...STRAYS),
      bet,
      at,
      amount: money,
      moved: fc.option(money),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant("act" as const),
      which: fc.nat(),
      action: fc.constantFrom("resolve" as const, "ignore" as const, "reopen" as const),
      adjusts: fc.boolean(),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constant("compare" as const), hours: fc.integer({ min: 0, max: 30 }) }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("close" as const) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("correct" as const) }) },
);
type Step = typeof step extends fc.Arbitrary<infer One> ? One : never;

let entries = 0;

function entryOf(
  one: { number: number; round: string; player: string; currency: string },
  time: number,
): Partial<CallbackEntry> {
  entries += 1;
  return {
    entryId: `entry-${entries}`,
    requestId: `request-${entries}`,
    username: one.player,
    txnId: `bet-${one.number}`,
    roundId: one.round,
    currency: one.currency,
    occurredAt: time,
    receivedAt: clock.now(),
  };
}

function recordOf(
  one: { number: number; round: string; player: string; currency: string },
  time: number,
  stake: string,
  payout: string,
  betStatus: BetRecord["betStatus"],
): BetRecord {
  return exampleRecord({
    id: `record-${one.number}`,
    betId: `bet-${one.number}`,
    username: one.player,
    roundId: one.round,
    currency: one.currency,
    stake: amount(stake),
    payout: amount(payout),
    betStatus,
    payoutStatus: "UNKNOWN",
    accountingDate: new Date(time).toISOString(),
    updatedDate: new Date(clock.now()).toISOString(),
  });
}

async function take(one: Step): Promise<void> {
  clock.set(clock.now() + 60_000);
  switch (one.do) {
    case "play":
      await receive(
        exampleEntry({ ...entryOf(one.bet, one.at), betAmount: amount(one.stake) }),
        exampleSettle({ ...entryOf(one.bet, one.at + 1000), payoutAmount: amount(one.payout) }),
      );
      return await listed(recordOf(one.bet, one.at, one.stake, one.listed, "SETTLED"));
    case "list":
      return await listed(recordOf(one.bet, one.at, one.stake, one.payout, one.status));
    case "place":
      return await receive(exampleEntry({ ...entryOf(one.bet, one.at), betAmount: amount(one.stake) }));
    case "settle":
      return await receive(exampleSettle({ ...entryOf(one.bet, one.at), payoutAmount: amount(one.payout) }));
    case "cancel":
      return await receive(
        exampleEntry({ ...entryOf(one.bet, one.at), callback: "cancelBets", status: "REFUND" }),
      );
    case "fish": {
      const like = {
        number: 100 + one.number,
        round: `fish-${one.number}`,
        player: one.player,
        currency: "THB",
      };
      if (one.lists)
        return await listed({ ...recordOf(like, one.at, "0", one.amount, "SETTLED"), productId: "FISH" });
      const entry = {
        ...entryOf(like, one.at),
        productId: "FISH",
        callback: "adjustBalance" as const,
        status: "CREDIT",
      };
      return await receive(
        exampleEntry({
          ...entry,
          txnId: `fish-${entries}`,
          moved: amount(one.amount),
          betAmount: null,
          payoutAmount: amount(one.amount),
        }),
      );
    }
    case "stray": {
      // One currency for each bet: each entry moves in its own.
      const like = { ...one.bet, number: 200 + one.bet.number, currency: "THB" };
      const { callback, productId, moved } = one;
      const entry = {
        ...entryOf(like, one.at),
        callback,
        productId,
        moved: moved === null ? null : amount(moved),
      };
      const isTaken = callback === "placeBets" || callback.endsWith("Tips");
      const [taken, given] = isTaken ? [one.amount, null] : [null, one.amount];
      return await receive(
        exampleEntry({
          ...entry,
          status: callback === "adjustBalance" ? "CREDIT" : "OPEN",
          betAmount: taken === null ? null : amount(taken),
          payoutAmount: given === null ? null : amount(given),
        }),
      );
    }
    case "act":
      return await act(one);
    case "compare":
      return await compare(one.hours);
    case "close":
      return await closeNext();
    case "correct":
      await correct();
  }
}

let refs = 0;
async function act({ which, action, adjusts }: Extract<Step, { do: "act" }>): Promise<void> {
  const all = await readAll();
  const mismatch = all[which % Math.max(1, all.length)];
  if (mismatch === undefined) return;
  refs += 1;
  const adjustment =
    action === "resolve" && adjusts && mismatch.currency !== null
      ? { amount: "1.5", ref: `ref-${refs}` }
      : null;
  try {
    await actOnMismatches(context(), {
      action,
      target: { ids: [mismatch.id] },
      note: "n",
      by: "mia",
      expected: null,
      adjustment,
    });
  } catch (error) {
    if (!(error instanceof ReconError)) throw error;
  }
}

async function compare(hours: number): Promise<void> {
  clock.set(clock.now() + hours * HOUR_MS);
  for (const product of PRODUCTS) await diff({ product, settings: SETTINGS, limits: limits() });
  await fetchPlanned();
}

async function closeNext(): Promise<void> {
  const closed = await readClosedBounds(sql);
  const from = closed.at(-1)?.to ?? TODAY;
  if (from >= TODAY + 3 * DAY_MS) return;
  clock.set(Math.max(clock.now(), from + DAY_MS + HOUR_MS));
  expect(await close(new Date(from).toISOString().slice(0, 10))).toHaveProperty("closed");
}

beforeEach(async () => {
  await ledgerBegins();
});

describe("closed books", () => {
  test("plus corrections are today's data, whatever happens", async () => {
    const numRuns = Number(process.env["RECON_TEST_RUNS"] ?? 10);
    let closings = 0;
    let corrections = 0;
    let wide = 0;
    const outside: string[] = [];
    const explained = new Set<string | null>();
    await fc.assert(
      fc
        .asyncProperty(wholeRounds, fc.array(step, { minLength: 10, maxLength: 40 }), async (most, steps) => {
          wholeRound = most;
          for (const one of steps) await take(one);
          await closeNext();
          for (const hours of [2, 2, 30]) await compare(hours);
          await correct();
          await expectInvariant();
          for (const { explainedBy } of await expectLines(DAYS)) explained.add(explainedBy);
          outside.push(...(await expectAllMoney()));
          closings += (await readClosedBounds(sql)).length;
          corrections += (await sql`select from corrections`).length;
          wide += (await sql`select from wide_rounds`).length;
        })
        .beforeEach(async () => {
          await emptyTables(sql);
          clock.set(TODAY + 2 * HOUR_MS);
          await ledgerBegins();
          for (const product of PRODUCTS) await fetched(TODAY - DAY_MS, TODAY + 5 * DAY_MS, product);
        }),
      { numRuns, seed: 20261123 },
    );
    expect(outside).toEqual(expect.arrayContaining(["P1", "FISH"]));
    expect(outside).not.toContain("BOTH");
    expect(explained).toEqual(new Set(EXPLAINED_BY.filter((one) => one !== "correction")));
    expect([closings > numRuns, corrections > 1.5 * numRuns, wide > numRuns / 3]).toEqual([true, true, true]);
  });

  test("count a session that agrees once, on its own day, if a lone record follows within a day", async () => {
    await fetched(TODAY - DAY_MS, TODAY + 5 * DAY_MS, "FISH");
    for (const product of ["P1", "BOTH"]) await fetched(TODAY - DAY_MS, TODAY + 5 * DAY_MS, product);
    const shot = (number: number, time: number, stake: string) => ({
      ...recordOf({ number, round: "UNKNOWN", player: "ann", currency: "THB" }, time, stake, "0", "SETTLED"),
      productId: "FISH",
    });
    const evening = TODAY + 20 * HOUR_MS;
    clock.set(evening + DAY_MS);
    const debit = { productId: "FISH", username: "ann", currency: "THB", occurredAt: evening };
    await receive(exampleAdjustment("DEBIT", "10", 0, { ...debit, receivedAt: evening }));
    await listed(shot(1, evening, "10"), shot(2, evening + 20 * HOUR_MS, "4"));
    for (const hours of [2, 2, 30]) await compare(hours);
    await closeNext();
    await closeNext();
    const days = await readClosedDays(sql, 0, 10);
    expect(days.map(({ rows }) => rows.map((row) => [row.provider.net, row.ledger.moved]))).toEqual([
      [["-10", "-10"]],
      [["-4", "0"]],
    ]);
    await act({ do: "act", which: 0, action: "ignore", adjusts: false });
    await listed(shot(1, evening + 60_000, "10"));
    await compare(2);
    await correct();
    await expectInvariant();
    await expectAllMoney();
  });

  test("keep what an adjustBalance of a wide round moved outside, after its bets were compared again", async () => {
    for (const product of PRODUCTS) await fetched(TODAY - DAY_MS, TODAY + 5 * DAY_MS, product);
    wholeRound = 2;
    clock.set(TODAY + 14 * HOUR_MS);
    const same: Pick<Extract<Step, { do: "list" }>, "bet" | "at"> = {
      bet: { number: 1, round: "r1", player: "ann", currency: "THB" },
      at: TODAY + 12 * HOUR_MS,
    };
    const play: Step = { do: "play", ...same, stake: "5", payout: "0", listed: "0" };
    const second: Step = { ...play, bet: { ...same.bet, number: 2 } };
    const outside = { productId: "P1", callback: "adjustBalance", amount: "0", moved: "10" } as const;
    for (const one of [play, second, { do: "stray", ...same, ...outside }] satisfies Step[]) await take(one);
    for (const hours of [2, 2]) await compare(hours);
    await closeNext();
    await take({ do: "list", ...same, stake: "10", payout: "0", status: "SETTLED" });
    for (const hours of [2, 2]) await compare(hours);
    await take({ do: "list", ...same, stake: "5", payout: "0", status: "SETTLED" });
    for (const hours of [2, 2]) await compare(hours);
    expect(await sql`select from wide_rounds`).toHaveLength(1);
    await correct();
    await expectInvariant();
    expect(await expectAllMoney()).toEqual(["P1"]);
  });
});
