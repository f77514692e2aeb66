/**
 * Any sequence of changes, comparisons, decisions and closings: the mismatches of a statement's row are those with its product,
 * currency and day, and what it says of them is what their effects add up to, with the other sign.
 */

import fc from "fast-check";
import { beforeEach, expect, test } from "vitest";
import type { BetRecord } from "../../../src/bet.ts";
import type { CallbackEntry } from "../../../src/callback.ts";
import { readClosedBounds } from "../../../src/closing/closed-day-store.ts";
import { ReconError } from "../../../src/errors.ts";
import { actOnMismatches } from "../../../src/flows/mismatches/act-on-mismatches.ts";
import { listMismatches } from "../../../src/flows/read/list-mismatches.ts";
import { readReport } from "../../../src/flows/reports/read-report.ts";
import { KINDS_IN_NO_STATEMENT, MISMATCH_STATUSES, type Mismatch } from "../../../src/mismatch.ts";
import { formatAmount, parseAmount, sumAmounts } from "../../../src/money.ts";
import { readMismatchQuery } from "../../../src/ops/input/mismatch-query.ts";
import { parseDay } from "../../../src/ops/input/report-query.ts";
import { emptyTables } from "../../support/database.ts";
import { amount, exampleEntry, exampleRecord, exampleSettle, HOUR_MS } from "../../support/examples.ts";
import { DAY_MS, TODAY, useClosing } from "../closing/closing-world.ts";
import { useDiffWorld } from "../compare/comparison-world.ts";

const PRODUCTS = ["P1", "FISH"];
const SETTINGS = {
  products: [{ productId: "P1" }, { productId: "FISH", settlement: "session" }],
  diff: { tolerance: { EUR: "0.01" } },
};
const DAYS = [-1, 0, 1, 2, 3, 4, 5].map((day) => new Date(TODAY + day * DAY_MS).toISOString().slice(0, 10));
const ALL = MISMATCH_STATUSES.join(",");
const { sql, clock, diff, receive, listed, ledgerBegins, fetchPlanned } = useDiffWorld();
const { context, fetched, close, correct, expectInvariant, expectLines } = useClosing(sql, clock, SETTINGS);

const at = fc.integer({ min: 0, max: 3 * 24 * 4 - 1 }).map((quarter) => TODAY + quarter * (HOUR_MS / 4));
const money = fc.constantFrom("0", "5", "10", "10.005", "20", "25.1");
/**
 * Each bet has one currency and one player; several of one currency share a round. A bet that the provider lists under another
 * name is played once: if its two sides lie on different days, they count on both.
 */
const number = fc.integer({ min: 1, max: 6 });
const round = fc.constantFrom<string>("r1", "r1", "r2", "UNKNOWN");
const one = { number, round, at };
const does = <Name extends string>(name: Name) => ({ do: fc.constant(name) });
const step = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({ ...does("play"), ...one, stake: money, payout: money, listed: money }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      ...does("list"),
      ...one,
      stake: money,
      payout: money,
      status: fc.constantFrom("SETTLED" as const, "OPEN" as const, "VOID" as const),
    }),
  },
  { weight: 2, arbitrary: fc.record({ ...does("place"), ...one, stake: money, moved: fc.option(money) }) },
  { weight: 2, arbitrary: fc.record({ ...does("settle"), ...one, payout: money, moved: fc.option(money) }) },
  { weight: 1, arbitrary: fc.record({ ...does("misname"), ...one, stake: money, payout: money }) },
  { weight: 1, arbitrary: fc.record({ ...does("cancel"), ...one, moved: fc.option(money) }) },
  { weight: 1, arbitrary: fc.record({ ...does("tip"), ...one, stake: money, moved: fc.option(money) }) },
  {
    weight: 2,
    arbitrary: fc.record({
      ...does("fish"),
      ...one,
      amount: money,
      lists: fc.boolean(),
      takes: fc.boolean(),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      ...does("act"),
      which: fc.nat(),
      action: fc.constantFrom("resolve" as const, "ignore" as const, "reopen" as const),
      adjusts: fc.constantFrom("nothing" as const, "some" as const, "all" as const),
    }),
  },
  { weight: 3, arbitrary: fc.record({ ...does("compare"), hours: fc.integer({ min: 0, max: 30 }) }) },
  { weight: 1, arbitrary: fc.record(does("close")) },
);
type Step = typeof step extends fc.Arbitrary<infer Each> ? Each : never;
type Played = Pick<Extract<Step, { do: "place" }>, "number" | "round" | "at">;

let entries = 0;
const currencyOf = (bet: number) => (bet % 3 === 0 ? "EUR" : "THB");
const playerOf = (bet: number) => (bet % 2 === 0 ? "ann" : "bob");
const roundOf = (name: string, bet: number) => (name === "UNKNOWN" ? name : `${name} ${currencyOf(bet)}`);

