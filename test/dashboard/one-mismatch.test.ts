import { pathToFileURL } from "node:url";
import type { Page } from "playwright-core";
import { beforeEach, describe, expect, test } from "vitest";
import { parseConfig } from "../../src/config-file.ts";
import { silentLog } from "../../src/log.ts";
import { expectAccessible, expectNoSidewaysScroll, useBrowser } from "../support/browser.ts";
import { createTestClock } from "../support/clock.ts";
import { READ_TOKEN, TOKENS, useDashboard, WRITE_TOKEN } from "../support/dashboard.ts";
import { emptyTables, useDatabase } from "../support/database.ts";
import { amount, HOUR_MS, NOON } from "../support/examples.ts";
import { tabTo } from "../support/keyboard.ts";
import { openMismatches } from "../support/open-mismatches.ts";

const { sql } = useDatabase();
const browser = useBrowser();
const serveDashboard = useDashboard();
const clock = createTestClock(NOON);
const config = parseConfig({ products: [{ productId: "P1" }, { productId: "P2" }] });
const context = { sql, config, clock, log: silentLog };
const EVIL = "<img src=x onerror=alert(1)>";

/** Four of P1 with growing amounts, of which #2 is of another kind and the same round as #1; #5 of P2; #6 much later. */
beforeEach(async () => {
  await emptyTables(sql);
  clock.set(NOON);
  const of = (betId: string, fields = {}) => ({ betId, roundId: betId, ...fields });
  await openMismatches(sql, config, clock.now(), [
    of("bet-1", { amountAtRisk: amount("1"), roundId: "round-1" }),
    of("bet-2", { amountAtRisk: amount("2"), roundId: "round-1", kind: "stake-differs" }),
    of("bet-3", { amountAtRisk: amount("3"), username: EVIL }),
    of("bet-4", { amountAtRisk: amount("4") }),
    of("bet-5", { amountAtRisk: amount("5"), productId: "P2" }),
  ]);
  clock.advance(2 * HOUR_MS);
  await openMismatches(sql, config, clock.now(), [of("bet-6", { username: "bo" })]);
});

/** The page of this mismatch, with its scripts at work. */
const shows = async (page: Page, id: number) => {
  await page.locator("h1", { hasText: `#${id}` }).waitFor();
  await page.waitForSelector("#connection[data-state=live]");
};

test("a phone shows the values of a field next to each other, under its name", async () => {
  const page = await browser.newPage({ baseUrl: await serveDashboard(context) });
  await page.setViewportSize({ width: 390, height: 844 });
  await page.goto("/mismatches/1");
  const heads = page.locator("table.sides thead th:visible");
  expect(await heads.allInnerTexts()).toEqual(["Provider", "Ledger"]);
  const stake = page.locator("table.sides tbody tr", { hasText: "Stake" });
  const [provider, ledger] = await Promise.all(
    [0, 1].map((side) => stake.locator("td").nth(side).boundingBox()),
  );
  expect(provider?.y).toBe(ledger?.y);
  expect(provider?.x).toBeLessThan(ledger?.x ?? 0);
  expect((await stake.locator("th").boundingBox())?.y).toBeLessThan(provider?.y ?? 0);
});

test("who writes a note while somebody else decides keeps the note and the buttons, and is refused, not surprised", async () => {
  const baseUrl = await serveDashboard(context, TOKENS);
  const nok = await browser.newPage({ baseUrl, token: WRITE_TOKEN });
  const bo = await browser.newPage({ baseUrl, token: WRITE_TOKEN });
  await nok.goto("/mismatches/1");
  await nok.waitForSelector("#connection[data-state=live]");
  await nok.getByLabel("Note").fill("asked support");
  await bo.goto("/mismatches/1");
  await bo.getByLabel("Note").fill("paid back");
  await bo.getByRole("button", { name: "Resolve" }).click();
  await nok.locator("#act").getByText("the status is resolved now").waitFor();
  await nok.getByRole("button", { name: "Acknowledge" }).click();
  await nok.locator("#notice").getByText("mismatch 1 is resolved (by writer)").waitFor();
  expect(await nok.getByLabel("Note").inputValue()).toBe("asked support");
  expect(await sql`select status, note from mismatches where id = 1`).toEqual([
    { status: "resolved", note: "paid back" },
  ]);
});

