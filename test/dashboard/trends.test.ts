import { gzipSync } from "node:zlib";
import { afterEach, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { showDuration } from "../../src/clock.ts";
import { parseConfig } from "../../src/config-file.ts";
import { dropExpired } from "../../src/flows/retention/drop-expired.ts";
import { sampleTrends } from "../../src/flows/trends/trends.ts";
import { watermarkOf } from "../../src/health/products.ts";
import { appendEntries } from "../../src/ledger/store.ts";
import { silentLog } from "../../src/log.ts";
import { readPullProgress } from "../../src/sync/progress-store.ts";
import { expectAccessible, useBrowser } from "../support/browser.ts";
import { createTestClock } from "../support/clock.ts";
import { READ_TOKEN, TOKENS, useDashboard, WRITE_TOKEN } from "../support/dashboard.ts";
import { emptyTables, useDatabase } from "../support/database.ts";
import { amount, exampleEntry, HOUR_MS, MINUTE_MS, NOON } from "../support/examples.ts";
import { openMismatches } from "../support/open-mismatches.ts";
import { openPlayedWorld } from "./played-world.ts";

const { sql } = useDatabase();
const browser = useBrowser();
const serveDashboard = useDashboard();
const QUARTER_MS = 15 * MINUTE_MS;
const BEGIN = NOON - 6 * HOUR_MS;
const PRODUCTS = ["TABLE", "SPORT"] as const;
const iso = (at: number) => new Date(at).toISOString();

/** SPORT cannot be fetched from 8:00 to 9:00. */
const openWorld = () =>
  openPlayedWorld(sql, {
    begin: BEGIN,
    world: {
      seed: 3,
      periods: [{ from: BEGIN, to: NOON }],
      products: PRODUCTS.map((productId) => ({ productId, style: "table", roundsPerMinute: 0.5 })),
      players: 5,
      lateSettlementMs: MINUTE_MS,
      callbackLagMs: 1_000,
      reportLagMs: 1_000,
      faultEveryMinutes: 0,
    },
    config: {
      products: PRODUCTS.map((productId) => ({ productId, since: iso(BEGIN) })),
      diff: { callbackGrace: "PT1M", providerGrace: "PT1M" },
    },
    faults: [
      {
        when: { product: "SPORT", touches: [iso(NOON - 4 * HOUR_MS), iso(NOON - 3 * HOUR_MS)] },
        do: { kind: "code", code: 9, message: "the report is not ready" },
      },
    ],
  });

type World = Awaited<ReturnType<typeof openWorld>>;
type Page = Awaited<ReturnType<typeof browser.newPage>>;

/** The rows of the table, by the time of day at which they begin. */
async function readTable(page: Page): Promise<ReadonlyMap<string, readonly string[]>> {
  const rows = await page
    .locator("main table tbody tr")
    .evaluateAll((found) =>
      (found as { children: Iterable<{ textContent: string }> }[]).map((row) =>
        [...row.children].map(({ textContent }) => textContent),
      ),
    );
  return new Map(rows.map(([when = "", ...cells]) => [when.slice(11, 16), cells]));
}

const [OPEN, RISK, DELAY, LAG, RECORDS, CALLBACKS] = [0, 1, 2, 3, 4, 5] as const;

describe("of a world with an hour that cannot be fetched", () => {
  let world: World;
  beforeAll(async () => {
    await emptyTables(sql);
    world = await openWorld();
    await world.playUntil(NOON - 2 * HOUR_MS, HOUR_MS);
    await sampleTrends(world.context);
    await world.playUntil(NOON, HOUR_MS);
    world.clock.set(NOON + 10 * MINUTE_MS);
    // Two days are counted in several turns.
    for (let turn = 0; turn < 6; turn += 1) await sampleTrends(world.context);
    return () => world.close();
  });
  afterEach(() => emptyTables(sql, ["mismatches"]));

  test("the lag above the chart is that of now, not the longest of the last step", async () => {
    const { context, clock } = world;
    await sql`create table kept as table trend_samples`;
    onTestFinished(async () => {
      await sql`delete from trend_samples`;
      await sql`insert into trend_samples table kept`;
      await sql`drop table kept`;
    });
    await sql`update trend_samples set lag_ms = 169200000`;
    // A server keeps what it has read for a while: other tests must not meet these samples.
    const page = await browser.newPage({ baseUrl: await serveDashboard({ ...context }) });
    await page.goto("/trends?product=TABLE");
    const progress = await readPullProgress(sql);
    const watermarks = progress.filter((one) => one.productId === "TABLE").map(watermarkOf);
    expect(watermarks).toHaveLength(1);
    const now = showDuration(clock.now() - Math.min(...watermarks));
    expect(await page.locator("#lag figcaption b").innerText()).toBe(now);
    const words = await page.locator("#lag [role=img]").getAttribute("aria-label");
    expect(words).toContain(`at most 1 d 23 h, now ${now}`);
  });

  test("every figure is exact, and what nobody knows is no zero", async () => {
    const { context } = world;
    await openMismatches(sql, context.config, NOON - HOUR_MS, [
      { productId: "TABLE", betId: "1", amountAtRisk: amount("10.5"), occurredAt: NOON - 150 * MINUTE_MS },
      {
        productId: "TABLE",
        betId: "2",
        currency: "USD",
        amountAtRisk: amount("7"),
        occurredAt: NOON - 130 * MINUTE_MS,
      },
      { productId: "SPORT", betId: "3", amountAtRisk: amount("100"), occurredAt: NOON - 5 * HOUR_MS },
    ]);
    await sql`update mismatches set status = 'resolved', resolved_by = 'mali', resolved_at = ${NOON - 20 * MINUTE_MS} where bet_id = '2'`;
    const page = await browser.newPage({ baseUrl: await serveDashboard(context) });
    await page.goto("/trends?product=TABLE");
    const rows = await readTable(page);
    expect(rows.size).toBe(96);
    const of = (when: string, column: number) => rows.get(when)?.[column];
    expect(["09:15", "09:30", "09:45", "11:15", "11:30"].map((when) => of(when, OPEN))).toEqual([
      "0",
      "1",
      "2",
      "2",
      "1",
    ]);
    expect([of("09:15", RISK), of("09:30", RISK), of("09:45", RISK), of("11:30", RISK)]).toEqual(
      ["no money", "10.50 THB", "7.00 USD and 10.50 THB", "10.50 THB"].map((words) =>
        expect.toSatisfy((said: string) => sorted(said) === sorted(words)),
      ),
    );
    // The median of 90 and 70 minutes.
    expect(of("11:00", DELAY)).toBe("1 h 10 min");
    expect(of("10:45", DELAY)).toBe("no new mismatch");
    // Before pulling began, and where no worker measured.
    expect([of("05:45", OPEN), of("05:45", RECORDS), of("11:00", LAG)]).toEqual([
      "before the data begins",
      "before the data begins",
      "unknown",
    ]);
    expect(of("12:00", LAG)).toMatch(/min/);
    for (const when of ["07:00", "10:30"]) {
      const from = Date.parse(`2026-11-20T${when}:00Z`);
      const [counted] = await sql<{ records: number; entries: number }[]>`
        select (select count(*) from bet_records where product_id = 'TABLE' and accounting_date >= ${from}
            and accounting_date < ${from + QUARTER_MS})::integer as records,
          (select count(*) from callback_entries where product_id = 'TABLE' and received_at >= ${from}
            and received_at < ${from + QUARTER_MS})::integer as entries`;
      expect(Number(of(when, RECORDS))).toBeCloseTo((counted?.records ?? -1) / 15, 1);
      expect(Number(of(when, CALLBACKS))).toBeCloseTo((counted?.entries ?? -1) / 15, 1);
      expect(counted?.records).toBeGreaterThan(0);
    }
    await page.goto("/trends?product=SPORT");
    const sport = await readTable(page);
    expect([sport.get("08:30")?.[OPEN], sport.get("08:30")?.[RECORDS]]).toEqual(["unknown", "unknown"]);
    expect([sport.get("07:30")?.[OPEN], sport.get("09:30")?.[OPEN]]).toEqual(["1", "1"]);
    expect(Number(sport.get("08:30")?.[CALLBACKS])).toBeGreaterThan(0);
  });

  test("the values are read by keyboard and by pointer, and the page reports a change in a second browser", async () => {
    const { context, clock } = world;
    const baseUrl = await serveDashboard(context, TOKENS);
    const page = await browser.newPage({ baseUrl, token: READ_TOKEN });
    await page.goto("/trends");
    await page.getByRole("slider", { name: "Read Open mismatches" }).focus();
    const reading = page.locator("#open .reading");
    await page.keyboard.press("Home");
    expect(await reading.innerText()).toBe("2026-11-19 12:15: before the data begins. See what happened");
    await page.keyboard.press("End");
    for (let step = 0; step < 8; step += 1) await page.keyboard.press("ArrowLeft");
    expect(await reading.innerText()).toBe("2026-11-20 10:00: 0. See what happened");
    // A single value is words, no spike in a grey box.
    expect(await page.locator("#lag .canvas").count()).toBe(0);
    expect(await page.locator("#lag .reading").innerText()).toMatch(
      / at 11-20 \d\d:\d\d.*; otherwise unknown$/,
    );
    expect(await page.locator("#delay .reading").innerText()).toBe("no new mismatch since 11-19 12:15");
    await page.mouse.move(...(await pointOf(page, "#callbacks", 2 / 96)));
    expect(await page.locator("#callbacks .reading").innerText()).toMatch(
      /^2026-11-19 12:45: before the data/,
    );
    await expectAccessible(page);

    const other = await browser.newPage({ baseUrl, token: WRITE_TOKEN });
    await other.goto("/trends");
    await other.locator('#connection[data-state="live"]').waitFor();
    await openMismatches(sql, context.config, clock.now(), [
      { productId: "TABLE", occurredAt: NOON - 2 * HOUR_MS },
    ]);
    for (const one of [page, other]) await one.locator("#open figcaption", { hasText: "1" }).waitFor();
    // The chosen step stays chosen.
    expect(await reading.innerText()).toBe("2026-11-20 10:00: 1. See what happened");
    expect(await page.locator("#open canvas").count()).toBe(1);
    expect(await page.getByRole("button").allInnerTexts()).toEqual(["Sign out", "Show", "Show the range"]);
  });

  test("a click opens what happened then, and what is drawn over is shown closer, at an address for others", async () => {
    const { context } = world;
    const page = await browser.newPage({ baseUrl: await serveDashboard(context) });
    await page.goto("/trends?product=TABLE&span=day");
    await page.locator("#open canvas").waitFor();
    await page.mouse.click(...(await pointOf(page, "#records", 75.5 / 96)));
    await page.waitForURL("**/coverage?**");
    expect(Object.fromEntries(new URL(page.url()).searchParams)).toEqual({
      ...{ product: "TABLE", from: "2026-11-20T07:00:00.000Z", to: "2026-11-20T07:15:00.000Z" },
    });
    expect(await page.locator(".verdict").innerText()).toContain("TABLE is complete");
    await page.goBack();
    await page.getByRole("slider", { name: "Read Open mismatches" }).focus();
    await page.keyboard.press("ArrowLeft");
    await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    await page.waitForURL("**/mismatches?**");
    expect(Object.fromEntries(new URL(page.url()).searchParams)).toMatchObject({
      ...{ product: "TABLE", from: "2026-11-20T11:45:00.000Z", to: "2026-11-20T12:00:00.000Z" },
    });
    await page.goBack();

    await page.locator("#open canvas").waitFor();
    await page.mouse.move(...(await pointOf(page, "#open", 72 / 96)));
    await page.mouse.down();
    await page.mouse.move(...(await pointOf(page, "#open", 80 / 96)), { steps: 3 });
    await page.mouse.up();
    await page.waitForURL("**from=**");
    const shared = new URL(page.url()).searchParams;
    const length = Date.parse(shared.get("to") ?? "") - Date.parse(shared.get("from") ?? "");
    expect(shared.get("product")).toBe("TABLE");
    expect(length / QUARTER_MS).toBeGreaterThanOrEqual(8);
    expect(length / QUARTER_MS).toBeLessThanOrEqual(10);
    expect((await readTable(page)).size).toBe(length / QUARTER_MS);
    await page.getByRole("link", { name: "Wider" }).click();
    await expect.poll(async () => (await readTable(page)).size).toBe((2 * length) / QUARTER_MS);
    // A span takes the place of the range.
    await page.getByLabel("The last").selectOption("week");
    await page.getByRole("button", { name: "Show", exact: true }).click();
    await page.waitForURL("**/trends?product=TABLE&span=week");
  });

  test("charts have both themes, forced colours and no room to leave, and each product its own lag", async () => {
    const { context } = world;
    await sql`create table kept_lags as table trend_samples`;
    onTestFinished(async () => {
      await sql`delete from trend_samples`;
      await sql`insert into trend_samples table kept_lags`;
      await sql`drop table kept_lags`;
    });
    await sql`update trend_samples set lag_ms = case product_id when 'SPORT' then 7200000 else 60000 end`;
    const page = await browser.newPage({ baseUrl: await serveDashboard({ ...context }) });
    await page.goto("/trends");
    await page.locator("#lag canvas").waitFor();
    expect(await page.locator("#lag .legend").innerText()).toMatch(/SPORT\s+TABLE/);
    expect(await page.locator("#lag .reading").innerText()).toMatch(/SPORT 2 h, TABLE 1 min$/);
    const lags = page.getByRole("table", { name: "Lag of each product" });
    await page.getByText("All values as a table").click();
    expect(await lags.locator("tbody tr").last().innerText()).toMatch(/2 h\s+1 min$/);
    const inkOf = () =>
      page.locator("#lag canvas").evaluate((canvas: HTMLCanvasElementLike) => {
        const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
        return [...data].reduce((sum, value) => sum + value, 0);
      });
    const light = await inkOf();
    expect(light).toBeGreaterThan(0);
    await page.emulateMedia({ colorScheme: "dark" });
    await expect.poll(inkOf).not.toBe(light);
    await expectAccessible(page);
    const dark = await inkOf();
    await page.emulateMedia({ forcedColors: "active" });
    await expect.poll(inkOf).not.toBe(dark);
    await page.emulateMedia({ forcedColors: "none", colorScheme: "light" });
    for (const width of [320, 768, 1920]) {
      await page.setViewportSize({ width, height: 900 });
      const isIn = "document.documentElement.scrollWidth <= document.documentElement.clientWidth";
      await expect.poll(() => page.evaluate(isIn)).toBe(true);
      const fits =
        "[...document.querySelectorAll('.plot .canvas')].every((one) => one.firstChild.offsetWidth === one.clientWidth)";
      await expect.poll(() => page.evaluate(fits)).toBe(true);
    }
    const month = await page.request.get("/trends?span=month", { headers: { accept: "text/html" } });
    expect(gzipSync(await month.body()).length).toBeLessThan(60_000);
  });

  // The last: time goes on in the world.
  test("callbacks after the newest entry are unknown, until a later entry shows that none came", async () => {
    const { context, clock } = world;
    const quietAt = NOON + 2 * HOUR_MS;
    clock.set(NOON + 3 * HOUR_MS);
    const sample = async () => {
      for (let turn = 0; turn < 6; turn += 1) await sampleTrends(context);
      const [row] = await sql`
        select callbacks from trend_samples where product_id = 'TABLE' and at = ${quietAt}`;
      return row?.["callbacks"];
    };
    expect(await sample()).toBeNull();
    await appendEntries(sql, [
      exampleEntry({ receivedAt: quietAt + HOUR_MS, occurredAt: quietAt + HOUR_MS }),
    ]);
    expect(await sample()).toBe(0);
  });
});

test("samples are kept for 90 days", async () => {
  await emptyTables(sql);
  const config = parseConfig({ products: [{ productId: "TABLE" }] });
  const clock = createTestClock(NOON);
  const context = { sql, config, clock, log: silentLog };
  await sql`insert into trend_samples (product_id, at) select 'TABLE', ${NOON}::timestamptz - g * interval '1 day' from generate_series(0, 100) g`;
  await dropExpired(context, new AbortController().signal);
  expect((await sql`select from trend_samples`).count).toBe(91);
});

test("a night of 25 hours has each of its hours, in the person's zone", async () => {
  await emptyTables(sql);
  const clock = createTestClock(Date.parse("2026-10-25T10:00:00Z"));
  const config = parseConfig({ products: [{ productId: "WALLET", walletMode: "transfer" }] });
  const context = { sql, config, clock, log: silentLog };
  const page = await browser.newPage({ baseUrl: await serveDashboard(context), timezoneId: "Europe/Berlin" });
  await page.goto("/trends");
  const times = await page.locator("main table tbody th").allTextContents();
  expect(times.filter((time) => time.startsWith("2026-10-25 02:30"))).toHaveLength(2);
  expect(times).toHaveLength(96);
});

test("a wrong span or product is named next to its field, and stays", async () => {
  await emptyTables(sql);
  const config = parseConfig({ products: [{ productId: "TABLE" }] });
  const context = { sql, config, clock: createTestClock(NOON), log: silentLog };
  const page = await browser.newPage({ baseUrl: await serveDashboard(context) });
  expect((await page.goto("/trends?span=year"))?.status()).toBe(400);
  expect(await page.locator("[role=alert]").innerText()).toContain("must be one of day, week, month");
  expect(await page.getByLabel("The last").inputValue()).toBe("year");
  expect((await page.goto("/trends?product=P9"))?.status()).toBe(400);
  expect(await page.locator("[role=alert]").innerText()).toContain('there is no product "P9"');
  expect(await page.getByLabel("Product").inputValue()).toBe("P9");
  const at = "2026-11-20T10:00:00Z";
  for (const [query, name, said] of [
    [{ from: "soon", to: at }, "from", "soon"],
    [{ from: at, to: at }, "from", `"${at}" is not before to "${at}"`],
    [{ from: at }, "to", `is missing: from "${at}" needs it`],
    [{ to: at }, "from", `is missing: to "${at}" needs it`],
    [{ from: "2026-11-21T00:00:00Z", to: "2026-11-22T00:00:00Z" }, "from", "is in the future"],
    [{ from: "2026-01-01T00:00:00Z", to: at }, "to", "is more than 90 d after from"],
  ] as const) {
    expect((await page.goto(`/trends?${new URLSearchParams(query)}`))?.status()).toBe(400);
    const field = page.locator(`main [name=${name}][aria-invalid=true]`);
    expect(await page.locator(`#${await field.getAttribute("aria-describedby")}`).innerText()).toContain(
      said,
    );
  }
});

test("a start without settings shows a guide until the visitor closes it", async () => {
  await emptyTables(sql);
  const config = parseConfig({ products: [{ productId: "TABLE" }] });
  const context = { sql, config, clock: createTestClock(NOON), log: silentLog };
  const guide = [{ what: "What is wrong now", path: "/incidents" }];
  const page = await browser.newPage({ baseUrl: await serveDashboard(context, [], { guide }) });
  await page.goto("/");
  const link = page
    .getByRole("region", { name: "Look around" })
    .getByRole("link", { name: "What is wrong now" });
  await link.click();
  await page.getByRole("heading", { name: "Incidents" }).waitFor();
  await page.goto("/");
  await expectAccessible(page);
  await page.getByRole("button", { name: "Close the guide" }).press("Enter");
  await page.getByRole("heading", { name: "Overview" }).waitFor();
  await expect.poll(() => page.getByRole("region", { name: "Look around" }).count()).toBe(0);
  await page.reload();
  expect(await page.getByRole("region", { name: "Look around" }).count()).toBe(0);
});

/** Only what the test reads: the tests' types have no document. */
interface HTMLCanvasElementLike {
  readonly width: number;
  readonly height: number;
  getContext(kind: "2d"): {
    getImageData(...box: readonly number[]): { readonly data: Iterable<number> };
  };
}

/** A place within a chart. @param share of its time */
async function pointOf(page: Page, chart: string, share: number): Promise<[number, number]> {
  const over = page.locator(`${chart} .u-over`);
  await over.scrollIntoViewIfNeeded();
  const box = await over.boundingBox();
  if (box === null) throw new Error(`${chart} is not drawn`);
  return [box.x + share * box.width + 1, box.y + box.height / 2];
}

function sorted(words: string): string {
  return words.split(" and ").sort().join(" and ");
}
