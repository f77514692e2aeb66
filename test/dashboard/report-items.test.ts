/** From a figure of the statement to the bet behind it, and back. */

import { beforeEach, expect, test } from "vitest";
import { useClosing } from "../flows/closing/closing-world.ts";
import { callbacksOf, minute, recordOf, useDiffWorld } from "../flows/compare/comparison-world.ts";
import { useBrowser } from "../support/browser.ts";
import { useDashboard } from "../support/dashboard.ts";
import { HOUR_MS, NOON } from "../support/examples.ts";

const { sql, clock, diff, receive, listed, ledgerBegins } = useDiffWorld();
const { context, fetched, close } = useClosing(sql, clock);
const browser = useBrowser();
const serveDashboard = useDashboard();

/** The provider paid 25 and the ledger 20. */
beforeEach(async () => {
  await ledgerBegins();
  await fetched(NOON - 36 * HOUR_MS, NOON + 36 * HOUR_MS);
  await receive(...callbacksOf("20"));
  await listed(recordOf("25"));
  for (const at of [20, 150]) {
    clock.set(minute(at));
    await diff();
  }
});

test.each(["open", "closed"])(
  "a figure of a day that is %s leads to its bet, to the mismatch, and back",
  async (state) => {
    clock.set(NOON + 14 * HOUR_MS);
    if (state === "closed") expect(await close("2026-11-20")).toHaveProperty("closed");
    const page = await browser.newPage({ baseUrl: await serveDashboard(context()) });
    await page.goto("/report?day=2026-11-20");
    await page.locator('#nets a[href*="explainedBy=mismatch"]').click();
    await page.waitForSelector("#items");
    expect(await page.locator("#items tbody tr").allInnerTexts()).toEqual([
      expect.stringMatching(/anna[\s\S]*25\.00[\s\S]*20\.00[\s\S]*5\.00 THB[\s\S]*mismatch 1/),
    ]);
    await page.getByRole("link", { name: "mismatch 1" }).click();
    await page.getByRole("link", { name: "these lines" }).click();
    await page.waitForSelector("#items");
    await page.getByRole("link", { name: "Statement of 2026-11-20" }).click();
    await page.waitForSelector("#nets");
  },
);

test("the page of a closed day that was altered shows no line, and says why", async () => {
  clock.set(NOON + 14 * HOUR_MS);
  await close("2026-11-20");
  await sql`update closed_days set statement = jsonb_set(statement, '{rows,0,rest}', '"1"')`;
  const page = await browser.newPage({ baseUrl: await serveDashboard(context()) });
  const answer = await page.goto("/report/items?day=2026-11-20");
  expect(answer?.status()).toBe(409);
  expect(await page.locator("main").innerText()).toContain("the stored statement of 2026-11-20 was altered");
});

test.each([
  ["day=2026-02-30", 'day must be a date such as 2026-11-20, but is "2026-02-30"'],
  ["day=2026-11-20&after=x", 'after "x" is not the "next" of a page'],
])("a link to lines with a wrong value, %s, says which one", async (query, problem) => {
  const page = await browser.newPage({ baseUrl: await serveDashboard(context()) });
  expect((await page.goto(`/report/items?${query}`))?.status()).toBe(400);
  expect(await page.getByRole("alert").innerText()).toBe(problem);
});

test.each(["/report?day=2026-11-20", "/report/items?day=2026-11-20"])(
  "on paper, A4 or Letter, no column of %s lies beyond the edge",
  async (path) => {
    const page = await browser.newPage({ baseUrl: await serveDashboard(context()) });
    await page.emulateMedia({ media: "print" });
    // The shorter of the two sheets, landscape, without its margins, at 96 pixels an inch.
    await page.setViewportSize({ width: 980, height: 700 });
    await page.goto(path);
    await page.waitForSelector("table");
    const widths = "[document.documentElement.scrollWidth, document.documentElement.clientWidth]";
    expect(await page.evaluate(widths)).toEqual([980, 980]);
    expect(String(await page.pdf({ preferCSSPageSize: true }))).toMatch(/MediaBox \[0 0 792 612\]/);
  },
);

test("each row of a day and of a month has the GGR of both sides, and it leads to the row's lines", async () => {
  clock.set(NOON + 14 * HOUR_MS);
  await close("2026-11-20");
  const page = await browser.newPage({ baseUrl: await serveDashboard(context()) });
  for (const period of ["day=2026-11-20", "month=2026-11"]) {
    await page.goto(`/report?${period}`);
    const heads = await page.locator("#bets th[scope=col]").allInnerTexts();
    const cells = await page.locator("#bets tbody tr").locator("th, td").allInnerTexts();
    const ggrs = heads.flatMap((name, index) => (name.endsWith("GGR") ? [[name, cells[index]]] : []));
    expect([period, ggrs]).toEqual([
      period,
      [
        ["Provider's GGR", "-15.00"],
        ["Ledger's GGR", "-10.00"],
      ],
    ]);
    await page.locator("#bets").getByRole("link", { name: "-15.00" }).click();
    await page.waitForSelector("#items");
  }
});

test("on paper a statement has its figures and the sums of all products, and nothing to press", async () => {
  const page = await browser.newPage({ baseUrl: await serveDashboard(context()) });
  await page.emulateMedia({ media: "print" });
  await page.goto("/report?day=2026-11-20");
  const seen = async (selector: string) =>
    await page
      .locator(selector)
      .evaluateAll((all) => all.filter((one) => one.getClientRects().length > 0).length);
  expect(await Promise.all(["nav", "form", "button", "footer", "main > .row a"].map(seen))).toEqual([
    0, 0, 0, 0, 0,
  ]);
  expect([await seen("#nets td"), await seen("#bets td")]).toEqual([10, 9]);
  const text = await page.locator("main").innerText();
  expect(text).toMatch(/All products[\s\S]*-15\.00[\s\S]*-10\.00/);
  const style = 'getComputedStyle(document.querySelector("#nets td a")).textDecorationLine';
  expect(await page.evaluate(style)).toBe("none");
});