describe("comments", () => {
  const comments = (page: Page) => page.locator(".comments li");

  test("of several users appear in every open page, under their names, and never as markup", async () => {
    const baseUrl = await serveDashboard(context, TOKENS);
    const [bo, eye] = [
      await browser.newPage({ baseUrl, token: WRITE_TOKEN }),
      await browser.newPage({ baseUrl, token: READ_TOKEN }),
    ];
    await eye.goto("/mismatches/1");
    await eye.waitForSelector("#connection[data-state=live]");
    await bo.goto("/mismatches/1?product=P1&sort=at-risk");
    await bo.getByLabel("Note").fill("not sent yet");
    await bo.getByRole("textbox", { name: "Comment" }).fill(`asked the provider\n${EVIL}`);
    await bo.getByRole("button", { name: "Add the comment" }).click();
    await comments(bo).waitFor();
    expect(new URL(bo.url()).search).toBe("?product=P1&sort=at-risk");
    expect(await bo.getByRole("textbox", { name: "Comment" }).inputValue()).toBe("");
    await comments(eye).waitFor();
    const words = (await comments(eye).innerText()).replace(/\s*\n\s*/g, "|");
    expect(words).toBe(`writer 2026-11-20 14:00:00|asked the provider|${EVIL}`);
    expect(await eye.locator("#about .state").innerText()).toBe("open");
  });

  test("on an incident are for all who decide it", async () => {
    const page = await browser.newPage({ baseUrl: await serveDashboard(context) });
    await page.goto("/incidents/1");
    await page.getByRole("textbox", { name: "Comment" }).fill("the provider knows");
    await page.getByRole("button", { name: "Add the comment" }).click();
    await comments(page).getByText("the provider knows").waitFor();
    expect(new URL(page.url()).pathname).toBe("/incidents/1");
  });

  test.each(["/mismatches/1", "/incidents/1"])(
    "that are too long come back in their field, with what is wrong next to it: %s",
    async (path) => {
      const page = await browser.newPage({ baseUrl: await serveDashboard(context), scripts: false });
      await page.goto(path);
      const long = "x".repeat(2001);
      await page.getByRole("textbox", { name: "Comment" }).fill(long);
      await page.getByRole("button", { name: "Add the comment" }).click();
      const field = page.getByRole("textbox", { name: "Comment" });
      expect(await field.inputValue()).toBe(long);
      const problem = page.locator(`#${await field.getAttribute("aria-describedby")}`);
      expect(await problem.innerText()).toBe("“Comment” has 2001 characters, more than 2000");
      expect(await page.locator("[aria-invalid=true]").count()).toBe(1);
    },
  );
});

