import { beforeEach, describe, expect, test } from "vitest";
import type { BetRecord, FetchBetPage } from "../../../src/bet.ts";
import { type Clock, type Instant, parseInstant } from "../../../src/clock.ts";
import { parseConfig } from "../../../src/config-file.ts";
import { ReconError } from "../../../src/errors.ts";
import { silentLog } from "../../../src/log.ts";
import { planWindows } from "../../../src/sync/window-store.ts";
import { BEYOND_ENDS_MS, hoursOf, type TimeRange } from "../../../src/window.ts";
import { emptyTables } from "../../support/database.ts";
import { amount, exampleEntry, exampleSettle } from "../../support/examples.ts";
import { fetchNextWindow } from "../../support/pull-product.ts";
import { callbacksOf, iso, minute, recordOf, useDiffWorld } from "./comparison-world.ts";

const { sql, clock, diffAt, receive, mismatches, ledgerBegins } = useDiffWorld();
const config = parseConfig({ products: [{ productId: "P1" }] });

/** What the provider lists now, and by which of a record's times. */
let listed: BetRecord[] = [];
let listedAt: (record: BetRecord) => Instant;
const accounted = (record: BetRecord) => parseInstant(record.accountingDate, "accountingDate");

beforeEach(async () => {
  await ledgerBegins();
  listed = [recordOf("25")];
  listedAt = accounted;
  await receive(...callbacksOf("25"));
});

/** Fetches everything that is planned, a page for each record, from the present list. */
async function fetchPlanned(isGap: (range: TimeRange) => boolean = () => false): Promise<TimeRange[]> {
  const fetched: TimeRange[] = [];
  const fetchPage: FetchBetPage = async ({ from, to, nextId }) => {
    if (isGap({ from, to })) throw new ReconError("provider-rejected", "the provider answers with code 1");
    const inRange = listed.filter((record) => from <= listedAt(record) && listedAt(record) < to);
    const at = Number(nextId ?? 0);
    const next = at + 1 < inRange.length ? String(at + 1) : null;
    if (next === null) fetched.push({ from, to });
    const page = { records: inRange.slice(at, at + 1), rejected: [], tookMs: 1 };
    return { ...page, nextId: next, requestedAt: clock.now() };
  };
  const context = { sql, config, clock: stillClock, log: silentLog, fetchPage };
  const never = new AbortController().signal;
  while ((await fetchNextWindow(context, "P1", ["live", "confirm", "resweep"], clock.now(), never)) !== null);
  return fetched;
}
/** Waits take no time: what fails is tried again at once. */
const stillClock: Clock = { now: clock.now, sleep: async () => {} };

/** Plans another fetch of a range, by default the hour of the bet, and fetches it. */
async function sweep(minutes: number, range = { from: minute(-60), to: minute(0) }): Promise<void> {
  clock.set(minute(minutes));
  await planWindows(sql, "P1", "resweep", [range]);
  await fetchPlanned();
}
async function settle(...times: number[]): Promise<void> {
  for (const minutes of times) {
    await diffAt(minutes);
    await fetchPlanned();
  }
}
const every = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, index) => from + index);
/** Each minute at first, then every fifth: a mismatch that was open for a moment stays listed. */
const often = (from: number, to: number) =>
  every(from, to).filter((minutes) => minutes < from + 15 || minutes % 5 === 0);
const absences = async () => (await sql`select from record_absences`).length;

test("a bet has vanished when two complete fetches do not return its record, until the record is returned", async () => {
  await sweep(60);
  await settle(61);
  expect(await mismatches()).toEqual([]);
  listed = [];
  await sweep(120);
  expect(await absences()).toBe(1);
  await diffAt(121);
  expect(await fetchPlanned()).toEqual([]);
  await diffAt(122);
  expect(await fetchPlanned()).toEqual([
    ...hoursOf({ from: minute(-10), to: minute(0) }, minute(122)).map(({ from, to }) => ({
      from: from - BEYOND_ENDS_MS,
      to: to + BEYOND_ENDS_MS,
    })),
  ]);
  await settle(123);
  expect(await mismatches()).toEqual([]);
  await settle(...every(124, 136));
  expect(await mismatches()).toEqual(["vanished-at-provider of bet-1 is open"]);

  listed = [recordOf("25")];
  await sweep(180);
  await settle(181);
  expect(await mismatches()).toEqual(["vanished-at-provider of bet-1 is resolved"]);
  expect(await absences()).toBe(0);
});

