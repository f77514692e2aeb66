import { describe, expect, test } from "vitest";
import type { LedgerBet, StoredRecord } from "../../src/bet.ts";
import { assessPairs, type PendingDifference } from "../../src/diff/assess.ts";
import {
  afterPatience,
  conditionsOfPair,
  requiredConditionsOf as conditionsWithRound,
  firstUnmet,
  type Graces,
  mayMissRecords,
  missingOf,
  type Pass,
  type RequiredConditions,
} from "../../src/diff/required-conditions.ts";
import { HOUR_MS, MINUTE_MS, NOON } from "../support/examples.ts";
import { bet, record, SETTINGS } from "./sides.ts";

const GRACES: Graces = {
  callbackGraceMs: 15 * MINUTE_MS,
  providerGraceMs: HOUR_MS,
  settleDelayMs: 2 * MINUTE_MS,
  overlapMs: 5 * MINUTE_MS,
  roundPatienceMs: 24 * HOUR_MS,
  earliestFetch: NOON - 72 * HOUR_MS,
};
const minute = (minutes: number) => NOON + minutes * MINUTE_MS;
const iso = (minutes: number, plusMs = 0) => new Date(minute(minutes) + plusMs).toISOString();
/** A range of one instant: the date of a record. */
const at = (minutes: number, plusMs = 0) => ({
  from: minute(minutes) + plusMs,
  to: minute(minutes) + plusMs + 1,
});

/** The conditions of the only pending difference. */
function requiredConditionsOf(records: StoredRecord[], bets: LedgerBet[]): RequiredConditions {
  const pendingDifferences = assessPairs(records, bets, SETTINGS).map(({ pending }) => pending);
  const [pending, ...others] = pendingDifferences.filter((one) => one !== null);
  expect(others).toEqual([]);
  return conditionsOfPair(pending as PendingDifference, GRACES);
}
const fetchOf = (records: StoredRecord[], bets: LedgerBet[]) =>
  requiredConditionsOf(records, bets).eitherFetched;

/** Placed at minute -20, settled at minute -10 and received a minute later. */
const held = (fields: Parameters<typeof bet>[0] = {}) =>
  bet({ firstEntryAt: minute(-20), lastEntryAt: minute(-10), lastReceivedAt: minute(-9), ...fields });
/** Accounted a minute before the bet was settled, updated when it was settled, requested and first seen at noon. */
const listed = (fields: Parameters<typeof record>[0] = {}) =>
  record({
    payout: "1",
    accountingDate: iso(-11),
    updatedDate: iso(-10),
    requestedAt: NOON,
    versionSeenAt: NOON,
    ...fields,
  });

describe("no mismatch opens before callbackGrace", () => {
  test.each([
    {
      after: "the record's version was first seen",
      records: [listed({ versionSeenAt: minute(3) })],
      bets: [held()],
      from: 3,
    },
    {
      after: "the bet's last entry was received",
      records: [listed()],
      bets: [held({ lastReceivedAt: minute(7) })],
      from: 7,
    },
    {
      after: "a record that no entry knows was first seen",
      records: [listed({ versionSeenAt: minute(3) })],
      bets: [],
      from: 3,
    },
    { after: "the last entry of a bet without a record was received", records: [], bets: [held()], from: -9 },
    {
      after: "the latest of several records was first seen",
      records: [listed({ id: "r2", versionSeenAt: minute(4) }), listed()],
      bets: [held()],
      from: 4,
    },
    {
      after: "the last entry of any bet of a round that is compared together was received",
      records: [listed({ betId: "unknown", stake: "21" })],
      bets: [held({ txnId: "t1" }), held({ txnId: "t2", lastReceivedAt: minute(6) })],
      from: 6,
    },
  ])("is over after $after", ({ records, bets, from }) => {
    expect(requiredConditionsOf(records, bets).notBefore).toBe(minute(from + 15));
  });
});

/** The bet's time and its records' dates, fetched after the provider's grace since the last entry was received. */
const CONFIRM = { ranges: [{ from: minute(-25), to: minute(50) }, at(-11), at(-10)], since: minute(51) };

const CONFIRM_ALONE = { ...CONFIRM, ranges: CONFIRM.ranges.slice(0, 1) };

