import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { stopPulling } from "../../src/sync/pull-state-store.ts";
import { useBrowser } from "../support/browser.ts";
import { READ_TOKEN, TOKENS, useDashboard } from "../support/dashboard.ts";
import { useDatabase } from "../support/database.ts";
import { HOUR_MS, MINUTE_MS, NOON } from "../support/examples.ts";
import { openPlayedWorld, type PlayedWorld } from "./played-world.ts";

const HOSTILE = "<img src=x onerror=alert(1)>";
const BEGIN = NOON - 4 * HOUR_MS;
const GAP = { from: NOON - 3 * HOUR_MS, to: NOON - 2 * HOUR_MS };
const iso = (at: number) => new Date(at).toISOString();

const { sql } = useDatabase();
const browser = useBrowser();
const serveDashboard = useDashboard();
let played: PlayedWorld;

/** Four hours of two products. One hour of one product cannot be fetched, and from noon on an hour of the other. */
beforeAll(async () => {
  const notReady = (product: string, hour: number, from: number) => ({
    when: { product, hoursUtc: [hour], between: [iso(from), iso(NOON + 12 * HOUR_MS)] as [string, string] },
    do: { kind: "code" as const, code: 9, message: "the report is not ready" },
  });
  played = await openPlayedWorld(sql, {
    begin: BEGIN,
    world: {
      seed: 4,
      periods: [{ from: BEGIN, to: NOON + 3 * HOUR_MS }],
      products: [
        { productId: "TABLE", style: "table", roundsPerMinute: 0.5 },
        { productId: HOSTILE, style: "slot", roundsPerMinute: 0.5 },
      ],
      players: 10,
      lateSettlementMs: MINUTE_MS,
      callbackLagMs: 1_000,
      reportLagMs: 1_000,
      faultEveryMinutes: 50,
    },
    config: {
      products: ["TABLE", HOSTILE].map((productId) => ({ productId, since: iso(BEGIN) })),
      diff: { callbackGrace: "PT1M", providerGrace: "PT5M" },
    },
    faults: [notReady("TABLE", 9, GAP.from), notReady(HOSTILE, 12, NOON)],
  });
  await played.playUntil(NOON, HOUR_MS);
});

afterAll(() => played.close());

const verdict = (page: Page) => page.locator(".verdict");
const product = (page: Page, name: string) => page.getByRole("listitem", { name, exact: true });

async function openCount(): Promise<{ readonly all: number; readonly thb: string }> {
  const [row] = await sql<[{ all: number; thb: string }]>`
    select count(*) as all, sum(amount_at_risk) filter (where currency = 'THB')::text as thb from mismatches where status = 'open'`;
  return row;
}

test("one line says what is worst, and links to it; names from outside are shown as text", async () => {
  const page = await browser.newPage({ baseUrl: await serveDashboard(played.context) });
  await page.goto("/");
  const { all } = await openCount();
  expect(all).toBeGreaterThan(0);
  const line = await verdict(page).innerText();
  expect(line).toMatch(new RegExp(`TABLE is stalled: [^;]*; ${all} mismatch(es are|\\sis) open, .* at risk`));
  expect(await product(page, HOSTILE).getByRole("heading").innerText()).toBe(HOSTILE);
  expect(await page.locator("img").count()).toBe(0);
  await verdict(page).getByRole("link", { name: /open/ }).click();
  await page.waitForURL("**/mismatches?status=open");
});

