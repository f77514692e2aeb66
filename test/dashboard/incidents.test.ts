import { beforeEach, expect, test } from "vitest";
import { noteDelivered } from "../../src/alerts/delivery-store.ts";
import { parseConfig } from "../../src/config-file.ts";
import { silentLog } from "../../src/log.ts";
import { useBrowser } from "../support/browser.ts";
import { createTestClock } from "../support/clock.ts";
import { READ_TOKEN, TOKENS, useDashboard, WRITE_TOKEN } from "../support/dashboard.ts";
import { emptyTables, useDatabase } from "../support/database.ts";
import { amount, MINUTE_MS, NOON } from "../support/examples.ts";
import { openMismatches, readStatuses } from "../support/open-mismatches.ts";

const { sql } = useDatabase();
const browser = useBrowser();
const serveDashboard = useDashboard();
const clock = createTestClock(NOON);
const config = parseConfig({ products: [{ productId: "P1" }, { productId: "P2" }] });
const context = { sql, config, clock, log: silentLog };

/** Incident 1: twelve of P1, in two currencies. Incident 2: one of P2. */
beforeEach(async () => {
  await emptyTables(sql);
  clock.set(NOON);
  const some = (count: number, from: number) =>
    Array.from({ length: count }, (_, index) => ({
      betId: `bet-${from + index}`,
      amountAtRisk: amount("1000"),
    }));
  await openMismatches(sql, config, clock.now(), some(10, 1));
  clock.advance(20 * MINUTE_MS);
  await openMismatches(sql, config, clock.now(), [
    { betId: "bet-11", currency: "USD", amountAtRisk: amount("0.5") },
    { betId: "bet-12", amountAtRisk: amount("1234567.891"), reason: "paid out 1234567.891 THB too much" },
    { betId: "bet-13", productId: "P2", kind: "stake-differs" },
  ]);
});