test("an absence stays known when the windows that decided it are deleted", async () => {
  await sweep(60);
  listed = [];
  await sweep(120);
  await settle(...every(121, 127));
  await emptyTables(sql, ["windows"]);
  clock.set(minute(200));
  await receive(
    ...callbacksOf("25", { requestId: "again", moved: amount("0") }).map((one) => ({
      ...one,
      entryId: `${one.entryId} again`,
    })),
  );
  await settle(...every(201, 205));
  expect(await mismatches()).toEqual(["vanished-at-provider of bet-1 is open"]);
});

describe("a bet that the ledger took back and the provider stops listing", () => {
  test.each([
    { name: "a settled bet", callback: "voidSettled", status: "SETTLED", payoutAmount: amount("25") },
    { name: "an open bet", callback: "cancelBets", status: "REFUND", payoutAmount: null },
  ] as const)("is never a mismatch: $name", async ({ callback, status, payoutAmount }) => {
    await emptyTables(sql, ["callback_entries", "diff_marks"]);
    await ledgerBegins();
    const placed = exampleEntry();
    await receive(...(callback === "cancelBets" ? [placed] : [placed, exampleSettle({ payoutAmount })]));
    listed = [
      callback === "cancelBets"
        ? recordOf("0", { betStatus: "OPEN", payoutStatus: "UNKNOWN" })
        : recordOf("25"),
    ];
    await sweep(60);
    await settle(61);
    clock.set(minute(62));
    await receive(
      exampleEntry({ callback, status, payoutAmount, occurredAt: minute(62), receivedAt: minute(62) }),
    );
    listed = [];
    for (const minutes of often(63, 200)) {
      await settle(minutes);
      expect(await mismatches()).toEqual([]);
    }
    expect(await sql`select from record_absences where absent_since is not null`).toHaveLength(1);
    expect(await sql`select from diff_marks`).toHaveLength(0);
  });
});

test("a record that disappears before the callback that explains it opens nothing within callbackGrace", async () => {
  await sweep(60);
  await settle(61);
  listed = [];
  await sweep(120);
  for (const minutes of every(121, 133)) {
    await settle(minutes);
    expect(await mismatches()).toEqual([]);
  }
  const at = { occurredAt: minute(120), receivedAt: minute(133) };
  const taken = { callback: "voidSettled", status: "SETTLED", payoutAmount: amount("25") } as const;
  await receive(exampleEntry({ ...taken, ...at }));
  for (const minutes of often(134, 200)) {
    await settle(minutes);
    expect(await mismatches()).toEqual([]);
  }
});

describe("a correction that moves a record to a later date", () => {
  const moved = recordOf("25", { accountingDate: iso(90), updatedDate: iso(90) });

  test("opens nothing: the record is searched up to the fetch that missed it, and found", async () => {
    await sweep(60);
    listed = [moved];
    await sweep(100);
    for (const minutes of every(101, 130)) {
      await settle(minutes);
      expect(await mismatches()).toEqual([]);
    }
    expect(await absences()).toBe(0);
    expect(await sql`select from diff_marks`).toHaveLength(0);
  });

  test("opens nothing while its new time cannot be fetched", async () => {
    const isThere = ({ from, to }: TimeRange) => from <= minute(90) && minute(90) < to;
    await sweep(60);
    listed = [moved];
    await sweep(100);
    for (const minutes of often(101, 150)) {
      await diffAt(minutes);
      await fetchPlanned(isThere);
      expect(await mismatches()).toEqual([]);
    }
    expect(await absences()).toBe(1);
    await settle(...every(215, 225));
    expect(await mismatches()).toEqual([]);
    expect(await absences()).toBe(0);
  });
});

