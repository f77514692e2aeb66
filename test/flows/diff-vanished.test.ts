import { beforeEach, expect, test } from "vitest";
import type { BetRecord } from "../../src/bet.ts";
import { type Instant, parseInstant } from "../../src/clock.ts";
import { parseConfig } from "../../src/config-file.ts";
import { fetchNextWindow } from "../../src/flows/fetch-next-window.ts";
import { silentLog } from "../../src/log.ts";
import { planWindows } from "../../src/sync/store.ts";
import { callbacksOf, iso, minute, recordOf, useDiffWorld } from "./diff-world.ts";

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

/** Fetches everything that is planned, a page for each record, from what is listed now. */
async function fetchPlanned(): Promise<number> {
  const fetchPage = async ({ from, to, nextId }: { from: Instant; to: Instant; nextId: string | null }) => {
    const inRange = listed.filter((record) => from <= listedAt(record) && listedAt(record) < to);
    const at = Number(nextId ?? 0);
    const next = at + 1 < inRange.length ? String(at + 1) : null;
    const page = { records: inRange.slice(at, at + 1), rejected: [], tookMs: 1 };
    return { ...page, nextId: next, requestedAt: clock.now() };
  };
  const context = { sql, config, clock, log: silentLog, fetchPage };
  const never = new AbortController().signal;
  let windows = 0;
  while (
    (await fetchNextWindow(context, "P1", ["live", "confirm", "resweep"], clock.now(), never)) !== null
  ) {
    windows += 1;
  }
  return windows;
}

/** Plans the hour of the bet to be fetched again, and fetches it. */
async function sweep(minutes: number): Promise<void> {
  clock.set(minute(minutes));
  await planWindows(sql, "P1", "resweep", [{ from: minute(-60), to: minute(0) }]);
  await fetchPlanned();
}
async function settle(...looks: number[]): Promise<void> {
  for (const minutes of looks) {
    await diffAt(minutes);
    await fetchPlanned();
  }
}
const absences = async () => (await sql`select from record_absences`).length;

test("a record that two complete fetches in a row do not return leaves a vanished bet, until it is returned", async () => {
  await sweep(60);
  await settle(61);
  expect(await mismatches()).toEqual([]);
  listed = [];
  await sweep(120);
  expect(await absences()).toBe(1);
  await diffAt(121);
  expect(await mismatches()).toEqual([]);
  expect(await fetchPlanned()).toBeGreaterThan(0);
  await settle(122, 123, 124);
  expect(await mismatches()).toEqual(["vanished-at-provider of bet-1 is open"]);

  listed = [recordOf("25")];
  await sweep(180);
  await settle(181);
  expect(await mismatches()).toEqual(["vanished-at-provider of bet-1 is resolved"]);
  expect(await absences()).toBe(0);
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

test("a record that the provider lists by another of its times has not vanished from where it is accounted", async () => {
  listed = [recordOf("25", { accountingDate: iso(30) })];
  listedAt = () => minute(-5);
  await sweep(60);
  clock.set(minute(61));
  await planWindows(sql, "P1", "resweep", [{ from: minute(0), to: minute(60) }]);
  await fetchPlanned();
  await settle(62, 63, 64, 65, 300);
  expect(await mismatches()).toEqual([]);
  expect(await sql`select elsewhere from record_absences`).toEqual([{ elsewhere: true }]);
});

test("a window that was not read whole by one worker says nothing of what it did not return", async () => {
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

test("fetching again what is unchanged writes nothing about any record", async () => {
  await sweep(60);
  const before = await sql`select xmin::text, ctid::text from bet_records`;
  await sweep(120);
  expect(await sql`select xmin::text, ctid::text from bet_records`).toEqual(before);
  expect(await absences()).toBe(0);
});
