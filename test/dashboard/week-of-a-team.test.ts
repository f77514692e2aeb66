/** A week of three people with ten mismatches, in the browser: who works on what, and how many clicks each step takes. */

import type { Locator, Page } from "playwright-core";
import { beforeEach, expect, test } from "vitest";
import { parseConfig } from "../../src/config-file.ts";
import { remindOfCases } from "../../src/flows/alerts/watch-conditions.ts";
import { silentLog } from "../../src/log.ts";
import { useBrowser } from "../support/browser.ts";
import { createTestClock } from "../support/clock.ts";
import { useDashboard } from "../support/dashboard.ts";
import { emptyTables, useDatabase } from "../support/database.ts";
import { amount, HOUR_MS, NOON } from "../support/examples.ts";
import { openMismatches } from "../support/open-mismatches.ts";

const { sql } = useDatabase();
const browser = useBrowser();
const serveDashboard = useDashboard();
const MONDAY_MORNING = NOON + 3 * 24 * HOUR_MS - 4 * HOUR_MS;
const clock = createTestClock(MONDAY_MORNING);
const config = parseConfig({ products: [{ productId: "P1" }] });
const context = { sql, config, clock, log: silentLog };
const TEAM = ["mia", "tom", "ann"].map((name) => ({
  name,
  role: "write" as const,
  token: `the-long-token-of-${name}`,
}));

beforeEach(async () => {
  await emptyTables(sql);
  clock.set(MONDAY_MORNING);
  const findings = Array.from({ length: 10 }, (_, index) => ({
    betId: `bet-${index + 1}`,
    username: "player-7",
    amountAtRisk: amount(String(100 - index)),
  }));
  await openMismatches(sql, config, clock.now(), findings);
});

/** A person at a browser, whose clicks are counted. A choice in a list, and a box, are one each. */
async function signIn(name: string) {
  const token = TEAM.find((one) => one.name === name)?.token ?? "";
  const page = await browser.newPage({ baseUrl: await serveDashboard(context, TEAM), token });
  await page.goto("/mismatches");
  let clicks = 0;
  const press = async (found: Locator) => {
    clicks += 1;
    await found.click();
  };
  const hand = {
    page,
    press,
    button: (text: string) => press(page.getByRole("button", { name: text, exact: true })),
    choose: async (label: string, option: string) => {
      clicks += 1;
      await page.locator("#filters").getByLabel(label).selectOption({ label: option });
    },
    tick: async (label: string) => {
      clicks += 1;
      await page.getByLabel(label, { exact: true }).check();
    },
    type: (label: string, text: string) => page.getByRole("textbox", { name: label, exact: true }).fill(text),
    open: (id: number) => press(page.locator(`#m${id} a`).first()),
    /** the clicks since the last call */
    clicks: () => {
      const counted = clicks;
      clicks = 0;
      return counted;
    },
  };
  return hand;
}

const said = async (page: Page) => await page.locator("#notice p").textContent();
const owners = async (page: Page) =>
  await page.locator("table.mismatches tbody tr").evaluateAll((rows) =>
    rows.map((row) => {
      const [, id] = /#(\d+)/.exec(row.textContent ?? "") ?? [];
      return `${id} ${/mia|tom|ann|nobody/.exec(row.textContent ?? "")?.[0]}`;
    }),
  );
/** A session ends after a night. */
const dayLater = async (...leaving: readonly { readonly page: Page }[]) => {
  for (const { page } of leaving) await page.close();
  clock.advance(24 * HOUR_MS);
};