describe("coverage", () => {
  test("the strip shows what is fetched, a gap with its reason, and what is not due; the gap links to its windows", async () => {
    const page = await browser.newPage({ baseUrl: await serveDashboard(played.context) });
    await page.goto("/");
    const strip = product(page, "TABLE").getByRole("group", { name: /Coverage of TABLE/ });
    const links = await strip
      .getByRole("link")
      .evaluateAll((all) => all.map((link) => link.getAttribute("aria-label")));
    // Windows end seconds within the hour, so the hours beside the failing one are cut too.
    expect(links).toContainEqual(
      expect.stringMatching(
        /^Fri 20 Nov 2026, 0[89]:00 to 1[012]:00: gap, provider-rejected: the provider refused/,
      ),
    );
    expect(await strip.locator(".cell.future").count()).toBe(1);
    await strip.getByRole("link", { name: /gap/ }).click();
    await page.waitForURL("**/coverage?**");
    const asked = new URL(page.url());
    expect([asked.pathname, Object.fromEntries(asked.searchParams)]).toEqual([
      "/coverage",
      { product: "TABLE", from: expect.any(String), to: expect.any(String) },
    ]);
    const gap = page.getByRole("region", { name: "Gaps" }).locator("tbody tr");
    expect(await gap.count()).toBe(1);
    expect(await gap.innerText()).toContain("provider-rejected");
    const backfill = new URL(String(await gap.getByRole("link").getAttribute("href")), page.url());
    expect([backfill.pathname, backfill.searchParams.get("product")]).toEqual(["/backfills", "TABLE"]);
  });

  test("what the next pull fetches is no alarm; what waits for longer is one", async () => {
    const page = await browser.newPage({ baseUrl: await serveDashboard(played.context) });
    const range = `product=TABLE&from=${iso(NOON - HOUR_MS)}&to=${iso(NOON + HOUR_MS)}`;
    const before = played.clock.now();
    played.clock.set(NOON + 30_000);
    await page.goto(`/coverage?${range}`);
    expect(await verdict(page).getAttribute("data-state")).toBe("good");
    expect(await verdict(page).innerText()).toMatch(
      /TABLE is complete.* The next pull fetches the newest \d+ s/,
    );
    expect(await page.getByRole("region", { name: "Gaps" }).count()).toBe(0);
    played.clock.set(NOON + 3 * MINUTE_MS);
    await page.goto(`/coverage?${range}`);
    expect(await verdict(page).innerText()).toMatch(/^TABLE is not complete: \d min .*missing\.$/);
    played.clock.set(before);
  });

  test("the times of a link stand in their fields on the person's clocks, and mean the same when sent again", async () => {
    const baseUrl = await serveDashboard(played.context);
    const page = await browser.newPage({ baseUrl });
    await page.context().addCookies([{ name: "recon_zone", value: "Asia/Bangkok", url: baseUrl }]);
    const [from, to] = [iso(GAP.from + 723), iso(GAP.to)];
    for (const path of ["/coverage", "/backfills"]) {
      await page.goto(`${path}?product=TABLE&from=${from}&to=${to}`);
      expect(await page.getByLabel("from").inputValue()).toBe("2026-11-20 16:00:00.723");
      expect(await page.getByLabel("to", { exact: true }).inputValue()).toBe("2026-11-20 17:00:00");
    }
    await page.goto(`/coverage?product=TABLE&from=${from}&to=${to}`);
    await page.getByRole("button", { name: "Show" }).click();
    await page.waitForURL("**/coverage?**%2B07%3A00");
    const sent = new URL(page.url()).searchParams;
    expect([sent.get("from"), sent.get("to")].map((at) => iso(Date.parse(at ?? "")))).toEqual([from, to]);
  });

  test("a wrong range is reported in one line, and the form keeps the input", async () => {
    const page = await browser.newPage({ baseUrl: await serveDashboard(played.context) });
    const answer = await page.goto("/coverage?product=TABLE&from=yesterday&to=2026-11-20T12:00:00Z");
    expect(answer?.status()).toBe(400);
    expect(await page.getByRole("alert").innerText()).toContain(
      '“from” must be a time such as 2026-11-20 10:00, but is "yesterday"',
    );
    await page.getByLabel("from").fill("2026-11-20T11:00:00Z");
    await page.getByRole("button", { name: "Show" }).click();
    await page.locator("main", { hasText: "TABLE is complete" }).waitFor();
  });

  test("a user who may only read gets no backfill form", async () => {
    const page = await browser.newPage({
      baseUrl: await serveDashboard(played.context, TOKENS),
      token: READ_TOKEN,
    });
    await page.goto(`/coverage?product=TABLE&from=${iso(GAP.from)}&to=${iso(GAP.to)}`);
    expect(await page.getByRole("region", { name: "Gaps" }).getByRole("link").count()).toBe(0);
  });
});

test("the keyboard reaches everything", async () => {
  const page = await browser.newPage({ baseUrl: await serveDashboard(played.context) });
  await page.goto("/");
  await page.keyboard.press("Tab");
  const focused = async (what: string) => String(await page.evaluate(`document.activeElement.${what}`));
  expect(await focused("innerText")).toBe("Skip to content");
  expect(await focused("getBoundingClientRect().left")).toBe("0");
  await page.keyboard.press("Enter");
  await page.waitForFunction("document.activeElement.id === 'main'");
  const reached: string[] = [];
  for (let stops = 0; stops < 40 && !reached.at(-1)?.includes(": gap"); stops += 1) {
    await page.keyboard.press("Tab");
    reached.push(await focused("ariaLabel ?? document.activeElement.innerText"));
  }
  expect(reached[0]).toMatch(/^TABLE is stalled: /);
  await page.keyboard.press("Enter");
  await page.waitForURL("**/coverage?**");
});

// This test moves the world on: later tests see the later state.
test("an open page shows a new mismatch, a new gap and refused credentials without a reload", async () => {
  const page = await browser.newPage({ baseUrl: await serveDashboard(played.context) });
  await page.goto("/");
  await page.evaluate("window.loadedOnce = true");
  await page.locator('#connection[data-state="live"]').waitFor();
  const before = await openCount();
  await played.playUntil(NOON + 2.5 * HOUR_MS, HOUR_MS);
  const after = await openCount();
  expect(after.all).toBeGreaterThan(before.all);
  await page.getByText(`${after.all} mismatches are open`).waitFor();
  await page.getByText(/is stalled: .* \(and 1 more product\)/).waitFor();
  await product(page, HOSTILE)
    .getByRole("link", { name: /1[1-4]:00: gap/ })
    .waitFor();
  await stopPulling(sql, "TABLE", NOON + 3 * HOUR_MS);
  const refused = "the provider refuses the credentials: the worker cannot pull TABLE";
  await page.locator(".verdict").getByText(refused).waitFor();
  await product(page, "TABLE").getByText("PROVIDER_PASSWORD").waitFor();
  expect(await page.evaluate("window.loadedOnce")).toBe(true);
});