describe("our copy of a record is fresh", () => {
  test("if its request came after the last entry was received, and it is not older than that entry", () => {
    expect(fetchOf([listed()], [held()])).toEqual([]);
  });

  test("if it has the time of the last entry, and both sides run or both have ended", () => {
    expect(fetchOf([listed({ updatedDate: iso(-10) })], [held()])).toEqual([]);
    const placed = { firstEntryAt: minute(-10), stake: "9" };
    const running = listed({ betStatus: "OPEN", payout: "0", updatedDate: iso(-10) });
    expect(fetchOf([running], [held({ ...placed, status: "open" })])).toEqual([]);
  });

  test("if it was updated after the moment of the last entry, whatever its status is", () => {
    const placed = (plusMs: number) =>
      listed({ betStatus: "OPEN", payout: "0", updatedDate: iso(-10, plusMs) });
    const settled = (plusMs: number) => [held({ lastEntryAt: minute(-10) + plusMs })];
    expect(fetchOf([placed(1_000)], settled(0))).toEqual([]);
    expect(fetchOf([placed(999)], settled(0))).toHaveLength(1);
    expect(fetchOf([placed(700)], settled(600))).toEqual([]);
  });

  test("if no entry of its bet was received", () => {
    expect(fetchOf([listed({ updatedDate: iso(-600), requestedAt: minute(-500) })], [])).toEqual([]);
  });
});

describe("a confirm fetch is required", () => {
  test("without a record: after the provider's grace since the last entry, over the whole time of the bet", () => {
    const [alone] = fetchOf([], [held()]);
    expect(alone).toEqual(CONFIRM_ALONE);
  });

  test("without a record of a whole round: after the last entry of all bets, over the time of all", () => {
    const other = bet({
      txnId: "t2",
      firstEntryAt: minute(-40),
      lastEntryAt: minute(-2),
      lastReceivedAt: minute(-1),
    });
    const round = [record({ id: "r2", betId: "t2" })];
    expect(fetchOf(round, [held(), other])).toEqual([
      { ranges: [{ from: minute(-45), to: minute(58) }], since: minute(59) },
    ]);
  });

  test("if the record is older than the last entry: the report may come later than its callbacks", () => {
    const stale = listed({ accountingDate: iso(-11), updatedDate: iso(-15) });
    expect(fetchOf([stale], [held()])).toEqual([
      { ...CONFIRM, ranges: [{ from: minute(-25), to: minute(50) }, at(-11), at(-15)] },
    ]);
  });

  test("if the record may be that of a placement in the same second, or the same moment", () => {
    const placed = listed({ betStatus: "OPEN", payout: "0", updatedDate: iso(-10) });
    const settledAt = (lastEntryAt: number) => held({ firstEntryAt: minute(-10), lastEntryAt });
    expect(fetchOf([placed], [settledAt(minute(-10) + 600)])).toHaveLength(1);
    expect(fetchOf([placed], [settledAt(minute(-10))])).toHaveLength(1);
  });

  test("if the record may be that of the placement, because the ledger's dates are whole seconds", () => {
    const updatedDate = new Date(minute(-10) + 400).toISOString();
    const placed = listed({ betStatus: "OPEN", payout: "0", updatedDate });
    expect(fetchOf([placed], [held({ firstEntryAt: minute(-10) })])).toHaveLength(1);
    const ended = listed({ updatedDate });
    expect(fetchOf([ended], [held({ firstEntryAt: minute(-10) })])).toEqual([]);
  });

  test("if the record is older by the fraction that a provider with whole seconds leaves out", () => {
    const [again, ...others] = fetchOf(
      [listed({ updatedDate: iso(-10) })],
      [held({ lastEntryAt: minute(-10) + 600 })],
    );
    expect(again?.since).toBe(CONFIRM.since);
    expect(others).toEqual([]);
  });

  test("if one of a bet's records is older than the last entry: that record may be stale", () => {
    const records = [
      listed({ id: "r1" }),
      listed({ id: "r2", updatedDate: iso(-15), accountingDate: iso(-15) }),
    ];
    expect(fetchOf(records, [held()])).toEqual([
      { ...CONFIRM, ranges: [...CONFIRM.ranges, at(-15), at(-15)] },
    ]);
  });

  test("if its request came before the last entry was received: over its dates after that, or over everything late", () => {
    const early = listed({ requestedAt: minute(-9) });
    expect(fetchOf([early], [held()])).toEqual([
      { ranges: [at(-11), at(-10)], since: minute(-7) + 1 },
      CONFIRM,
    ]);
  });

  test("if the request of one of its records came before the last entry was received", () => {
    const records = [listed({ id: "r1", requestedAt: minute(-9) }), listed({ id: "r2" })];
    expect(fetchOf(records, [held()])).toHaveLength(2);
  });

  test("if its request came right after the last entry was received: the provider may not list another record yet", () => {
    expect(fetchOf([listed({ requestedAt: minute(-7) })], [held()])).toHaveLength(2);
    expect(fetchOf([listed({ requestedAt: minute(-7) + 1 })], [held()])).toEqual([]);
  });

  test("if a round is compared by its sums: an unseen record may exist", () => {
    expect(fetchOf([listed({ betId: "unknown", stake: "9" })], [held()])).toEqual([CONFIRM]);
  });
});