function entryOf({ number: bet, round: name, at: occurredAt }: Played): Partial<CallbackEntry> {
  entries += 1;
  const names = { entryId: `entry-${entries}`, requestId: `request-${entries}`, txnId: `bet-${bet}` };
  const where = { roundId: roundOf(name, bet), currency: currencyOf(bet) };
  return { ...names, username: playerOf(bet), ...where, occurredAt, receivedAt: clock.now() };
}

function recordOf(
  { number: bet, round: name, at: accountedAt }: Played,
  stake: string,
  payout: string,
  betStatus: BetRecord["betStatus"] = "SETTLED",
): BetRecord {
  return exampleRecord({
    id: `record-${bet}`,
    betId: `bet-${bet}`,
    username: playerOf(bet),
    roundId: roundOf(name, bet),
    currency: currencyOf(bet),
    stake: amount(stake),
    payout: amount(payout),
    betStatus,
    payoutStatus: "UNKNOWN",
    accountingDate: new Date(accountedAt).toISOString(),
    updatedDate: new Date(clock.now()).toISOString(),
  });
}

const movedOf = (text: string | null, sign: 1 | -1) => ({
  moved: text === null ? null : sign === 1 ? amount(text) : amount(text).neg(),
});

async function take(each: Step): Promise<void> {
  // An entry that occurs more than a day later would be rejected.
  clock.set(Math.max(clock.now() + 60_000, "at" in each ? each.at - 20 * HOUR_MS : 0));
  switch (each.do) {
    case "play":
      await receive(
        exampleEntry({ ...entryOf(each), betAmount: amount(each.stake) }),
        exampleSettle({ ...entryOf({ ...each, at: each.at + 1000 }), payoutAmount: amount(each.payout) }),
      );
      return await listed(recordOf(each, each.stake, each.listed));
    case "list":
      return await listed(recordOf(each, each.stake, each.payout, each.status));
    case "place":
      return await receive(
        exampleEntry({ ...entryOf(each), betAmount: amount(each.stake), ...movedOf(each.moved, -1) }),
      );
    case "settle":
      return await receive(
        exampleSettle({ ...entryOf(each), payoutAmount: amount(each.payout), ...movedOf(each.moved, 1) }),
      );
    case "misname": {
      const bet = { ...each, number: 1_000 + 2 * entries, round: "UNKNOWN" };
      await receive(
        exampleEntry({ ...entryOf(bet), betAmount: amount(each.stake) }),
        exampleSettle({ ...entryOf(bet), payoutAmount: amount(each.payout) }),
      );
      return await listed({ ...recordOf(bet, each.stake, "20"), username: "zoe" });
    }
    case "cancel":
      return await receive(
        exampleEntry({
          ...entryOf(each),
          callback: "cancelBets",
          status: "REFUND",
          ...movedOf(each.moved, 1),
        }),
      );
    case "tip":
      return await receive(
        exampleEntry({
          ...entryOf(each),
          txnId: `tip-${each.number}`,
          callback: "placeTips",
          betAmount: amount(each.stake),
          ...movedOf(each.moved, -1),
        }),
      );
    case "fish":
      return await fish(each);
    case "act":
      return await act(each);
    case "compare":
      return await compare(each.hours);
    case "close":
      return await closeNext();
  }
}

async function fish(each: Extract<Step, { do: "fish" }>): Promise<void> {
  const like = { ...each, number: 101, round: `fish-${each.number}` };
  if (each.lists)
    return await listed({
      ...recordOf(like, "0", each.amount),
      productId: "FISH",
      id: `fish-${each.number}`,
    });
  const value = amount(each.amount);
  const sides = each.takes
    ? { status: "DEBIT", betAmount: value, payoutAmount: null, moved: value.neg() }
    : { status: "CREDIT", betAmount: null, payoutAmount: value, moved: value };
  const entry = entryOf(like);
  await receive(
    exampleEntry({
      ...entry,
      productId: "FISH",
      callback: "adjustBalance",
      txnId: `fish-${entries}`,
      ...sides,
    }),
  );
}

const readAll = async (filters: Record<string, string> = {}): Promise<Mismatch[]> => {
  const found: Mismatch[] = [];
  for (let after: string | null = null; ; ) {
    const typed = {
      status: ALL,
      limit: "3",
      sort: "at-risk",
      ...filters,
      ...(after === null ? {} : { after }),
    };
    const { mismatches, next } = await listMismatches(
      context(),
      await readMismatchQuery(context(), typed, "anna"),
    );
    found.push(...mismatches);
    if (next === null) return found;
    after = next;
  }
};

