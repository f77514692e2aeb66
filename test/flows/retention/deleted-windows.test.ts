/** Time whose windows were deleted was fetched: nothing calls it missing, and nothing concludes when it was fetched. */

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { formatInstant, type Instant } from "../../../src/clock.ts";
import { readWhyEmpty, whyOpen } from "../../../src/flows/closing/why-open.ts";
import { planBackfill } from "../../../src/flows/pull/backfill.ts";
import { readCoverageOf, readWithoutWindows } from "../../../src/flows/read/read-coverage.ts";
import { readReport } from "../../../src/flows/reports/read-report.ts";
import { dropClosed } from "../../../src/flows/retention/drop-closed.ts";
import { appendEntries } from "../../../src/ledger/store.ts";
import { readReportDay } from "../../../src/ops/input/report-query.ts";
import { readCoverage, readPasses } from "../../../src/sync/coverage-store.ts";
import type { TimeRange } from "../../../src/window.ts";
import { callRecon } from "../../cli/call-recon.ts";
import { createTestClock } from "../../support/clock.ts";
import { emptyTables, useDatabase } from "../../support/database.ts";
import { exampleEntry, HOUR_MS, NOON } from "../../support/examples.ts";
import { OWN_PAGE, serveOps } from "../../support/ops-browser.ts";
import { DAY_MS, TODAY, useClosing } from "../closing/closing-world.ts";

const { sql, url } = useDatabase();
const never = new AbortController().signal;
const clock = createTestClock(NOON);
const SETTINGS = { products: [{ productId: "P1" }], retain: { windows: "P40D" } };
const { context, fetched } = useClosing(sql, clock, SETTINGS);

const daysAgo = (days: number): Instant => TODAY - days * DAY_MS;
const hours = (day: number, from: number, to: number): TimeRange => ({
  from: daysAgo(day) + from * HOUR_MS,
  to: daysAgo(day) + to * HOUR_MS,
});
const dayOf = (days: number) => formatInstant(daysAgo(days)).slice(0, 10);
const iso = ({ from, to }: TimeRange) => ({ from: formatInstant(from), to: formatInstant(to) });
const ask = (range: TimeRange) => ({ productId: "P1", ...range });
const coverage = (range: TimeRange) => readCoverageOf(context(), ask(range));
const remembered = async () =>
  (await sql<{ times: string }[]>`select times::text from fetched_times`).map(({ times }) => times);
const window = (range: TimeRange, fields: Record<string, string | number | null> = {}) => sql`
  insert into windows ${sql({
    product_id: "P1",
    kind: "backfill",
    from_at: range.from,
    to_at: range.to,
    status: "done",
    started_at: range.to,
    fetched_at: range.to,
    ...fields,
  })}`;
/** Closes all days from 70 days ago to yesterday, and deletes what is older than 40 days. */
async function closeAndDrop(): Promise<number | undefined> {
  await sql`
    insert into closed_days (day, zone, from_at, to_at, number, closed_at, hash, statement)
    values ('2026-01-01', 'UTC', ${daysAgo(70)}, ${daysAgo(1)}, 1, ${NOON}, 'hash', '{}')`;
  return (await dropClosed(context(), never, { rows: 100, batches: 100 }))["windows"];
}

beforeEach(async () => {
  await emptyTables(sql);
});

