import { describe, expect, test } from "vitest";
import {
  advanceIncident,
  beginIncident,
  type Incident,
  type IncidentNews,
  isWorthReporting,
  joins,
  newsOf,
} from "../../src/alerts/incident.ts";
import { HOUR_MS, MINUTE_MS, NOON } from "../support/examples.ts";

const group = { productId: "P1", kind: "payout-differs", backfillId: 0 } as const;
const incident = (fields: Partial<Incident> = {}): Incident => ({
  ...beginIncident(group, null, NOON),
  total: 1,
  open: 1,
  ...fields,
});

describe("a mismatch belongs to the incident before it", () => {
  test.each<[string, Partial<Incident>, number, boolean]>([
    ["within the gap", {}, 59, true],
    ["at the end of the gap", {}, 60, true],
    ["not after the gap", {}, 61, false],
    [
      "within the gap of the last mismatch, not of the first one",
      { lastAt: NOON + 50 * MINUTE_MS },
      100,
      true,
    ],
    ["but not where the incident is over", { endedAt: NOON }, 1, false],
  ])("%s", (_, fields, minutes, belongs) => {
    expect(joins(incident(fields), NOON + minutes * MINUTE_MS, HOUR_MS)).toBe(belongs);
  });

  test("but to no incident if none exists", () => {
    expect(joins(null, NOON, HOUR_MS)).toBe(false);
  });
});

test("an incident that begins after another one is the next of its product and kind", () => {
  expect(beginIncident(group, incident({ number: 4 }), NOON)).toEqual({
    ...group,
    number: 5,
    beganAt: NOON,
    lastAt: NOON,
    total: 0,
    open: 0,
    alertedTotal: 0,
    endedAt: null,
  });
});

describe("an incident counts", () => {
  const at = NOON + MINUTE_MS;
  test.each<[string, { joined: number; returned: number; left: number }, Partial<Incident>]>([
    [
      "the mismatches that join, and when",
      { joined: 2, returned: 0, left: 0 },
      { total: 12, open: 7, lastAt: at },
    ],
    ["mismatches that come back, which it had before", { joined: 0, returned: 1, left: 0 }, { open: 6 }],
    ["what leaves", { joined: 0, returned: 0, left: 4 }, { open: 1 }],
    ["its end when the last mismatch leaves", { joined: 0, returned: 0, left: 5 }, { open: 0, endedAt: at }],
    [
      "no end where mismatches join while others leave",
      { joined: 1, returned: 0, left: 5 },
      { total: 11, open: 1, lastAt: at },
    ],
  ])("%s", (_, counts, expected) => {
    const before = incident({ total: 10, open: 5 });
    expect(advanceIncident(before, counts, at)).toEqual({ ...before, ...expected });
  });
});

describe("an incident reports", () => {
  test.each<[string, Partial<Incident>, boolean, IncidentNews | null]>([
    ["that it has begun", { total: 1, open: 1 }, true, "opened"],
    ["that it has begun, at once with a thousand mismatches", { total: 1000, open: 1000 }, true, "opened"],
    ["nothing while its money is too little", { total: 50, open: 50 }, false, null],
    ["nothing more at nine times its size", { total: 9, open: 9, alertedTotal: 1 }, true, null],
    ["that it has grown tenfold", { total: 10, open: 10, alertedTotal: 1 }, true, "grown"],
    [
      "that it has grown tenfold, although most of it is over",
      { total: 10, open: 1, alertedTotal: 1 },
      true,
      "grown",
    ],
    ["nothing between two tenfold growths", { total: 99, open: 9, alertedTotal: 10 }, true, null],
    ["that it has grown tenfold again", { total: 100, open: 9, alertedTotal: 10 }, true, "grown"],
    ["only one growth, however far it has grown", { total: 5000, open: 9, alertedTotal: 1 }, true, "grown"],
    [
      "tenfold growth although its money is too little by now",
      { total: 10, open: 1, alertedTotal: 1 },
      false,
      "grown",
    ],
    ["that it is over", { total: 3, open: 0, alertedTotal: 3 }, true, "over"],
    ["that it is over, without an earlier growth", { total: 30, open: 0, alertedTotal: 3 }, true, "over"],
    [
      "a late success at once, although its money is too little",
      { kind: "transfer-late-success", total: 1, open: 1 },
      false,
      "opened",
    ],
    [
      "a top-up's late success at once, too",
      { kind: "top-up-late-success", total: 1, open: 1 },
      false,
      "opened",
    ],
    [
      "each further late success at once",
      { kind: "transfer-late-success", total: 2, open: 2, alertedTotal: 1 },
      false,
      "grown",
    ],
    ["no end where it reported no beginning", { total: 3, open: 0, alertedTotal: 0 }, true, null],
  ])("%s", (_, fields, reachesMinimum, news) => {
    expect(newsOf(incident(fields), reachesMinimum)).toBe(news);
  });
});

describe("money is worth an alert", () => {
  const minimum = { THB: "100.00", USD: "3" };
  test.each<[string, [string | null, string][], boolean]>([
    ["not below its currency's minimum", [["THB", "99.99"]], false],
    ["at its minimum", [["THB", "100"]], true],
    ["above its minimum", [["THB", "100.0000001"]], true],
    [
      "not where each currency stays below its own",
      [
        ["THB", "99"],
        ["USD", "2.99"],
      ],
      false,
    ],
    [
      "where one of several reaches its own",
      [
        ["THB", "1"],
        ["USD", "3.00"],
      ],
      true,
    ],
    [
      "in a currency that has no minimum, even an amount of 0",
      [
        ["THB", "1"],
        ["EUR", "0"],
      ],
      true,
    ],
    ["where no currency is known", [[null, "0"]], true],
    ["with more digits than a float holds", [["THB", "99.99999999999999999999"]], false],
  ])("%s", (_, sums, isWorth) => {
    const atRisk = sums.map(([currency, amount]) => ({ currency, amount }));
    expect(isWorthReporting(atRisk, minimum)).toBe(isWorth);
  });
});
