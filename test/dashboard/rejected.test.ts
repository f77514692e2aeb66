import { expect, test } from "vitest";
import { parseConfig } from "../../src/config-file.ts";
import { silentLog } from "../../src/log.ts";
import { writeRejected } from "../../src/sync/rejected-store.ts";
import { expectAccessible, expectNoSidewaysScroll, useBrowser } from "../support/browser.ts";
import { createTestClock } from "../support/clock.ts";
import { READ_TOKEN, TOKENS, useDashboard, WRITE_TOKEN } from "../support/dashboard.ts";
import { emptyTables, useDatabase } from "../support/database.ts";
import { NOON } from "../support/examples.ts";
import { betItem } from "../support/http-provider.ts";

const { sql } = useDatabase();
const browser = useBrowser();
const serveDashboard = useDashboard();
const contextOf = (...products: string[]) => ({
  sql,
  config: parseConfig({ products: products.map((productId) => ({ productId })) }),
  clock: createTestClock(NOON),
  log: silentLog,
});
const [context, widerContext] = [contextOf("P1"), contextOf("P1", "P2")];
const SMALL = { width: 320, height: 640 };
const ROGUE = "<script>alert(1)</script>\u202e";
const LONG = "x".repeat(4_000);
const FOREIGN = betItem({ productId: '"P2"', gameName: `"${ROGUE}"`, gameCode: `"${LONG}"` });

async function reject(): Promise<void> {
  await emptyTables(sql);
  await writeRejected(
    sql,
    "P1",
    [{ raw: FOREIGN, reason: 'productId is "P2", but "P1" was asked for' }],
    NOON,
  );
  await writeRejected(sql, "P1", [{ raw: '{"stake":"\u001b"}', reason: `${ROGUE}: id must be text` }], NOON);
}

test("a rejected record is found from the page about health, read whole, and retried once its product is there", async () => {
  await reject();
  const before = await serveDashboard(context, TOKENS);
  const eye = await browser.newPage({
    baseUrl: before,
    token: READ_TOKEN,
    viewport: SMALL,
    colorScheme: "dark",
  });
  await eye.goto("/health");
  await eye.click("text=2 records");
  await eye.waitForURL("**/rejected?side=record");
  expect(await eye.locator("tbody tr").count()).toBe(2);
  await expectNoSidewaysScroll(eye);
  await expectAccessible(eye);
  await eye.click("text=record-1");
  await eye.waitForURL("**/rejected/record-1");
  const text = await eye.locator("pre").innerText();
  expect(text).toContain(LONG);
  expect(text).toContain(String.raw`<script>alert(1)</script>\u202e`);
  expect(await eye.locator("main").innerText()).toContain("add it to the products of the config");
  await expectNoSidewaysScroll(eye);
  await expectAccessible(eye);

  const after = await serveDashboard(widerContext, TOKENS);
  const mary = await browser.newPage({ baseUrl: after, token: WRITE_TOKEN, scripts: false });
  await mary.goto("/rejected/record-2");
  await mary.click("#retry button");
  await mary.waitForURL("**/rejected/record-2");
  expect(await mary.locator("#notice").innerText()).toMatch(/record-2 still cannot be used/);
  await mary.goto("/rejected/record-1");
  await mary.click("#retry button");
  await mary.waitForURL("**/rejected");
  expect(await mary.locator("#notice").innerText()).toMatch(/record-1 is accepted, and will be compared/);
  expect(await mary.locator("tbody tr").count()).toBe(1);
  expect(await sql`select product_id from bet_records`).toEqual([{ product_id: "P2" }]);
  expect((await mary.goto("/rejected/record-1"))?.status()).toBe(404);
});

test("filters keep what was typed, and a wrong one is named; older ones are one click away", async () => {
  await reject();
  const baseUrl = await serveDashboard(context);
  const page = await browser.newPage({ baseUrl });
  expect((await page.goto("/rejected?since=yesterday&reason=ten"))?.status()).toBe(400);
  expect(await page.locator("[role=alert]").innerText()).toContain("“Since” must be a time");
  expect(await page.getByLabel("Reason").inputValue()).toBe("ten");
  await page.goto("/rejected");
  await page.getByLabel("Reason").fill("asked for");
  await page.locator("select[name=side]").selectOption("record");
  await page.getByRole("button", { name: "Filter" }).click();
  await page.waitForURL("**reason=asked**");
  expect(await page.locator("tbody tr").count()).toBe(1);
  await page.goto("/rejected?limit=1");
  await page.click("text=Older ones");
  await page.waitForURL("**after=record-2**");
  expect(await page.locator("tbody").innerText()).toContain("record-1");
});
