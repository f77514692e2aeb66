import type { Page } from "playwright-core";
import { beforeEach, expect, test } from "vitest";
import { appendEntries } from "../../src/ledger/store.ts";
import { writeRecords } from "../../src/sync/record-store.ts";
import { useClosing } from "../flows/closing/closing-world.ts";
import { useBrowser } from "../support/browser.ts";
import { createTestClock } from "../support/clock.ts";
import { READ_TOKEN, TOKENS, useDashboard, WRITE_TOKEN } from "../support/dashboard.ts";
import { emptyTables, useDatabase } from "../support/database.ts";
import { amount, exampleEntry, exampleRecord, exampleSettle, HOUR_MS, NOON } from "../support/examples.ts";

const { sql } = useDatabase();
const browser = useBrowser();
const serveDashboard = useDashboard();
const clock = createTestClock(NOON);
const { context: contextOf, fetched, close, correct } = useClosing(sql, clock);
const context = contextOf();
const TODAY = Date.parse("2026-11-20T00:00:00Z");
const DAY_MS = 24 * HOUR_MS;

/** Three days are complete; a bet of the 20th agrees. */
beforeEach(async () => {
  await emptyTables(sql);
  await fetched(TODAY - DAY_MS, TODAY + 2 * DAY_MS);
  const at = { occurredAt: NOON, receivedAt: NOON };
  await appendEntries(sql, [exampleEntry(at), exampleSettle({ ...at, payoutAmount: amount("20") })]);
  await list("20");
  clock.set(TODAY + 2 * DAY_MS + HOUR_MS);
});

async function list(payout: string): Promise<void> {
  const accountingDate = new Date(NOON).toISOString();
  const record = exampleRecord({ payout: amount(payout), accountingDate, updatedDate: accountingDate });
  await sql.begin((tx) => writeRecords(tx, "P1", [record], { requestedAt: NOON, now: NOON }));
  await sql`delete from diff_marks`;
}

async function cellsOf(page: Page, table: string, day: string): Promise<string> {
  const row = page
    .getByRole("group", { name: `${table}, table`, exact: true })
    .getByRole("row", { name: new RegExp(`^${day}`) });
  return (await row.innerText()).replaceAll("\t", " | ").replace(/[ \n\u202f]+/g, " ");
}

test("a day is closed from its page after a question, by keyboard; an open page elsewhere shows it at once", async () => {
  const baseUrl = await serveDashboard(context, TOKENS);
  const mary = await browser.newPage({ baseUrl, token: WRITE_TOKEN });
  const eye = await browser.newPage({ baseUrl, token: READ_TOKEN });
  await eye.goto("/report?month=2026-11");
  expect(await cellsOf(eye, "Days", "2026-11-19")).toMatch(/open .*The day is complete and can be closed\.$/);
  await eye.locator('#connection[data-state="live"]').waitFor();
  await mary.goto("/report?day=2026-11-20");
  await mary.getByText("This day is open: its figures change with the data. The day is complete").waitFor();
  await mary.getByRole("link", { name: "Close the day" }).focus();
  await mary.keyboard.press("Enter");
  await mary.getByRole("heading", { name: "Close 2026-11-20?" }).waitFor();
  expect(await sql`select from closed_days`).toHaveLength(0);
  await mary.getByRole("button", { name: "Close 2026-11-20" }).focus();
  await mary.keyboard.press("Enter");
  await mary.getByText("2026-11-20 is closed with number 1.").waitFor();
  const [{ hash } = { hash: "" }] = await sql<{ hash: string }[]>`select hash from closed_days`;
  await mary.getByText(`hash ${hash}`).waitFor();
  await eye.getByText("2026-11 in UTC: 1 closed day, 29 open.").waitFor();
  expect(await cellsOf(eye, "Days", "2026-11-20")).toMatch(
    new RegExp(`closed \\| 1 \\| 2026-11-22 01:00:00 \\| ${hash.slice(0, 12)}… \\| 0`),
  );
  expect(await cellsOf(eye, "Days", "2026-11-01 to 2026-11-19")).toContain("before the first closed day");
  const audit = await sql`select who, route, details, status from audit_log where route <> '/sign-in'`;
  expect(audit).toEqual([
    { who: "writer", route: "/report/close", details: '{"day":"2026-11-20"}', status: 303 },
  ]);
});

test("the days before the first fetched one are one line, and the button is named only to a user who may use it", async () => {
  const baseUrl = await serveDashboard(context, TOKENS);
  const mary = await browser.newPage({ baseUrl, token: WRITE_TOKEN });
  const eye = await browser.newPage({ baseUrl, token: READ_TOKEN });
  for (const page of [mary, eye]) {
    await page.goto("/report?month=2026-11");
    expect(await cellsOf(page, "Days", "2026-11-01 to 2026-11-18")).toContain("before the first fetched day");
    expect(await page.getByRole("main").innerText()).not.toContain("recon close");
  }
  expect(await cellsOf(mary, "Days", "2026-11-19")).toContain("“Close the month” closes it.");
  expect(await cellsOf(eye, "Days", "2026-11-19")).not.toContain("Close the");
  await mary.goto("/report?day=2026-11-19");
  await mary.getByText("can be closed. “Close the day” closes it.").waitFor();
});

