import type { Page } from "playwright-core";
import { beforeEach, expect, test } from "vitest";
import type { CallbackEntry } from "../../src/callback.ts";
import { parseConfig } from "../../src/config-file.ts";
import type { FlowContext } from "../../src/flows/context.ts";
import { recordTransitions } from "../../src/flows/mismatches/record-transitions.ts";
import { silentLog } from "../../src/log.ts";
import { callbacksOf, iso, minute, recordOf, useDiffWorld } from "../flows/compare/comparison-world.ts";
import { expectAccessible, useBrowser } from "../support/browser.ts";
import { READ_TOKEN, TOKENS, useDashboard, WRITE_TOKEN } from "../support/dashboard.ts";
import { amount } from "../support/examples.ts";
import { exampleFinding } from "../support/findings.ts";
import { tabTo } from "../support/keyboard.ts";

const world = useDiffWorld();
const browser = useBrowser();
const serveDashboard = useDashboard();
const EVIL = "<img src=x onerror=alert(1)>";
const config = parseConfig({ products: [{ productId: "P1" }, { productId: "P2" }] });
const context: FlowContext = { sql: world.sql, config, clock: world.clock, log: silentLog };

/** Four bets that differ: #1 and #2 in their payout; #3 and #4 have no callback. */
beforeEach(async () => {
  await world.ledgerBegins();
  for (const [index, username] of ["anna", "bo", EVIL, "anna"].entries()) {
    const [txnId, roundId] = [`bet-${index}`, `round-${index}`];
    const record = recordOf(`${30 + index}.75`, {
      username,
      betId: txnId,
      id: `rec-${index}`,
      roundId,
      accountingDate: iso(-4),
      updatedDate: iso(-3),
    });
    if (index % 2 === 0) {
      const [placed, settled] = callbacksOf("25.5", { username, txnId, roundId });
      await world.receive(
        { ...(placed as CallbackEntry), balanceBefore: amount("100"), balanceAfter: amount("90") },
        { ...(settled as CallbackEntry), balanceBefore: amount("90"), balanceAfter: amount("115.5") },
      );
    }
    await world.listed(record);
    await world.diffAt(20 + index);
  }
  await world.fetchRange(minute(-60), minute(0));
  await world.diffAt(80);
});

const row = (page: Page, id: number) => page.locator(`#m${id}`);
const statusOf = async (page: Page, id: number) => await row(page, id).locator(".state").textContent();
const notice = (page: Page) => page.locator("#notice p");
const isLive = (page: Page) => page.waitForSelector("#connection[data-state=live]");

test("a mismatch acknowledged in one browser appears in another without a reload, which keeps input and selection", async () => {
  const baseUrl = await serveDashboard(context);
  const [anna, bo] = [await browser.newPage({ baseUrl }), await browser.newPage({ baseUrl })];
  await bo.goto("/mismatches");
  await isLive(bo);
  await bo.evaluate("window.isTheSame = true");
  await bo.getByLabel("Select mismatch 1").check();
  await bo.getByLabel("Select mismatch 2").check();
  await bo.getByLabel("Note").fill("bo is still typing");
  expect(await bo.locator("[data-selected-count]").textContent()).toBe("2 selected: 12.50 THB");

  await anna.goto("/mismatches");
  await anna.getByLabel("Select mismatch 2").check();
  await anna.getByLabel("Note").fill("asked the provider");
  await anna.getByRole("button", { name: "Acknowledge" }).click();
  await notice(anna).waitFor();
  expect(await notice(anna).textContent()).toBe("1 mismatch acknowledged: 7.25 THB at risk.");

  await row(bo, 2).locator(".state[data-state=acknowledged]").waitFor();
  expect(await bo.evaluate("window.isTheSame")).toBe(true);
  expect(await bo.getByLabel("Note").inputValue()).toBe("bo is still typing");
  expect(await bo.getByLabel("Select mismatch 1").isChecked()).toBe(true);
  expect(await bo.getByLabel("Select mismatch 3").isChecked()).toBe(false);

  // Bo acts on the state that Bo's page shows now.
  await bo.getByRole("button", { name: "Resolve" }).click();
  await notice(bo).waitFor();
  expect(await notice(bo).textContent()).toBe("2 mismatches resolved: 12.50 THB at risk.");
  await row(anna, 2).waitFor({ state: "detached" });
  expect(await anna.locator("#sums strong").textContent()).toBe("2 mismatches");

  await bo.getByRole("button", { name: "Undo" }).click();
  await bo.getByText("Undone: 2 mismatches are as before.").waitFor();
  expect([await statusOf(bo, 1), await statusOf(bo, 2)]).toEqual(["open", "acknowledged"]);
  await row(anna, 2).waitFor();
});

