import { describe, expect, test } from "vitest";
import { assessInDoubt, assessPairs } from "../../src/diff/assess.ts";
import type { Fetched, Graces, Pass } from "../../src/diff/required-conditions.ts";
import { requiredForAbsence, unmetForAbsence } from "../../src/diff/vanished.ts";
import { hoursOf, mergeRanges } from "../../src/window.ts";
import { HOUR_MS, MINUTE_MS, NOON } from "../support/examples.ts";
import { bet, record, SETTINGS } from "./sides.ts";

const GRACES: Graces = {
  callbackGraceMs: 15 * MINUTE_MS,
  providerGraceMs: HOUR_MS,
  settleDelayMs: 2 * MINUTE_MS,
  overlapMs: 5 * MINUTE_MS,
  roundPatienceMs: 24 * HOUR_MS,
  earliestFetch: NOON - 90 * 24 * HOUR_MS,
};
const minute = (minutes: number) => NOON + minutes * MINUTE_MS;
const iso = (minutes: number) => new Date(minute(minutes)).toISOString();
const range = (from: number, to: number) => ({ from: minute(from), to: minute(to) });
/** A pass over a range, with the minute in which it began and ended. */
const pass = (from: number, to: number, at: number): Pass => ({
  ...range(from, to),
  startedAt: minute(at),
  fetchedAt: minute(at),
});

describe("before a missed record counts as absent, these ranges must be fetched", () => {
  const needs = (fields: Parameters<typeof record>[0], bets = [bet({})].slice(1)) =>
    requiredForAbsence({ record: record(fields), missedAt: NOON }, bets, GRACES);

  test("every place at which the provider could list it, the settle delay after the first fetch, and all time since its date", () => {
    const { again, search } = needs({ accountingDate: iso(-120), updatedDate: iso(-60) });
    expect(again).toEqual({ ranges: [range(-125, -115), range(-65, -55)], since: minute(2) });
    expect(search).toEqual({ ranges: [range(-120, 0)], since: NOON + 1 });
  });

  test("the time of the bets that share its id or round, up to the first fetch and no further", () => {
    const own = bet({ txnId: "t1", roundId: "r", firstEntryAt: minute(-200), lastEntryAt: minute(1) });
    const other = bet({ txnId: "t2", roundId: "s", firstEntryAt: minute(-900), lastEntryAt: minute(-800) });
    const date = { accountingDate: iso(-120), updatedDate: iso(-120) };
    expect(needs({ betId: "t1", ...date }, [own, other]).again.ranges).toEqual([range(-205, 0)]);
  });

  test("nothing before the earliest time, except the range that missed it", () => {
    const old = -100 * 24 * 60;
    const { again, search } = needs({ accountingDate: iso(old), updatedDate: iso(old) });
    expect(again.ranges).toEqual([range(old - 5, old + 5)]);
    expect(search.ranges).toEqual([{ from: GRACES.earliestFetch, to: NOON }]);
  });
});

describe("a missed record, dated an hour before the fetch at noon that missed it,", () => {
  const again: Fetched = { ranges: [range(-65, -55)], since: minute(2) };
  const search: Fetched = { ranges: [range(-60, 0)], since: NOON + 1 };
  const own = pass(-65, -55, 3);

  test.each([
    { name: "waits for the settle delay", passes: [], now: 1, unmet: { until: minute(2) } },
    { name: "is requested again", passes: [], now: 2, unmet: { fetch: [range(-65, -55)] } },
    {
      name: "is requested if it was not fetched again",
      passes: [pass(-65, -60, 3)],
      now: 4,
      unmet: { fetch: [range(-60, -55)] },
    },
    {
      name: "is not missed a second time by a fetch that came too soon",
      passes: [pass(-65, 0, 1)],
      now: 4,
      unmet: { fetch: [range(-65, -55)] },
    },
    {
      name: "is searched in all time up to the first fetch",
      passes: [own],
      now: 4,
      unmet: { fetch: [range(-55, 0)] },
    },
    {
      name: "is not searched by fetches from before it was missed",
      passes: [own, pass(-60, 0, -600)],
      now: 4,
      unmet: { fetch: [range(-55, 0)] },
    },
    {
      name: "is not searched again if a search followed the first fetch, however soon",
      passes: [own, pass(-60, -20, 1), pass(-30, 0, 5)],
      now: 6,
      unmet: null,
    },
    {
      name: "is in doubt while a part of that time cannot be fetched",
      passes: [own, pass(-60, -20, 1), pass(-10, 0, 5)],
      now: 600,
      unmet: { fetch: [range(-20, -10)] },
    },
  ])("$name", ({ passes, now, unmet }) => {
    const found = unmetForAbsence({ again, search }, passes, minute(now));
    const whole = found !== null && "fetch" in found ? { fetch: mergeRanges(found.fetch) } : found;
    expect(whole).toEqual(unmet);
  });
});