test("ten mismatches, three owners, a ticket, a reminder and a hand-over", async () => {
  // Monday: each takes some of the ten.
  const mia = await signIn("mia");
  for (const id of [1, 2, 3, 4]) await mia.tick(`Select mismatch ${id}`);
  await mia.button("Assign to me");
  expect(await said(mia.page)).toBe("4 mismatches changed.");
  expect(mia.clicks()).toBe(5);
  const tom = await signIn("tom");
  await tom.choose("Owner", "nobody's");
  await tom.button("Filter");
  for (const id of [5, 6, 7]) await tom.tick(`Select mismatch ${id}`);
  await tom.button("Assign to me");
  expect(tom.clicks()).toBe(6);
  const ann = await signIn("ann");
  await ann.choose("Owner", "nobody's");
  await ann.button("Filter");
  await ann.tick("All on this page");
  await ann.button("Assign to me");
  expect(await said(ann.page)).toBe("3 mismatches changed.");
  expect(ann.clicks()).toBe(4);

  // Tuesday: Tom asks the provider, Ann wants to look again on Thursday.
  await dayLater(mia, tom, ann);
  const asking = await signIn("tom");
  await asking.press(asking.page.getByRole("link", { name: "tom" }).first());
  await asking.page.waitForURL("**/mismatches?owner=tom");
  expect(await owners(asking.page)).toEqual(["7 tom", "6 tom", "5 tom"]);
  await asking.open(5);
  await asking.press(asking.page.getByText("Change owner, ticket or reminder"));
  await asking.type("Ticket at the provider", "PRV-77");
  await asking.tick("The provider is to answer");
  await asking.button("Save the ticket");
  expect(asking.clicks()).toBe(5);
  const waiting = await signIn("ann");
  await waiting.open(8);
  await waiting.press(waiting.page.getByText("Change owner, ticket or reminder"));
  await waiting.type("Remind", "2026-11-26 09:00");
  await waiting.button("Save the reminder");
  expect(waiting.clicks()).toBe(3);

  // Wednesday: Mia is ill, and Tom hands her four over to Ann.
  await dayLater(asking, waiting);
  const handing = await signIn("tom");
  await handing.press(handing.page.getByRole("link", { name: "mia" }).first());
  await handing.page.waitForURL("**/mismatches?owner=mia");
  expect(await owners(handing.page)).toEqual(["4 mia", "3 mia", "2 mia", "1 mia"]);
  await handing.tick("All on this page");
  await handing.button("Owner, ticket, reminder …");
  await handing.type("Owner", "ann");
  await handing.button("Assign");
  expect(await said(handing.page)).toBe("4 mismatches changed.");
  expect(handing.clicks()).toBe(4);

  // Thursday: the reminder is due.
  await dayLater(handing);
  clock.advance(2 * HOUR_MS);
  await remindOfCases(context);
  const [due] = await sql`select body ->> 'what' as what from alerts where kind = 'reminder-due'`;
  expect(due?.["what"]).toContain("reminder for ann: mismatch 8");
  const thursday = await signIn("ann");
  await thursday.choose("Reminder", "due");
  await thursday.button("Filter");
  await thursday.open(8);
  await thursday.type("Note", "the provider pays it");
  await thursday.button("Resolve");
  expect(thursday.clicks()).toBe(4);

  // Friday: the provider has answered, and everybody decides what is theirs.
  await dayLater(thursday);
  const decideMine = async (name: string, note: string, result: string) => {
    const hand = await signIn(name);
    await hand.choose("Owner", "mine");
    await hand.button("Filter");
    await hand.tick("All on this page");
    await hand.type("Note", note);
    await hand.button("Resolve");
    expect(await said(hand.page)).toContain(result);
    expect(hand.clicks()).toBe(4);
    return hand;
  };
  await decideMine("tom", "PRV-77: paid by the provider", "3 mismatches resolved");
  const last = await decideMine("ann", "corrected in the wallet", "6 mismatches resolved");
  await last.page.goto("/mismatches");
  await last.page.getByText("No mismatch needs a decision.").waitFor();

  await last.page.goto("/mismatches/5");
  const history = await last.page.locator("table.history tbody tr").allInnerTexts();
  expect(history.map((line) => line.replaceAll(/\s+/g, " "))).toEqual([
    expect.stringContaining("recon open"),
    expect.stringContaining("tom open assigned to tom"),
    expect.stringContaining("tom open ticket PRV-77, with the provider"),
    expect.stringContaining("tom open → resolved PRV-77: paid by the provider"),
  ]);
});