describe("keys", () => {
  test("lead to the next and the previous one of the list from which the person came, in its order", async () => {
    const page = await browser.newPage({ baseUrl: await serveDashboard(context) });
    await page.goto("/mismatches?product=P1&kind=payout-differs&to=2026-11-20T13%3A00%3A00Z&sort=at-risk");
    await page.locator("#m4 a").click();
    await shows(page, 4);
    expect(await page.getByText("Previous: none").count()).toBe(1);
    for (const id of [3, 1]) {
      await page.keyboard.press("n");
      await shows(page, id);
    }
    expect(await page.getByText("Next: none").count()).toBe(1);
    await page.keyboard.press("P");
    await shows(page, 3);
    // A decision keeps the list, from which this one has gone.
    await page.getByLabel("Note").fill("known");
    await page.getByRole("button", { name: "Resolve" }).click();
    await page.getByText("Mismatch #3 resolved").waitFor();
    await shows(page, 3);
    await page.keyboard.press("n");
    await shows(page, 1);
    await page.keyboard.press("p");
    await shows(page, 4);
    await page.getByRole("link", { name: "Back to the list" }).click();
    await page.locator("#filters").waitFor();
    expect(Object.fromEntries(new URL(page.url()).searchParams)).toEqual({
      product: "P1",
      kind: "payout-differs",
      to: "2026-11-20T13:00:00Z",
      sort: "at-risk",
    });
  });

  test("do nothing while somebody types, and lose nothing that was typed", async () => {
    const page = await browser.newPage({ baseUrl: await serveDashboard(context) });
    await page.goto("/mismatches/4");
    await shows(page, 4);
    await page.getByRole("textbox", { name: "Comment" }).click();
    await page.keyboard.type("next, please");
    expect(await page.getByRole("textbox", { name: "Comment" }).inputValue()).toBe("next, please");
    await page.locator("h1").click();
    await page.keyboard.press("n");
    await page.waitForFunction("document.activeElement.name === 'comment'");
    expect(await page.getByRole("textbox", { name: "Comment" }).inputValue()).toBe("next, please");
    expect(new URL(page.url()).pathname).toBe("/mismatches/4");
  });

  test("alone lead from the list through a mismatch to a comment on the next one", async () => {
    const page = await browser.newPage({ baseUrl: await serveDashboard(context) });
    await page.goto("/mismatches?product=P1");
    await tabTo(page, "#m4 a");
    await page.keyboard.press("Enter");
    await shows(page, 4);
    await page.keyboard.press("n");
    await shows(page, 3);
    await tabTo(page, "[name=comment]");
    await page.keyboard.type("by keyboard");
    await tabTo(page, "#comment button");
    await page.keyboard.press("Enter");
    await page.locator(".comments li", { hasText: "by keyboard" }).waitFor();
    expect(new URL(page.url()).pathname).toBe("/mismatches/3");
  });

  test("need a list without errors: a wrong filter in the address is named", async () => {
    const page = await browser.newPage({ baseUrl: await serveDashboard(context) });
    expect((await page.goto("/mismatches/4?kind=lost"))?.status()).toBe(400);
    expect(await page.locator("main").innerText()).toContain('there is no kind "lost"');
  });
});

test("similar ones are counted and linked: of the same kind and time, of the player, of the round, and the incident", async () => {
  const page = await browser.newPage({ baseUrl: await serveDashboard(context) });
  await page.goto("/mismatches/1");
  const lines = (await page.locator(".similar li").allInnerTexts()).map((text) => text.trim());
  expect(lines).toEqual([
    "Incident #1, to which it belongs",
    "2 others of this kind in P1, first seen within an hour of this one",
    "3 others of player anna",
    "Of this round: #2 stake-differs open",
  ]);
  await page.getByRole("link", { name: "2 others" }).click();
  await page.getByText("3 mismatches").first().waitFor();
  expect(await page.locator("table.mismatches tbody tr").count()).toBe(3);
  await page.goto("/mismatches/6");
  expect((await page.locator(".similar li").allInnerTexts()).map((text) => text.trim())).toEqual([
    "Incident #4, to which it belongs",
    "No other of this kind in P1, first seen within an hour of this one",
    "No other of player bo",
    "No other mismatch of this round",
  ]);
});

test("the evidence is one file that a user without this program can open, read and print", async () => {
  const page = await browser.newPage({ baseUrl: await serveDashboard(context, TOKENS), token: READ_TOKEN });
  await page.goto("/mismatches/3");
  const [download] = await Promise.all([
    page.waitForEvent("download"),
    page.getByRole("link", { name: "HTML" }).click(),
  ]);
  expect(download.suggestedFilename()).toBe("evidence-3.html");
  const file = `${await download.path()}.html`;
  await download.saveAs(file);
  await page.goto(String(pathToFileURL(file)));
  expect(await page.title()).toBe("Evidence of 1 mismatch");
  expect(await page.getByRole("cell", { name: EVIL }).count()).toBeGreaterThan(0);
  expect(await page.locator("img, script, link").count()).toBe(0);
  await page.getByRole("link", { name: "payout-differs" }).click();
  expect(new URL(page.url()).hash).toBe("#m3");
  await expectAccessible(page);
  for (const width of [320, 1400]) {
    await page.setViewportSize({ width, height: 900 });
    await expectNoSidewaysScroll(page);
  }
  expect((await page.pdf()).subarray(0, 5).toString()).toBe("%PDF-");
});
