import { beforeEach, expect, test } from "vitest";
import { formatInstant } from "../../../src/clock.ts";
import type { PullContext } from "../../../src/flows/context.ts";
import { planBackfill, requestBackfill } from "../../../src/flows/pull/backfill.ts";
import { openBackfillRunner } from "../../../src/flows/pull/run-backfills.ts";
import { readCoverageOf } from "../../../src/flows/read/read-coverage.ts";
import { readStatus } from "../../../src/flows/read/read-status.ts";
import type { TimeRange } from "../../../src/window.ts";
import { emptyTables, useDatabase } from "../../support/database.ts";
import { HOUR_MS, NOON } from "../../support/examples.ts";
import { listedRecords, openPastWorld, PLAYED, PRODUCT } from "../../support/past-world.ts";
import { pullProduct } from "../../support/pull-product.ts";

const { sql } = useDatabase();
const never = new AbortController().signal;

beforeEach(async () => {
  await emptyTables(sql);
});

const read = (context: PullContext, range: TimeRange) =>
  readCoverageOf(context, { productId: PRODUCT, ...range });
const pull = (context: PullContext) => pullProduct(context, PRODUCT, never);
const iso = ({ from, to }: TimeRange) => ({ from: formatInstant(from), to: formatInstant(to) });

const MIDNIGHT = NOON - 12 * HOUR_MS;
const DAY = { from: MIDNIGHT, to: MIDNIGHT + 24 * HOUR_MS };
const MORNING = { from: MIDNIGHT, to: NOON };
/** The provider does not answer for this time before the recovery. */
const STALLED = { from: MIDNIGHT + 7 * HOUR_MS, to: MIDNIGHT + 8 * HOUR_MS };
const RECOVERY = NOON + 6 * HOUR_MS;

const openStalledWorld = () =>
  openPastWorld(sql, {
    since: formatInstant(MIDNIGHT),
    // Windows end at full hours, so the stalled hour is one of them.
    pull: { attempts: 2, windowMin: "PT15M", settleDelay: "PT0S" },
    faults: [
      {
        when: { hoursUtc: [7], between: [formatInstant(NOON), formatInstant(RECOVERY)] },
        do: { kind: "status", status: 408 },
      },
    ],
  });

const readPlace = async (context: PullContext) => {
  const { stalled, gaps, head, watermark } = (await readStatus(context)).products[0] ?? {};
  return { stalled, gaps, head, watermark };
};

test("a day with a stalled hour has exactly that gap with its reason, and none after the provider has recovered", async () => {
  const { context, clock } = await openStalledWorld();
  await pull(context);
  const stalled = await read(context, DAY);
  expect(stalled).toMatchObject({ productId: PRODUCT, ...iso(DAY), complete: false });
  expect(stalled.gaps).toMatchObject([{ reason: "provider-http-408" }]);
  // Shorter windows are tried as long as the product is not out, so the gap has at most parts of its neighbours.
  const [gap] = stalled.gaps;
  expect(Date.parse(gap?.from ?? "")).toBeGreaterThan(STALLED.from - HOUR_MS);
  expect(Date.parse(gap?.from ?? "")).toBeLessThanOrEqual(STALLED.from);
  expect(Date.parse(gap?.to ?? "")).toBeGreaterThanOrEqual(STALLED.to);
  expect(Date.parse(gap?.to ?? "")).toBeLessThan(STALLED.to + HOUR_MS);
  expect(await readPlace(context)).toMatchObject({ stalled: true, gaps: 1, watermark: gap?.from });

  clock.set(RECOVERY);
  await pull(context);
  const recovered = await read(context, { ...DAY, to: NOON });
  expect(recovered).toMatchObject({ complete: true, gaps: [] });
  const { head, ...place } = await readPlace(context);
  expect(place).toEqual({ stalled: false, gaps: 0, watermark: head });
});

/** Windows that end seconds within the hour fail too. */
const AROUND = { from: STALLED.from - HOUR_MS, to: STALLED.to + HOUR_MS };

test("a gap that a backfill has fetched is no gap, even before live pulling tries again", async () => {
  const { context, clock } = await openStalledWorld();
  await pull(context);
  clock.set(RECOVERY);
  await requestBackfill(context, await planBackfill(context, { productId: PRODUCT, ...AROUND }));
  await openBackfillRunner(context)(never);
  expect(await read(context, MORNING)).toMatchObject({ complete: true, gaps: [] });
  const { head, ...place } = await readPlace(context);
  expect(place).toEqual({ stalled: false, gaps: 0, watermark: head });
});

test("time that no window covers is a gap of its own, up to the settled time", async () => {
  const begin = NOON - 3 * HOUR_MS;
  const { context } = await openPastWorld(sql, { since: formatInstant(begin) });
  await pull(context);
  const { gaps } = await read(context, { from: begin - HOUR_MS, to: NOON + HOUR_MS });
  expect(gaps).toEqual([{ ...iso({ from: begin - HOUR_MS, to: begin }), reason: "not-fetched" }]);
  expect(await read(context, { from: NOON, to: NOON + HOUR_MS })).toMatchObject({
    complete: true,
    windows: [],
  });
});

test("the windows say what was fetched, in the order of time, for any reason of the fetch", async () => {
  const { context } = await openPastWorld(sql, {
    since: formatInstant(PLAYED.from),
    pull: { resweepAfter: [] },
  });
  await pull(context);
  const again = { from: PLAYED.from + HOUR_MS, to: PLAYED.from + 2 * HOUR_MS };
  await requestBackfill(context, await planBackfill(context, { productId: PRODUCT, ...again }));
  await openBackfillRunner(context)(never);
  const { windows } = await read(context, again);
  const fetched = (range: TimeRange) => {
    const records = listedRecords(range).length;
    return {
      ...iso(range),
      records,
      pages: Math.max(1, Math.ceil(records / 25)),
      fetchedAt: formatInstant(NOON),
    };
  };
  expect(windows.map(({ kind }) => kind)).toEqual(expect.arrayContaining(["live", "backfill"]));
  expect(windows.map(({ from }) => from)).toEqual(windows.map(({ from }) => from).toSorted());
  for (const { kind, ...window } of windows) {
    const range = { from: Date.parse(window.from), to: Date.parse(window.to) };
    expect([kind, window]).toEqual([kind, fetched(range)]);
  }
});