describe("time whose windows were deleted", () => {
  test("has no gap, without windows to show; what was never fetched stays a gap", async () => {
    await fetched(daysAgo(60), daysAgo(51));
    await fetched(daysAgo(50), daysAgo(1));
    expect(await closeAndDrop()).toBe(19 * 24 - 1);
    const day = hours(55, 0, 24);
    expect(await coverage(day)).toEqual({ ...ask(day), ...iso(day), complete: true, gaps: [], windows: [] });
    expect(await readWithoutWindows(context(), ask(day))).toEqual([iso(day)]);
    const { complete, gaps } = await coverage({ from: daysAgo(52), to: daysAgo(1) });
    expect([complete, gaps]).toEqual([
      false,
      [{ ...iso({ from: daysAgo(51), to: daysAgo(50) }), reason: "not-fetched" }],
    ]);
  });

  test("needs one row for each product, however many windows are deleted, and whenever", async () => {
    await fetched(daysAgo(60), daysAgo(1));
    await fetched(daysAgo(60), daysAgo(1), "P2");
    await closeAndDrop();
    clock.set(NOON + 5 * DAY_MS);
    await dropClosed(context(), never);
    clock.set(NOON);
    // The window that ends where the kept time begins stays.
    const all = { from: daysAgo(60), to: daysAgo(35) - HOUR_MS };
    expect(
      await sql`select product_id as "productId", lower(times) as "from", upper(times) as "to" from fetched_times
        where times = tstzmultirange(range_merge(times)) order by product_id`,
    ).toEqual([
      { productId: "P1", ...all },
      { productId: "P2", ...all },
    ]);
  });

  test("was not fetched by windows that were split or cancelled", async () => {
    await window(hours(60, 0, 1), { status: "split", fetched_at: null });
    await window(hours(60, 2, 3), { status: "cancelled", fetched_at: null });
    expect(await closeAndDrop()).toBe(2);
    expect(await remembered()).toEqual([]);
    expect(await coverage(hours(60, 0, 3))).toMatchObject({ complete: false });
  });

  test("was fetched before, for the dry run of a backfill", async () => {
    await fetched(daysAgo(60), daysAgo(59));
    await closeAndDrop();
    expect(await planBackfill(context(), ask(hours(60, 22, 27)))).toMatchObject({ coveredMs: 2 * HOUR_MS });
  });

  test("is complete in a statement of another zone", async () => {
    await fetched(daysAgo(60), daysAgo(1));
    const at = daysAgo(55) + 12 * HOUR_MS;
    await appendEntries(sql, [exampleEntry({ occurredAt: at, receivedAt: at })]);
    const rows = async () =>
      (await readReport(context(), readReportDay({ day: dayOf(55), zone: "Asia/Bangkok" }))).rows;
    const before = await rows();
    expect(before).toMatchObject([{ complete: true, ledger: { bets: 1 } }]);
    await closeAndDrop();
    expect(await rows()).toEqual(before);
  });

  test("holds back no closing, and an empty day says that neither side has a bet", async () => {
    await fetched(daysAgo(60), daysAgo(1));
    await closeAndDrop();
    await appendEntries(sql, [exampleEntry({ occurredAt: NOON, receivedAt: NOON })]);
    const day = readReportDay({ day: dayOf(55), zone: "Asia/Bangkok" });
    expect(await sql.begin((tx) => whyOpen(context(), tx, day))).toBeNull();
    const empty = {
      ...{ day: day.day, zone: day.zone, from: "", to: "" },
      ...{ rows: [], totals: [], closed: null, corrections: [] },
    };
    expect(await readWhyEmpty(context(), day, empty)).toBe("Neither side has a bet on this day.");
  });

  test("counts as fetched at no time: no comparison and no resweep takes it for a fresh fetch", async () => {
    await fetched(daysAgo(60), daysAgo(1));
    await closeAndDrop();
    const day = hours(55, 0, 24);
    expect(await readCoverage(sql, "P1", day, 0)).toEqual([]);
    expect(await readPasses(sql, "P1", [day], 0)).toEqual([]);
  });

  test("is said to be fetched on the page, with its deleted windows", async () => {
    await fetched(daysAgo(60), daysAgo(1));
    await closeAndDrop();
    const browse = await serveOps(context(), []);
    const { from, to } = iso(hours(55, 0, 24));
    const { status, text } = await browse(
      "GET",
      `/coverage?${new URLSearchParams({ product: "P1", from, to })}`,
      {
        headers: OWN_PAGE,
      },
    );
    expect(status).toBe(200);
    expect(text).toContain("P1 is complete");
    expect(text).toContain("This time was fetched. Its windows were deleted");
    expect(text).not.toContain("No window of this time has been fetched");
  });
});

test("the command names the time whose windows were deleted, and its JSON has the usual keys", async () => {
  await fetched(daysAgo(60), daysAgo(1));
  await closeAndDrop();
  const { from, to } = iso(hours(55, 0, 24));
  const folder = mkdtempSync(join(tmpdir(), "recon-windows-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const path = join(folder, "recon.config.json");
  writeFileSync(path, JSON.stringify(SETTINGS));
  const recon = (...more: string[]) =>
    callRecon(["coverage", "--product", "P1", "--from", from, "--to", to, ...more], {
      DATABASE_URL: url,
      RECON_CONFIG: path,
    });
  expect((await recon()).stdout).toBe(
    `P1 is complete from ${from} to ${to}, except for time that has not settled yet.

FETCHED FROM              TO                        WINDOWS
${from}  ${to}  deleted (retain.windows): when it was fetched is not known
`,
  );
  expect(JSON.parse((await recon("--json")).stdout)).toEqual({
    productId: "P1",
    from,
    to,
    complete: true,
    gaps: [],
    windows: [],
  });
});