describe("while a record is in doubt", () => {
  test("a mismatch about it stays unchanged, and changes when the absence is certain", async () => {
    listed = [recordOf("20")];
    await sweep(60);
    await settle(80);
    expect(await mismatches()).toEqual(["payout-differs of bet-1 is open"]);
    listed = [];
    await sweep(120);
    await settle(121, 122, 123);
    expect(await mismatches()).toEqual(["payout-differs of bet-1 is open"]);
    await settle(...every(124, 136));
    expect(await mismatches()).toEqual([
      "payout-differs of bet-1 is resolved",
      "vanished-at-provider of bet-1 is open",
    ]);
  });

  test("a mismatch does not end because the ledger now agrees with what the provider once listed", async () => {
    await emptyTables(sql, ["callback_entries", "diff_marks"]);
    await ledgerBegins();
    await receive(exampleEntry());
    await sweep(60);
    await settle(...every(75, 78));
    expect(await mismatches()).toEqual(["missing-settlement of bet-1 is open"]);
    listed = [];
    await sweep(120);
    await receive(exampleSettle({ payoutAmount: amount("25") }));
    await settle(121, 122, 123);
    expect(await mismatches()).toEqual(["missing-settlement of bet-1 is open"]);
    await settle(...every(124, 137));
    expect(await mismatches()).toEqual([
      "missing-settlement of bet-1 is resolved",
      "vanished-at-provider of bet-1 is open",
    ]);
  });

  test("a record that no callback knows stays missing in the ledger until its absence is certain", async () => {
    await emptyTables(sql, ["callback_entries", "diff_marks"]);
    await ledgerBegins();
    await sweep(60);
    await settle(80);
    listed = [];
    await sweep(120);
    await settle(121, 122, 123);
    expect(await mismatches()).toEqual(["missing-in-ledger of bet-1 is open"]);
    await settle(124, 125);
    expect(await mismatches()).toEqual(["missing-in-ledger of bet-1 is resolved"]);
  });

  test("its contradiction with itself opens nothing", async () => {
    await emptyTables(sql, ["callback_entries", "diff_marks"]);
    await ledgerBegins();
    await receive(...callbacksOf("0"));
    listed = [recordOf("0", { payoutStatus: "WIN" })];
    await sweep(60);
    listed = [];
    await sweep(62);
    await settle(...every(63, 90));
    expect(await mismatches()).toEqual(["vanished-at-provider of bet-1 is open"]);
  });
});

test("records of long ago share the search of all days since then", async () => {
  const days = 12;
  const at = (index: number) => minute(-days * 24 * 60 + index);
  const old = [0, 70].map((index) =>
    recordOf("25", {
      betId: `old-${index}`,
      id: `old-${index}`,
      roundId: `old-${index}`,
      accountingDate: new Date(at(index)).toISOString(),
      updatedDate: new Date(at(index)).toISOString(),
    }),
  );
  await emptyTables(sql, ["callback_entries", "diff_marks"]);
  await receive(
    exampleEntry({
      callback: "placeTips",
      username: "zoe",
      txnId: "long-ago",
      occurredAt: at(-9_000),
      receivedAt: at(-9_000),
    }),
    ...old.flatMap(({ betId }) =>
      callbacksOf("25", { txnId: betId, roundId: betId, occurredAt: at(0), receivedAt: at(0) }),
    ),
  );
  listed = old;
  await sweep(0, { from: at(0), to: at(60) });
  await sweep(1, { from: at(60), to: at(120) });
  listed = [];
  await sweep(10, { from: at(0), to: at(60) });
  let requests = 0;
  for (const minutes of every(11, 80)) {
    // The other record is missed in the middle of the search for the first one.
    if (minutes === 16) await sweep(16, { from: at(60), to: at(120) });
    await diffAt(minutes);
    requests += (await fetchPlanned()).length;
  }
  expect(requests).toBeGreaterThan(days * 24);
  expect(requests).toBeLessThan(days * 24 * 1.2);
  expect(await mismatches()).toEqual(["vanished-at-provider of old-0 is open"]);
  for (let minutes = 81; minutes < 40 * 60; minutes += 120) await settle(minutes);
  expect(await mismatches()).toEqual([
    "vanished-at-provider of old-0 is open",
    "vanished-at-provider of old-70 is open",
  ]);
});