test("a month is closed up to the first day that must stay open, and the page says why that one does", async () => {
  await sql`update windows set status = 'gap' where from_at = ${TODAY + DAY_MS}`;
  const page = await browser.newPage({ baseUrl: await serveDashboard(context) });
  await page.goto("/report");
  await page.getByRole("textbox", { name: "Month" }).fill("2026-11");
  await page.getByRole("button", { name: "Show the month" }).click();
  await page.getByRole("link", { name: "Close the month" }).click();
  await page.getByRole("heading", { name: "Close 2026-11?" }).waitFor();
  await page.getByRole("button", { name: "Close 2026-11" }).click();
  const notice = page.locator("#notice");
  await notice.getByText("2 days are closed, 2026-11-19 to 2026-11-20.").waitFor();
  expect(await notice.innerText()).toContain(
    "2026-11-21 stays open. P1 was not fetched from 2026-11-21 00:00:00",
  );
  expect(await cellsOf(page, "Days", "2026-11-21")).toContain("P1 was not fetched from 2026-11-21 00:00:00");
  const csv = await page.request.get("/report.csv?month=2026-11");
  expect((await csv.text()).split("\n").filter((line) => line.startsWith("2026-11-20,UTC,P1"))).toHaveLength(
    1,
  );
});

test("a correction stands with its bet, both amounts and the reason, on its day, on the day it arrived and in its month", async () => {
  await close("2026-11-20");
  await list("25");
  await correct();
  const page = await browser.newPage({ baseUrl: await serveDashboard(context, TOKENS), token: READ_TOKEN });
  const said =
    /^2026-11-20 \| P1 \| \S+ \| bet-1 \| 10\.00 → 15\.00 THB \| 10\.00 THB as before \| 5\.00 THB \| .*payout.* \| \S+ \S+$/;
  await page.goto("/report?day=2026-11-20");
  await page.getByRole("columnheader", { name: "change of the difference" }).waitFor();
  expect(await cellsOf(page, "Corrections of this day", "2026-11-20")).toMatch(said);
  await page.getByRole("link", { name: "The month 2026-11" }).click();
  expect(await cellsOf(page, "Corrections of closed days", "2026-11-20")).toMatch(said);
  expect(await cellsOf(page, "Days", "2026-11-20")).toMatch(/… \| 1/);
  const [{ day } = { day: "" }] = await sql<{ day: string }[]>`
    select (at at time zone 'UTC')::date::text as day from corrections`;
  await page.goto(`/report?day=${day}`);
  expect(await cellsOf(page, "Corrections of earlier days that arrived on this day", "2026-11-20")).toMatch(
    said,
  );
});

test("the check of the closed days names the first one that was altered, also to a user who may only read", async () => {
  const page = await browser.newPage({ baseUrl: await serveDashboard(context, TOKENS), token: READ_TOKEN });
  await page.goto("/report/verify");
  await page.getByText("No day is closed yet.").waitFor();
  await close("2026-11-20");
  await close("2026-11-21");
  await page.goto("/report?day=2026-11-21");
  await page.getByRole("link", { name: "Verify the closed days" }).click();
  await page.getByText("Closed days: 2. No stored statement was altered.").waitFor();
  await sql`update closed_days set statement = jsonb_set(statement, '{rows}', '[]') where day = '2026-11-20'`;
  await page.reload();
  await page
    .getByText("The closed day 2026-11-20 was altered: its statement does not have its hash.")
    .waitFor();
});

test("the page of a day without a bet says that it was not fetched, or is in the future", async () => {
  const page = await browser.newPage({ baseUrl: await serveDashboard(context) });
  for (const [day, said] of [
    ["1999-01-01", "This day was not fetched, so nothing is known of it"],
    ["2026-12-25", "The day is in the future: it begins at 2026-12-25 00:00:00."],
  ] as const) {
    await page.goto(`/report?day=${day}`);
    await page.getByText(said).waitFor();
  }
});

test("a day that has not ended is not offered for closing, and its refusal is in the person's zone", async () => {
  const baseUrl = await serveDashboard(context);
  const page = await browser.newPage({ baseUrl });
  await page.context().addCookies([{ name: "recon_zone", value: "Asia/Bangkok", url: baseUrl }]);
  for (const asked of ["day=2026-11-22", "day=2030-01-01", "month=2030-01"]) {
    await page.goto(`/report?${asked}`);
    await page.getByText("Verify the closed days").or(page.getByText("This day is open")).first().waitFor();
    expect([asked, await page.getByRole("link", { name: /^Close the/ }).count()]).toEqual([asked, 0]);
    await page.goto(`/report/close?${asked}`);
    expect([asked, await page.locator("main form").count()]).toEqual([asked, 0]);
  }
  await page.request.post("/report/close", {
    form: { day: "2026-11-22" },
    headers: { "sec-fetch-site": "same-origin" },
    maxRedirects: 0,
  });
  await page.goto("/report?day=2026-11-20");
  expect(await page.locator("#notice").innerText()).toContain("The day ends at 2026-11-23 07:00:00,");
  expect(await page.getByRole("link", { name: "Close the day" }).count()).toBe(1);
});