test("a round whose sums agree needs no other record: the present copy decides about the moved money", () => {
  const round = [listed({ betId: "r", id: "r", payout: "0" })];
  expect(fetchOf(round, [held({ moved: "-20" })])).toEqual([]);
});

test("no fetch reaches before the earliest time, even for a record with an earlier date", () => {
  const dateless = listed({ accountingDate: "0001-01-01T00:00:00.000Z", updatedDate: iso(-15) });
  expect(fetchOf([dateless], [held()])).toEqual([
    { ...CONFIRM, ranges: [{ from: minute(-25), to: minute(50) }, at(-15)] },
  ]);
  const before = listed({
    accountingDate: new Date(GRACES.earliestFetch - 1).toISOString(),
    updatedDate: iso(-15),
  });
  expect(fetchOf([before], [held()])).toEqual(fetchOf([dateless], [held()]));
  const old = held({ firstEntryAt: GRACES.earliestFetch - HOUR_MS });
  expect(fetchOf([], [old])[0]?.ranges).toEqual([{ from: GRACES.earliestFetch, to: minute(50) }]);
});

describe("a bet is stuck when it has been open long enough", () => {
  const stuckFrom = minute(-20 + 24 * 60);
  const conditions = () => requiredConditionsOf([], [held({ status: "open" })]);

  test("and all that time was fetched", () => {
    expect(conditions()).toEqual({
      notBefore: stuckFrom,
      eitherFetched: [
        {
          ranges: [{ from: minute(-25), to: stuckFrom }],
          since: minute(51),
          mayLag: { until: stuckFrom, lagMs: HOUR_MS },
        },
      ],
    });
  });

  test("and each moment was fetched when its report was no longer late, or when the bet was stuck", () => {
    const passAt = (startedAt: number, from: number, to: number) => ({
      ...{ from, to },
      ...{ startedAt, fetchedAt: startedAt },
    });
    const [until, tooEarly] = [minute(600), minute(659)];
    const begun = passAt(until + HOUR_MS, minute(-60), until);
    const unmetOfCheck = (...passes: Pass[]) => firstUnmet(conditions(), passes, stuckFrom);
    expect(unmetOfCheck(begun, passAt(stuckFrom, until, stuckFrom))).toBeNull();
    expect(unmetOfCheck(passAt(tooEarly, minute(-60), until), passAt(stuckFrom, until, stuckFrom))).toEqual({
      fetch: [{ from: minute(599), to: until }],
    });
  });
});

test("a bet that the provider lacks waits for its round up to a limit, and is then judged without its round", () => {
  const other = bet({ txnId: "t2", status: "open", lastReceivedAt: minute(900) });
  const [missing] = assessPairs([], [held(), other], SETTINGS).flatMap(({ pending }) => pending ?? []);
  const patient = (minutes: number) => afterPatience(missing as PendingDifference, GRACES, minute(minutes));
  expect(patient(-9 + 24 * 60 - 1)).toMatchObject({
    waitsForRound: true,
    entryTimes: { lastReceivedAt: minute(900) },
  });
  expect(patient(-9 + 24 * 60)).toMatchObject({
    waitsForRound: false,
    entryTimes: { lastReceivedAt: minute(-9) },
  });
});

test("while a bet waits for its round, nothing but the end of its patience is required", () => {
  const other = bet({ txnId: "t2", status: "open", lastReceivedAt: minute(900) });
  const [missing] = assessPairs([], [held(), other], SETTINGS).flatMap(({ pending }) => pending ?? []);
  const conditionsAt = (minutes: number) =>
    conditionsWithRound(missing as PendingDifference, GRACES, minute(minutes));
  const ends = minute(-9 + 24 * 60);
  expect(conditionsAt(0)).toEqual({ notBefore: ends, eitherFetched: [] });
  expect(conditionsAt(-9 + 24 * 60)).toMatchObject({ notBefore: minute(6), eitherFetched: [CONFIRM_ALONE] });
});