test("a record that the next fetch returns again has not vanished", async () => {
  await sweep(60);
  listed = [];
  await sweep(120);
  await diffAt(121);
  listed = [recordOf("25")];
  await fetchPlanned();
  await settle(122, 123, 300);
  expect(await mismatches()).toEqual([]);
  expect(await absences()).toBe(0);
});

test("a record that the provider lists by another of its times has not vanished from its accounting date", async () => {
  // In another hour of confirm fetches than minute -5.
  listed = [recordOf("25", { accountingDate: iso(50) })];
  listedAt = () => minute(-5);
  await sweep(60);
  clock.set(minute(61));
  await planWindows(sql, "P1", "resweep", [{ from: minute(0), to: minute(60) }]);
  await fetchPlanned();
  await settle(62, 63, 64, 65, 300);
  expect(await mismatches()).toEqual([]);
  expect(await sql`select elsewhere from record_absences`).toEqual([{ elsewhere: true }]);
});

describe("a record that the provider lists by its updatedDate, after a correction that left its accountingDate", () => {
  beforeEach(async () => {
    await sweep(60);
    await settle(61);
    listed = [recordOf("25", { updatedDate: iso(65) })];
    listedAt = (record) => parseInstant(record.updatedDate, "updatedDate");
    await sweep(70, { from: minute(60), to: minute(68) });
    await sweep(75);
    await settle(...every(76, 80));
    expect(await mismatches()).toEqual([]);
    listed = [];
  });

  test("opens nothing when the ledger takes the bet back and the provider stops listing it", async () => {
    clock.set(minute(110));
    const taken = { callback: "voidSettled", status: "SETTLED", payoutAmount: amount("25") } as const;
    await receive(exampleEntry({ ...taken, occurredAt: minute(110), receivedAt: minute(110) }));
    for (const minutes of often(111, 200)) {
      await settle(minutes);
      expect(await mismatches()).toEqual([]);
    }
    expect(await sql`select from diff_marks`).toHaveLength(0);
  });

  test("has vanished when no fetch of the time in which it was listed returns it, in any number of parts", async () => {
    await sweep(120, { from: minute(40), to: minute(66) });
    await settle(...every(121, 123));
    await sweep(124, { from: minute(66), to: minute(126) });
    await settle(...every(127, 150));
    expect(await mismatches()).toEqual(["vanished-at-provider of bet-1 is open"]);
  });
});

test("a window that several workers have read proves no absence", async () => {
  await sweep(60);
  listed = [
    recordOf("1", { betId: "b2", id: "r2", roundId: "x" }),
    recordOf("25"),
    recordOf("1", { betId: "b3", id: "r3", roundId: "y" }),
  ];
  await sweep(100);
  clock.set(minute(120));
  await planWindows(sql, "P1", "resweep", [{ from: minute(-60), to: minute(0) }]);
  await sql`update windows set cursor = '2', cursor_at = ${clock.now()}, started_at = ${clock.now()} where status = 'planned'`;
  await fetchPlanned();
  expect(await absences()).toBe(0);
});

test("a late fetch of which two workers read a part each confirms nothing: the second does not know what the first one got", async () => {
  await sweep(0);
  clock.set(minute(1));
  const voided = { occurredAt: minute(1), receivedAt: minute(1), payoutAmount: amount("25") };
  await receive(exampleEntry({ callback: "voidSettled", status: "SETTLED", ...voided }));
  listed = [
    recordOf("1", { betId: "b2", id: "r2", roundId: "x" }),
    recordOf("1", { betId: "b3", id: "r3", roundId: "y" }),
  ];
  await diffAt(61);
  await sql`update windows set cursor = '1', cursor_at = ${clock.now()}, started_at = ${clock.now()} where status = 'planned'`;
  await fetchPlanned();
  for (const minutes of every(62, 75)) {
    await diffAt(minutes);
    expect(await mismatches()).not.toContain("status-differs of bet-1 is open");
    await fetchPlanned();
  }
});

test("a repeated fetch of unchanged records writes nothing about them", async () => {
  await sweep(60);
  const before = await sql`select xmin::text, ctid::text from bet_records`;
  await sweep(120);
  expect(await sql`select xmin::text, ctid::text from bet_records`).toEqual(before);
  expect(await absences()).toBe(0);
});