let refs = 0;
async function act({ which, action, adjusts }: Extract<Step, { do: "act" }>): Promise<void> {
  const all = await readAll();
  const mismatch = all[which % Math.max(1, all.length)];
  if (mismatch === undefined) return;
  refs += 1;
  const all1 = mismatch.effect === null ? "0" : formatAmount(parseAmount(mismatch.effect, "effect").neg());
  const corrected = adjusts === "all" ? all1 : "1.5";
  const isAdjusted =
    action === "resolve" && adjusts !== "nothing" && corrected !== "0" && mismatch.currency !== null;
  const adjustment = isAdjusted ? { amount: corrected, ref: `ref-${refs}` } : null;
  try {
    const said = { note: "n", by: "mia", expected: null, adjustment };
    await actOnMismatches(context(), { action, target: { ids: [mismatch.id] }, ...said });
  } catch (error) {
    if (!(error instanceof ReconError)) throw error;
  }
}

async function compare(hours: number): Promise<void> {
  clock.set(clock.now() + hours * HOUR_MS);
  for (const product of PRODUCTS) await diff({ product, settings: SETTINGS });
  await fetchPlanned();
}

async function closeNext(): Promise<void> {
  const from = (await readClosedBounds(sql)).at(-1)?.to ?? TODAY;
  if (from >= TODAY + 3 * DAY_MS) return;
  clock.set(Math.max(clock.now(), from + DAY_MS + HOUR_MS));
  expect(await close(new Date(from).toISOString().slice(0, 10))).toHaveProperty("closed");
}

/** What the row of a statement says of its mismatches, and what they say themselves. */
async function compareRows(): Promise<Mismatch[]> {
  const inRows: Mismatch[] = [];
  const all = (await readAll()).map(sayMismatch);
  for (const day of DAYS) {
    const { rows } = await readReport(context(), parseDay(day, "UTC"));
    for (const product of PRODUCTS) {
      for (const currency of ["EUR", "THB"]) {
        const row = rows.find((each) => each.productId === product && each.currency === currency);
        const own = await readAll({ day, product, currency });
        const effects = own.flatMap(({ effect }) => (effect === null ? [] : [parseAmount(effect, "effect")]));
        const said = { day, product, currency, own: own.map(sayMismatch), all };
        expect({ ...said, mismatches: formatAmount(sumAmounts(effects).neg()) }).toEqual({
          ...said,
          mismatches: row?.mismatches ?? "0",
        });
        expect(own.every(({ countsOn }) => countsOn === day)).toBe(true);
        inRows.push(...own);
      }
    }
  }
  return inRows;
}

const sayMismatch = (of: Mismatch) =>
  [of.id, of.kind, of.status, of.resolvedBy, of.effect, of.betId, of.transactionId, of.countsOn].join(" ");

beforeEach(async () => {
  await ledgerBegins();
});

test("the mismatches of a row are those with its product, currency and day, and add up to what it says", async () => {
  const numRuns = Number(process.env["RECON_TEST_RUNS"] ?? 12);
  const seen = new Map<string, number>();
  const count = (what: string) => seen.set(what, (seen.get(what) ?? 0) + 1);
  await fc.assert(
    fc
      .asyncProperty(fc.array(step, { minLength: 10, maxLength: 40 }), async (steps) => {
        for (const each of steps) await take(each);
        for (const hours of [2, 2, 30, 96, 30]) await compare(hours);
        await correct();
        const inRows = await compareRows();
        for (const { explainedBy } of await expectLines(DAYS)) count(`line ${explainedBy}`);
        if ((await readClosedBounds(sql)).length > 0) {
          count("closed");
          await expectInvariant();
        }
        const all = await readAll();
        expect(new Set(inRows.map(({ id }) => id)).size).toBe(inRows.length);
        expect(inRows.map(({ id }) => id).sort()).toEqual(
          all.flatMap(({ id, countsOn }) => (countsOn === null ? [] : [id])).sort(),
        );
        for (const { kind, status, resolvedBy, countsOn, effect } of all) {
          if (KINDS_IN_NO_STATEMENT.includes(kind)) expect([countsOn, effect]).toEqual([null, null]);
          else if (status === "open" || status === "acknowledged") expect(countsOn).not.toBeNull();
          if (resolvedBy === "recon") expect(countsOn).toBeNull();
          count(countsOn === null ? "uncounted" : `${kind} ${status}`);
        }
      })
      .beforeEach(async () => {
        await emptyTables(sql);
        clock.set(TODAY + 2 * HOUR_MS);
        await ledgerBegins();
        for (const product of PRODUCTS) await fetched(TODAY - DAY_MS, TODAY + 5 * DAY_MS, product);
      }),
    { numRuns, seed: 34, endOnFailure: true },
  );
  const kinds = new Set([...seen.keys()].map((what) => what.split(" ")[0]));
  expect([seen.has("line mismatch"), seen.has("line pending")]).toEqual([true, true]);
  expect([kinds.size > 7, seen.has("closed"), seen.has("uncounted"), seen.has("net-differs open")]).toEqual([
    true,
    true,
    true,
    true,
  ]);
});