describe("a search of many days", () => {
  const DAYS = 30;
  const again: Fetched = { ranges: [], since: NOON };
  const search: Fetched = { ranges: [range(-DAYS * 24 * 60, 0)], since: NOON + 1 };
  /** the hours of the search, the newest first */
  const cells = hoursOf(range(-DAYS * 24 * 60, 0), NOON).reverse();
  const hours = (unmet: ReturnType<typeof unmetForAbsence>) =>
    unmet !== null && "fetch" in unmet ? unmet.fetch : [];

  test("requests some hours at once, the newest first, until all were fetched", () => {
    const passes: Pass[] = [];
    let asked = 0;
    let rounds = 0;
    for (let now = 1; ; now += 1) {
      const fetch = hours(unmetForAbsence({ again, search }, passes, minute(now)));
      if (fetch.length === 0) break;
      expect(fetch.length).toBeLessThanOrEqual(96);
      expect(fetch[0]?.to).toBe(Math.min(NOON, ...passes.map(({ from }) => from)));
      passes.push(...fetch.map((hour) => ({ ...hour, startedAt: minute(now), fetchedAt: minute(now) })));
      asked += fetch.length;
      rounds += 1;
    }
    expect({ asked, rounds }).toEqual({ asked: cells.length, rounds: 8 });
    expect(unmetForAbsence({ again, search }, passes, minute(100))).toBe(null);
  });

  test("leaves out an hour that was just fetched for another record, until 1/24 of its age has passed", () => {
    const whole = pass(-DAYS * 24 * 60, 0, 0);
    const dueAt = (minutes: number) => hours(unmetForAbsence({ again, search }, [whole], minute(minutes)));
    expect(dueAt(0)).toEqual([]);
    expect(dueAt(60)).toEqual(cells.filter(({ from }) => from >= minute(-23 * 60)));
  });

  test("ends in a bounded time, however many other records are missed meanwhile", () => {
    const passes: Pass[] = [pass(-DAYS * 24 * 60, 0, 0)];
    let asked = 0;
    let now = 1;
    for (let unmet = unmetForAbsence({ again, search }, passes, minute(now)); unmet !== null; now += 10) {
      for (const hour of hours(unmet))
        passes.push({ ...hour, startedAt: minute(now), fetchedAt: minute(now) });
      asked += hours(unmet).length;
      unmet = unmetForAbsence({ again, search }, passes, minute(now + 10));
    }
    expect(asked).toBe(cells.length);
    expect(now).toBeLessThan(32 * 60);
  });
});

describe("a record that the provider no longer returns", () => {
  const kinds = (...sides: Parameters<typeof assessPairs>) =>
    assessPairs(...sides).flatMap(({ pending }) => pending?.content.kind ?? []);
  const gone = record({ payout: "25" });

  test("leaves a bet that vanished at the provider, which is another kind than a bet that the provider never had", () => {
    const bets = [bet({ payout: "25" }), bet({ txnId: "t2", roundId: "round-2" })];
    expect(kinds([gone], bets, SETTINGS, [gone])).toEqual(["vanished-at-provider", "missing-at-provider"]);
  });

  test("is missing in no ledger", () => {
    expect(kinds([gone], [], SETTINGS, [gone])).toEqual([]);
  });

  test("leaves an open or void bet as if it had never existed", () => {
    expect(kinds([gone], [bet({ status: "void" })], SETTINGS, [gone])).toEqual([]);
    const listed = { ...SETTINGS, openBetsListed: true };
    expect(kinds([gone], [bet({ status: "open" })], listed, [gone])).toEqual(["vanished-at-provider"]);
  });
});

describe("while a record is in doubt", () => {
  const doubted = record({ payout: "25" });
  const said = (bets: ReturnType<typeof bet>[], others: ReturnType<typeof record>[] = []) => {
    const { pairs, undecided, otherwise } = assessInDoubt([doubted, ...others], bets, SETTINGS, {
      absent: [],
      doubtful: [doubted],
    });
    const pendingDifferences = pairs.flatMap(({ pending }) => pending ?? []);
    const kindsOf = (all: readonly (typeof pendingDifferences)[number][]) =>
      all.map(({ content }) => content.kind);
    return {
      certain: kindsOf(pendingDifferences.filter((pending) => !undecided.has(pending))),
      undecided: kindsOf([...undecided]),
      otherwise: kindsOf(otherwise),
    };
  };

  test.each([
    {
      name: "its old status does not count against a bet that the ledger took back",
      bets: [bet({ status: "void" })],
      undecided: ["status-differs"],
      otherwise: [],
    },
    {
      name: "its old amounts do not count",
      bets: [bet({ payout: "20" })],
      undecided: ["payout-differs"],
      otherwise: ["vanished-at-provider"],
    },
    {
      name: "its agreement ends no mismatch that its absence would open",
      bets: [bet({ payout: "25" })],
      undecided: [],
      otherwise: ["vanished-at-provider"],
    },
    {
      name: "the money that moved for it counts as right",
      bets: [bet({ payout: "25", moved: "0" })],
      undecided: ["net-differs"],
      otherwise: ["vanished-at-provider"],
    },
    { name: "it is missing in no ledger", bets: [], undecided: ["missing-in-ledger"], otherwise: [] },
  ])("$name", ({ bets, undecided, otherwise }) => {
    expect(said(bets)).toEqual({ certain: [], undecided, otherwise });
  });

  test("the sums of a round that contains it do not count", () => {
    const other = record({ id: "r2", betId: "x2", stake: "7" });
    const bets = [bet({ txnId: "t8", payout: "25" }), bet({ txnId: "t9", payout: "3" })];
    expect(said(bets, [other])).toEqual({ certain: [], undecided: ["round-differs"], otherwise: [] });
  });

  test("a difference of another bet of its round counts if it exists with and without the record", () => {
    const other = record({ id: "r2", betId: "t2", payout: "9" });
    const bets = [bet({ payout: "25" }), bet({ txnId: "t2", payout: "8" })];
    expect(said(bets, [other]).certain).toEqual(["payout-differs"]);
  });
});