test("a new mismatch appears without a reload, and in the sums", async () => {
  const page = await browser.newPage({ baseUrl: await serveDashboard(context) });
  await page.goto("/mismatches?product=P2");
  await isLive(page);
  expect(await page.locator("#sums strong").textContent()).toBe("0 mismatches");
  await world.sql.begin((tx) =>
    recordTransitions(
      tx,
      [{ change: "open", content: exampleFinding({ productId: "P2", username: EVIL }) }],
      context.config,
      world.clock.now(),
    ),
  );
  await row(page, 5).waitFor();
  expect(await page.locator("#sums p").textContent()).toContain("1 mismatch with 4.50 THB at risk");
  expect(await row(page, 5).locator(".player").textContent()).toBe(EVIL);
});

test("a refused correction keeps the marks of its wrong fields: no refresh takes them away", async () => {
  const page = await browser.newPage({ baseUrl: await serveDashboard(context) });
  await page.goto("/mismatches/1");
  await page.getByLabel("Note").fill("paid by hand");
  await page.getByText("Record a correction").click();
  await page.getByLabel("Amount in THB").fill("40,00");
  await page.getByRole("button", { name: "Resolve" }).click();
  await page.locator("#notice.bad, #notice .bad").first().waitFor();
  expect(await page.locator("main").getAttribute("data-live")).toBe("");
  expect(await page.getByLabel("Amount in THB").getAttribute("aria-invalid")).toBe("true");
  expect(await page.getByLabel("Your reference").getAttribute("aria-invalid")).toBe("true");
});

test("an open page of one mismatch reports the other person's decision, and keeps the note", async () => {
  const baseUrl = await serveDashboard(context);
  const [anna, bo] = [await browser.newPage({ baseUrl, scripts: false }), await browser.newPage({ baseUrl })];
  await anna.goto("/mismatches/1");
  await bo.goto("/mismatches/1");
  await bo.getByLabel("Note").fill("paid by hand");
  await bo.getByText("Record a correction").click();
  await bo.getByLabel("Amount in THB").fill("5.25");
  await bo.getByLabel("Your reference").fill("R-1");
  await bo.getByRole("button", { name: "Resolve" }).click();
  await bo.getByText("Its correction of 5.25 (R-1) cannot be undone here").waitFor();
  expect(await bo.getByRole("button", { name: "Undo" }).count()).toBe(0);

  await anna.getByLabel("Note").fill("I wanted to ignore it");
  await anna.getByRole("button", { name: "Ignore" }).click();
  expect(await notice(anna).textContent()).toBe(
    "Not done: mismatch 1 is resolved (by local): it cannot be ignored.",
  );
  expect(await anna.getByLabel("Note").inputValue()).toBe("I wanted to ignore it");
  expect(await anna.locator("#about .state").textContent()).toBe("resolved");
});

test("the page shows all matching mismatches with their money before a user acts on them", async () => {
  const findings = Array.from({ length: 101 }, (_, index) =>
    exampleFinding({ productId: "P2", betId: `more-${index}`, amountAtRisk: amount("0.1") }),
  );
  await world.sql.begin((tx) =>
    recordTransitions(
      tx,
      findings.map((finding) => ({ change: "open", content: finding })),
      context.config,
      world.clock.now(),
    ),
  );
  const page = await browser.newPage({ baseUrl: await serveDashboard(context) });
  await page.goto("/mismatches?product=P2");
  await page.getByLabel("All on this page").check();
  expect(await page.locator("[data-selected-count]").textContent()).toBe("100 selected: 10.00 THB");
  await page.getByLabel("All 101 matching").check();
  expect(await page.locator("[data-selected-count]").textContent()).toBe("101 selected: 10.10 THB");
  await page.getByLabel("Note").fill("known fault");
  await page.getByRole("button", { name: "Ignore" }).click();
  await page.getByRole("heading", { name: "Ignore 101 mismatches?" }).waitFor();
  expect(await page.locator("table.confirmed tbody").textContent()).toContain("10.10");
  await expectAccessible(page);
  await page.getByRole("button", { name: "Ignore 101 mismatches" }).click();
  await page.getByText("101 mismatches ignored: 10.10 THB at risk.").waitFor();
  expect(page.url()).toMatch(/\/mismatches\?product=P2$/);
  await page.getByRole("button", { name: "Undo" }).click();
  await page.getByText("Undone: 101 mismatches are as before.").waitFor();
});