describe("of a pending difference", () => {
  const pass = (begun: number, fields: Partial<Pass> = {}): Pass => ({
    from: minute(-60),
    to: minute(60),
    startedAt: begun,
    fetchedAt: begun,
    ...fields,
  });
  const alone = () => requiredConditionsOf([], [held()]);
  const stale = () => requiredConditionsOf([listed({ updatedDate: iso(-15) })], [held()]);
  const early = () => requiredConditionsOf([listed({ requestedAt: minute(-9) })], [held()]);

  test("first its grace is awaited, then the time from which a fetch counts, then the fetch", () => {
    expect(firstUnmet(alone(), [], minute(6) - 1)).toEqual({ until: minute(6) });
    expect(firstUnmet(alone(), [], minute(6))).toEqual({ until: minute(51) });
    expect(firstUnmet(alone(), [], minute(51))).toEqual({ fetch: [{ from: minute(-25), to: minute(50) }] });
  });

  test("a fetch counts if it began at that time or later, and covers all of the time", () => {
    expect(firstUnmet(alone(), [pass(minute(51))], minute(52))).toBeNull();
    expect(firstUnmet(alone(), [pass(minute(51) - 1)], minute(52))).toMatchObject({ fetch: [{}] });
    expect(firstUnmet(alone(), [pass(minute(51), { to: minute(20) })], minute(52))).toEqual({
      fetch: [{ from: minute(20), to: minute(50) }],
    });
  });

  test("no fetch is awaited if none is required", () => {
    expect(firstUnmet({ notBefore: NOON, eitherFetched: [] }, [], NOON)).toBeNull();
  });

  test("either of two fetches is enough", () => {
    const datesAgain = [pass(minute(16), { from: minute(-11), to: minute(-9) })];
    expect(firstUnmet(early(), datesAgain, minute(20))).toBeNull();
    expect(firstUnmet(early(), [pass(minute(51))], minute(52))).toBeNull();
    expect(firstUnmet(early(), [], minute(20))).toEqual({ until: minute(51) });
  });

  test("a pass that another process began shows a missing record, but not that a known one is stale", () => {
    const resumed = [pass(minute(51), { resumed: true })];
    expect(alone()).not.toHaveProperty("ofRecords");
    expect(firstUnmet(alone(), resumed, minute(52))).toBeNull();
    for (const conditions of [stale(), early()]) {
      expect(conditions).toMatchObject({ ofRecords: true });
      expect(firstUnmet(conditions, resumed, minute(52))).toMatchObject({ fetch: expect.anything() });
      expect(firstUnmet(conditions, [pass(minute(51), { resumed: false })], minute(52))).toBeNull();
    }
  });

  test("no fetch of the future is required", () => {
    const ranges = [
      { from: NOON, to: minute(5) },
      { from: minute(7), to: minute(9) },
    ];
    const missing = (now: number) => missingOf({ ranges, since: NOON }, [], now);
    expect(missing(minute(3))).toEqual([{ from: NOON, to: minute(3) }]);
    expect(missing(minute(7))).toEqual([{ from: NOON, to: minute(5) }]);
    expect(missing(minute(8))).toEqual([ranges[0], { from: minute(7), to: minute(8) }]);
  });

  test("a pass that began too early for reports of its whole time counts for none of it", () => {
    const fetched = { ranges: [at(0)], since: NOON, mayLag: { until: minute(90), lagMs: HOUR_MS } };
    expect(missingOf(fetched, [pass(minute(60), { from: NOON })], minute(99))).toEqual([at(0)]);
    expect(missingOf(fetched, [pass(minute(60) + 1, { from: NOON })], minute(99))).toEqual([]);
    expect(missingOf(fetched, [pass(minute(90), { from: NOON })], minute(99))).toEqual([]);
  });
});

describe("a further record of the bets may lie in time that was not fetched", () => {
  const pendingOf = (records: StoredRecord[], bets: LedgerBet[]) =>
    assessPairs(records, bets, SETTINGS).flatMap(({ pending }) => pending ?? [])[0] as PendingDifference;
  const both = pendingOf([listed({ stake: "9" })], [held()]);
  const mayMiss = (from: number, to: number, pending = both) =>
    mayMissRecords(pending, [{ from: minute(from), to: minute(to) }], GRACES);

  test("from the overlap before the first entry to the last entry", () => {
    expect(mayMiss(-60, -25)).toBe(false);
    expect(mayMissRecords(both, [{ from: minute(-60), to: minute(-25) + 1 }], GRACES)).toBe(true);
    expect(mayMiss(-10, 60)).toBe(true);
    expect(mayMissRecords(both, [{ from: minute(-10) + 1, to: minute(60) }], GRACES)).toBe(false);
    expect(mayMissRecords(both, [], GRACES)).toBe(false);
    const apart = [
      { from: minute(-90), to: minute(-80) },
      { from: minute(-15), to: minute(-14) },
    ];
    expect(mayMissRecords(both, apart, GRACES)).toBe(true);
  });

  test("only if both sides have something: otherwise the missing side is fetched anyway", () => {
    expect(mayMiss(-60, 60)).toBe(true);
    expect(mayMiss(-60, 60, pendingOf([], [held()]))).toBe(false);
    expect(mayMiss(-60, 60, pendingOf([listed()], []))).toBe(false);
  });
});