test("the list of incidents can begin with the most money at risk, of one currency or within each", async () => {
  const page = await browser.newPage({ baseUrl: await serveDashboard(context) });
  await page.goto("/incidents");
  const rows = () => page.getByRole("region", { name: "List" }).locator("tbody tr").allInnerTexts();
  expect((await rows()).map((row) => /#(\d+)/.exec(row)?.[1])).toEqual(["2", "1"]);
  await page.getByLabel("First").selectOption("most at risk");
  await page.getByRole("button", { name: "Filter" }).click();
  await page.getByText("By currency, and of each currency those with the most money at risk first").waitFor();
  expect((await rows()).map((row) => /#(\d+)/.exec(row)?.[1])).toEqual(["1", "2"]);
  await page.getByLabel("Currency").fill("USD");
  await page.getByRole("button", { name: "Filter" }).click();
  await page.getByText("Those with the most USD at risk first").waitFor();
  expect(await rows()).toHaveLength(1);
  expect(new URL(page.url()).search).toBe("?state=open&currency=USD&sort=at-risk");
});

test("the list of incidents is filtered by the provider's answer and the time of the bet, on the visitor's clocks", async () => {
  await sql`update incidents set with_provider = ${NOON}, ticket = 'PRV-1' where id = 1`;
  await sql`update mismatches set occurred_at = '2026-11-18T03:00:00Z' where id = 13`;
  const page = await browser.newPage({ baseUrl: await serveDashboard(context) });
  await page.goto("/incidents");
  const ids = () => page.locator("tr[id^=incident-]").evaluateAll((all) => all.map(({ id }) => id.slice(9)));
  await page.getByLabel("Provider's answer").selectOption("awaited");
  await page.getByRole("button", { name: "Filter" }).click();
  await page.waitForURL("**/incidents?state=open&withProvider=true");
  expect(await ids()).toEqual(["1"]);
  await page.getByLabel("Provider's answer").selectOption("all");
  await page.getByLabel("Happened before").fill("2026-11-19T00:00");
  await page.getByRole("button", { name: "Filter" }).click();
  await page.waitForURL("**/incidents?state=open&happenedTo=*");
  expect(new URL(page.url()).searchParams.get("happenedTo")).toMatch(/^2026-11-19T00:00.*Z$/);
  expect(await ids()).toEqual(["2"]);
  expect((await page.goto("/incidents?happenedFrom=monday"))?.status()).toBe(400);
  expect(await page.locator("[role=alert]").innerText()).toBe(
    '“Happened from” must be a time such as 2026-11-20 10:00, but is "monday"',
  );
});

test("the list of incidents can begin with the earliest reminder, and an owner's name leads to the list of that owner", async () => {
  const page = await browser.newPage({ baseUrl: await serveDashboard(context) });
  const ids = () => page.locator("tr[id^=incident-]").evaluateAll((all) => all.map(({ id }) => id.slice(9)));
  await page.goto("/incidents?sort=remind-at");
  await page.getByText("There is no such incident.").waitFor();
  await sql`update incidents set owner = 'Mia & co', remind_at = ${NOON} where id = 1`;
  await sql`update incidents set owner = 'tom', remind_at = ${NOON + MINUTE_MS} where id = 2`;
  await page.goto("/incidents?product=P1&currency=THB");
  await page.getByLabel("First").selectOption("earliest reminder");
  await page.getByRole("button", { name: "Filter" }).click();
  await page.getByText("Those with a reminder, the earliest first").waitFor();
  expect(await ids()).toEqual(["1"]);
  await page.getByRole("link", { name: "Mia & co" }).click();
  await page.waitForURL("**/incidents?*owner=Mia*");
  const { pathname, searchParams } = new URL(page.url());
  expect([pathname, Object.fromEntries(searchParams)]).toEqual([
    "/incidents",
    { state: "open", product: "P1", owner: "Mia & co", currency: "THB", sort: "remind-at" },
  ]);
  expect(await ids()).toEqual(["1"]);

  await page.goto("/incidents?sort=remind-at&limit=1");
  expect(await ids()).toEqual(["1"]);
  await page.getByRole("link", { name: "More" }).click();
  await page.waitForURL("**/incidents?*after=*");
  expect(await ids()).toEqual(["2"]);
  await page.getByRole("link", { name: "tom" }).click();
  await page.waitForURL("**/incidents?state=open&owner=tom&sort=remind-at");
  expect(await ids()).toEqual(["2"]);
  await page.goto("/");
  await page.getByRole("link", { name: "tom" }).click();
  await page.waitForURL("**/incidents?owner=tom");
});

test("selected incidents get an owner at once, who may decide; a refusal keeps the selection", async () => {
  const base = await serveDashboard(context, TOKENS);
  const page = await browser.newPage({ baseUrl: base, token: WRITE_TOKEN });
  const owners = () => sql`select owner from incidents order by id`;
  await page.goto("/incidents?state=all&sort=at-risk");
  await page.getByRole("button", { name: "Assign to me" }).click();
  await page.getByText("Not done: no incident is selected.").waitFor();
  await page.getByLabel("Select incident 2").check();
  await page.getByText("1 selected", { exact: true }).waitFor();
  await page.getByLabel("New owner").fill("Nobody");
  await page.getByRole("button", { name: "Assign", exact: true }).click();
  await page.getByText('Not done: owner "Nobody" is written "nobody".').waitFor();
  expect(await page.getByLabel("Select incident 2").isChecked()).toBe(true);
  await page.getByLabel("New owner").fill("mia");
  await page.getByRole("button", { name: "Assign", exact: true }).click();
  await page.getByText("1 incident assigned.").waitFor();
  expect(new URL(page.url()).search).toBe("?state=all&sort=at-risk");
  expect(await owners()).toEqual([{ owner: null }, { owner: "mia" }]);
  await page.getByLabel("All on this page").check();
  await page.getByText("2 selected", { exact: true }).waitFor();
  await page.getByRole("button", { name: "Assign to me" }).click();
  await page.getByText("2 incidents assigned.").waitFor();
  expect(await owners()).toEqual([{ owner: "writer" }, { owner: "writer" }]);

  const reader = await browser.newPage({ baseUrl: base, token: READ_TOKEN });
  await reader.goto("/incidents");
  expect(await reader.locator("#incident-1").count()).toBe(1);
  expect(await reader.getByRole("checkbox").count()).toBe(0);
});

test("the overview begins with the open incidents, each with its money, and leads to them", async () => {
  const page = await browser.newPage({ baseUrl: await serveDashboard(context) });
  await page.goto("/");
  await page.getByRole("heading", { name: "2 open incidents" }).waitFor();
  expect((await page.locator("#incident-1").innerText()).replace(/\s+/g, " ")).toMatch(
    /^payout-differs #1: the two sides have .* P1 nobody 20 min ago 0 s ago 12 1 244 567\.891 THB 0\.50 USD$/,
  );
  await page.locator("#incident-1").getByRole("link").click();
  await page.getByRole("heading", { name: "payout-differs in P1" }).waitFor();
  const said = await page.getByRole("region", { name: "What it is" }).innerText();
  expect(said).toContain("Since 2026-11-20 12:00:00 (20 min ago), the two sides have the same bet");
  expect(said).toContain("12 mismatches (all open), 1\u202f244\u202f567.891 THB and 0.50 USD at risk.");
  expect(said).toContain("It is growing: 2 came in the last 5 min, the newest at 2026-11-20 12:20:00.");
  expect(await page.getByRole("region", { name: "The largest mismatches" }).innerText()).toContain(
    "paid out 1\u202f234\u202f567.891 THB too much",
  );
  const sums = page.getByRole("group", { name: "Mismatches by status and currency, table", exact: true });
  expect((await sums.locator("tbody tr td:first-child").allInnerTexts()).sort()).toEqual([
    "open THB",
    "open USD",
  ]);
  const trend = await page.getByRole("img", { name: /^New mismatches from/ }).getAttribute("aria-label");
  expect(trend).toBe("New mismatches from 2026-11-20 11:32:00 to 2026-11-20 12:20:00: at most 10 in 1 min");
  clock.advance(6 * MINUTE_MS);
  await page.reload();
  await page.getByText("It is not growing: 2 came at 2026-11-20 12:20:00; none since.").waitFor();
  await sql`update mismatches set first_seen_at = first_seen_at - interval '52 s' where id = 11`;
  await page.reload();
  await page.getByText("2 came between 2026-11-20 12:19:08 and 2026-11-20 12:20:00; none since.").waitFor();
});

test("an incident says how many of its mismatches are decided, and does not count those with which it began as growth", async () => {
  await sql`update mismatches set status = 'acknowledged' where id = 2`;
  const page = await browser.newPage({ baseUrl: await serveDashboard(context) });
  const said = async () => await page.getByRole("region", { name: "What it is" }).innerText();
  await page.goto("/incidents/1");
  expect(await said()).toContain("12 mismatches: 11 open, 1 acknowledged, ");
  clock.advance(MINUTE_MS);
  await page.goto("/incidents/2");
  expect(await said()).toContain("1 mismatch (open), ");
  expect(await said()).toContain("It has not grown since it began.");
});

test("an incident whose mismatches are all acknowledged says so, and comes after the undecided ones", async () => {
  await sql`update mismatches set status = 'acknowledged' where product_id = 'P1'`;
  const page = await browser.newPage({ baseUrl: await serveDashboard(context) });
  await page.goto("/");
  const rows = page.locator("[id^=incident-]");
  expect(await rows.evaluateAll((all) => all.map(({ id }) => id))).toEqual(["incident-2", "incident-1"]);
  expect((await rows.last().innerText()).replace(/\s+/g, " ")).toContain(" 0 12 acknowledged ");
  const said = await page.locator("main").innerText();
  expect(said).toContain("1 mismatch is open");
  expect(said).toContain("13 mismatches: 1 open, 12 acknowledged");
});

test("the list begins with undecided incidents, the newest growth first, and the overview says how much the others are about", async () => {
  const kinds = [
    "status-differs",
    "net-differs",
    "round-differs",
    "session-differs",
    "balance-differs",
  ] as const;
  for (const kind of kinds) {
    clock.advance(MINUTE_MS);
    await openMismatches(sql, config, clock.now(), [{ betId: `${kind}`, kind, amountAtRisk: amount("500") }]);
  }
  clock.advance(MINUTE_MS);
  await openMismatches(sql, config, clock.now(), [{ betId: "bet-99", amountAtRisk: amount("1") }]);
  await sql`update mismatches set status = 'acknowledged' where kind = 'balance-differs'`;
  const page = await browser.newPage({ baseUrl: await serveDashboard(context) });
  const shown = async (path: string) => {
    await page.goto(path);
    const ids = await page
      .locator("tr[id^=incident-]")
      .evaluateAll((all) => all.map(({ id }) => id.slice(9)));
    return ids.join(" ");
  };
  expect(await shown("/incidents")).toBe("1 6 5 4 3 2 7");
  expect(await shown("/incidents?limit=3&after=5")).toBe("4 3 2");
  expect(await shown("/incidents?limit=3&after=2")).toBe("7");
  expect(await shown("/")).toBe("1 6 5 4 3");
  const others = page.getByRole("link", { name: "2 more" });
  expect(await others.innerText()).toBe("2 more, 504.50 THB at risk");
});

test("what is decided asks nobody to do anything, and says that its money was at risk", async () => {
  const page = await browser.newPage({ baseUrl: await serveDashboard(context, TOKENS), token: WRITE_TOKEN });
  const main = async () => (await page.locator("main").innerText()).replace(/\s+/g, " ");
  await page.goto("/incidents/2");
  const toDo = "Find out which side is wrong.";
  expect(await main()).toContain(toDo);
  await page.getByRole("link", { name: "#13" }).click();
  await page.getByLabel("Note", { exact: true }).fill("ticket 8");
  expect(await main()).toContain(toDo);
  await page.getByRole("button", { name: "Resolve" }).click();
  await page.getByText("Nothing: this mismatch is resolved.").waitFor();
  expect(await main()).not.toContain(toDo);
  expect(await main()).toContain("Was at risk");
  await page.goto("/incidents/2");
  expect(await main()).not.toContain(toDo);
  expect(await main()).toMatch(/It began .* means: the two sides have the same bet with different stakes\./);
  expect(await main()).not.toContain(" At risk");
  await page.goto("/incidents?state=over");
  expect((await page.locator("#incident-2").innerText()).replace(/\s+/g, " ")).toMatch(
    / 0 of 1 was [\d.]+ THB$/,
  );
});

test("an incident that is over says what was at risk, and which of it a newer incident counts", async () => {
  const page = await browser.newPage({ baseUrl: await serveDashboard(context) });
  const said = async () => {
    await page.goto("/incidents/1");
    const text = await page.getByRole("region", { name: "What it is" }).innerText();
    return text.replace(/\s+/g, " ").match(/none of .* any more\. (.*?\.) (?=Evidence)/)?.[1];
  };
  await sql`update mismatches set status = 'resolved' where product_id = 'P1'`;
  await sql`update incidents set ended_at = ${clock.now()}, open = 0 where id = 1`;
  expect(await said()).toBe("The money at risk was 1 244 567.891 THB and 0.50 USD.");
  await sql`update incident_members set incident_id = 2 where incident_id = 1 and mismatch_id <> 11`;
  expect(await said()).toBe(
    "11 of its mismatches came back later and count in a newer incident, or were deleted. The money at risk was 0.50 USD in the other 1.",
  );
  await sql`update incident_members set incident_id = 2 where incident_id = 1`;
  expect(await said()).toBe(
    "12 of its mismatches came back later and count in a newer incident, or were deleted.",
  );
});

test("one decision for the whole incident is shown with its count and money first, done, and undone", async () => {
  const page = await browser.newPage({ baseUrl: await serveDashboard(context, TOKENS), token: WRITE_TOKEN });
  await page.goto("/incidents/1");
  await page.getByLabel("Note").fill("one lost batch, ticket 7");
  await page.getByRole("button", { name: "Resolve" }).click();
  await page.getByRole("heading", { name: "Resolve 12 mismatches?" }).waitFor();
  expect(await page.locator("main").innerText()).toContain("1\u202f244\u202f567.891");
  expect(await readStatuses(sql)).not.toContain("resolved");
  expect(await page.getByRole("link", { name: "Back", exact: true }).getAttribute("href")).toBe(
    "/incidents/1",
  );
  await page.getByRole("button", { name: "Resolve 12 mismatches" }).click();
  await page.getByText("12 mismatches resolved").waitFor();
  expect(new URL(page.url()).pathname).toBe("/incidents/1");
  expect((await readStatuses(sql)).match(/resolved/g)).toHaveLength(12);
  const notes =
    await sql`select by, note from mismatch_events where to_status = 'resolved' group by by, note`;
  expect(notes).toEqual([{ by: "writer", note: "one lost batch, ticket 7" }]);
  await page.getByRole("button", { name: "Undo" }).click();
  await page.getByText("Undone: 12 mismatches are as before.").waitFor();
  const main = async () => (await page.locator("main").innerText()).replace(/\s+/g, " ");
  await page.goto("/incidents/1");
  expect(await main()).toContain("12 mismatches (all open), 1 244 567.891 THB and 0.50 USD at risk.");
  expect(await main()).toContain("Since 2026-11-20 12:00:00 (20 min ago)");
  await page.goto("/incidents?state=all");
  expect(await page.locator("tbody tr").count()).toBe(2);
});

test("the incident says who was notified of what and when, and what still waits", async () => {
  const [opened] = await sql<
    { id: number }[]
  >`select id from alerts where kind = 'incident-opened' order by id`;
  await noteDelivered(sql, "webhook", opened?.id ?? 0, NOON + MINUTE_MS);
  await sql`insert into alert_deliveries (alert_id, channel, attempts, last_error) values (${opened?.id ?? 0}, 'slack', 3, 'HTTP 400')`;
  const page = await browser.newPage({ baseUrl: await serveDashboard(context, TOKENS), token: READ_TOKEN });
  await page.goto("/incidents/1");
  const rows = await page
    .getByRole("region", { name: "Who was notified" })
    .locator("tbody tr")
    .allInnerTexts();
  expect(rows.map((row) => row.replace(/\s+/g, " "))).toEqual([
    expect.stringMatching(
      /^2026-11-20 12:00:00 new payout-differs in P1: 10 mismatches.* slack waits, 3 attempts: HTTP 400$/,
    ),
    expect.stringMatching(/^2026-11-20 12:00:00 new .* webhook 2026-11-20 12:01:00 1 attempt$/),
  ]);
  expect(await page.getByRole("region", { name: "Who was notified" }).innerText()).toContain(
    "The last alert, written 2026-11-20 12:00:00, reported 10; now there are 12 mismatches. The next one is sent when the incident has grown tenfold since.",
  );
});

test("wrong filters and unknown incidents are named", async () => {
  const page = await browser.newPage({ baseUrl: await serveDashboard(context) });
  expect((await page.goto("/incidents?state=lost&product=P1"))?.status()).toBe(400);
  expect(await page.locator("[role=alert]").innerText()).toContain('there is no state "lost"');
  expect(await page.getByLabel("Product").inputValue()).toBe("P1");
  for (const id of ["99", "x", "%00"]) expect((await page.goto(`/incidents/${id}`))?.status()).toBe(404);
  expect((await page.goto("/mismatches?incident=x"))?.status()).toBe(400);
  expect(await page.locator("[role=alert]").innerText()).toContain(
    '“Incident” "x" is not the id of an incident',
  );
});