test("the keyboard alone leads from the list to an acknowledged mismatch", async () => {
  const page = await browser.newPage({ baseUrl: await serveDashboard(context) });
  await page.goto("/mismatches");
  await page.keyboard.press("Tab");
  await page.keyboard.press("Enter");
  await page.waitForFunction("document.activeElement.id === 'main'");
  await tabTo(page, "#m3 a");
  await page.keyboard.press("Enter");
  await page.waitForURL("**/mismatches/3");
  await tabTo(page, "textarea");
  await page.keyboard.type("asked the provider");
  await tabTo(page, "button[value=ack]");
  await page.keyboard.press("Enter");
  await page.getByText("Mismatch #3 acknowledged: 23.75 THB at risk.").waitFor();
});

test("a player's name is shown as text everywhere", async () => {
  const page = await browser.newPage({ baseUrl: await serveDashboard(context) });
  await page.goto(`/mismatches?${new URLSearchParams({ username: EVIL })}`);
  expect(await page.getByLabel("Player").inputValue()).toBe(EVIL);
  expect(await row(page, 2).locator(".player").textContent()).toBe(EVIL);
  await row(page, 2).getByRole("link").click();
  await page.getByRole("link", { name: EVIL }).waitFor();
  expect(await page.getByRole("cell", { name: EVIL }).count()).toBeGreaterThanOrEqual(2);
  await page.goto(`/mismatches?product=${encodeURIComponent(EVIL)}`);
  expect(await page.getByRole("alert").textContent()).toContain(`there is no product "${EVIL}"`);
  expect(await page.locator("img").count()).toBe(0);
});

test("a user who may only read downloads the list, and a decision stands under the name of its token", async () => {
  const baseUrl = await serveDashboard(context, TOKENS);
  const page = await browser.newPage({ baseUrl, token: READ_TOKEN });
  const [csv] = await Promise.all([
    page.waitForEvent("download"),
    page.goto("/mismatches").then(() => page.getByText("Download as CSV").click()),
  ]);
  expect(csv.suggestedFilename()).toBe("mismatches.csv");

  const writer = await browser.newPage({ baseUrl, token: WRITE_TOKEN });
  await writer.goto("/mismatches/1");
  await writer.getByLabel("Note").fill("I may");
  await writer.getByRole("button", { name: "Acknowledge" }).click();
  await notice(writer).waitFor();
  expect(await writer.locator("table.history tbody").textContent()).toContain("writer");
});

test("one mismatch shows both sides, their reports in one order of time, and the fetch that confirmed the difference", async () => {
  const page = await browser.newPage({ baseUrl: await serveDashboard(context) });
  await page.goto("/mismatches/1");
  expect(await page.title()).toBe("payout-differs in P1, 5.25 THB, open · wallet-recon");
  expect(await page.locator(".sides tr.differs").allInnerTexts()).toEqual([
    expect.stringMatching(/^Payout\s+30\.75\s+25\.50\s+differs$/),
    expect.stringMatching(/^Moved in the wallet\s+20\.75 asked for\s+15\.50\s+differs$/),
  ]);
  const words = await page.locator("table.timeline tbody tr").allInnerTexts();
  expect(words.map((text) => text.replace(/\s+/g, " "))).toEqual([
    expect.stringMatching(/^2026-11-20 11:55:00 ledger placeBets OPEN bet-0 .*100\.00 → 90\.00/),
    expect.stringMatching(/^2026-11-20 11:56:00 ledger settleBets SETTLED bet-0 .*25\.50/),
    expect.stringMatching(/^2026-11-20 11:57:00 provider record SETTLED rec-0 .*30\.75/),
  ]);
  expect(await page.getByRole("row", { name: /^live 2026-11-20 11:00:00/ }).count()).toBe(1);
});

test("the key / leads to the search, but is a letter while one types", async () => {
  const page = await browser.newPage({ baseUrl: await serveDashboard(context) });
  await page.goto("/mismatches");
  await isLive(page);
  await page.keyboard.press("/");
  await page.keyboard.type("bet-1/x");
  expect(await page.getByRole("searchbox", { name: "Search" }).inputValue()).toBe("bet-1/x");
});