test("before the first day is closed, the question warns that no earlier day can follow, and names the first one", async () => {
  const page = await browser.newPage({ baseUrl: await serveDashboard(context) });
  await page.goto("/report/close?day=2026-11-20");
  await page.getByText("no day before 2026-11-20 can ever be closed").waitFor();
  const earlier = page.getByRole("link", { name: "2026-11-19" });
  expect(await earlier.getAttribute("href")).toBe("/report/close?day=2026-11-19");
  await earlier.click();
  await page.getByText("no day before 2026-11-19 can ever be closed").waitFor();
  expect(await page.getByText("The first whole day that was pulled").count()).toBe(0);
  await close("2026-11-19");
  await page.goto("/report/close?day=2026-11-20");
  await page.getByRole("button", { name: "Close 2026-11-20" }).waitFor();
  expect(await page.getByText("can ever be closed").count()).toBe(0);
});

test("days before the first closed one are not offered for closing", async () => {
  const page = await browser.newPage({ baseUrl: await serveDashboard(context) });
  await close("2026-11-20");
  for (const asked of ["day=2026-11-19", "month=2026-10"]) {
    await page.goto(`/report?${asked}`);
    await page.getByText("It lies before the first closed day, 2026-11-20").first().waitFor();
    expect([asked, await page.getByRole("link", { name: /^Close the/ }).count()]).toEqual([asked, 0]);
    await page.goto(`/report/close?${asked}`);
    expect([asked, await page.locator("main form").count()]).toEqual([asked, 0]);
  }
  await page.goto("/report?month=2026-11");
  expect(await page.getByRole("link", { name: "Close the month" }).count()).toBe(1);
});

test("a user who may only read is not led to closing, and wrong dates are named", async () => {
  const baseUrl = await serveDashboard(context, TOKENS);
  const eye = await browser.newPage({ baseUrl, token: READ_TOKEN });
  await eye.goto("/report?day=2026-11-20");
  expect(await eye.getByRole("link", { name: "Close the day" }).count()).toBe(0);
  const headers = { "sec-fetch-site": "same-origin" };
  const mary = await browser.newPage({ baseUrl, token: WRITE_TOKEN });
  const send = (form: Record<string, string>) =>
    mary.request.post("/report/close", { form, headers, maxRedirects: 0 });
  expect((await send({ day: "2026-11-31" })).status()).toBe(400);
  expect((await send({ day: "2026-11-20", month: "2026-11" })).status()).toBe(400);
  expect((await send({})).status()).toBe(400);
  expect((await send({ day: "2026-11-22" })).status()).toBe(303);
  await mary.goto("/report?day=2026-11-22");
  await mary.getByText("2026-11-22 stays open. The day ends at").waitFor();
  expect((await mary.goto("/report?month=2026-13"))?.status()).toBe(400);
  expect(await mary.getByRole("textbox", { name: "Month" }).inputValue()).toBe("2026-13");
  expect(await mary.locator("[aria-invalid=true]").count()).toBe(1);
});

test("an invoice is checked on its page by a reader: what is left stands beside each figure, and nothing is stored", async () => {
  await close("2026-11-20");
  const page = await browser.newPage({ baseUrl: await serveDashboard(context, TOKENS), token: READ_TOKEN });
  await page.goto("/report?month=2026-11");
  await page.getByRole("link", { name: "Check the invoice" }).click();
  expect(await page.getByLabel("Month").inputValue()).toBe("2026-11");
  const send = async (text: string) => {
    await page
      .getByLabel("File", { exact: true })
      .setInputFiles({ name: "invoice.csv", mimeType: "text/csv", buffer: Buffer.from(text) });
    await page.getByRole("button", { name: "Check", exact: true }).focus();
    await page.keyboard.press("Enter");
  };
  await send("product;currency;turnover;ggr\nP1;THB;10.00;-9.00\n");
  await page.getByText("Not explained: P1 THB. 29 of its days are open, and in no closed figure.").waitFor();
  expect(await cellsOf(page, "Figures", "2 P1 turnover")).toBe(
    "2 | P1 | turnover | THB | 10.00 | 10.00 | 0.00 | 0.00 | 0.00",
  );
  expect(await page.locator("strong.differs").allInnerTexts()).toEqual(["1.00"]);
  await send("product,currency,turnover,ggr\nP1,THB,10.00,much\n");
  await page.getByText('line 2: ggr must be a decimal number such as 1234.50, but is "much"').waitFor();
  expect(await page.getByLabel("Month").inputValue()).toBe("2026-11");
  await page.getByLabel("Month").fill("2026-13");
  await send("product,currency,turnover,ggr\nP1,THB,10.00,-10\n");
  await page.getByText("“Month” must be a month such as 2026-11").waitFor();
  expect(await sql`select from audit_log where route = '/report/invoice'`).toEqual([]);
});
