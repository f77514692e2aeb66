import { beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { showDuration } from "../../src/clock.ts";
import { parseConfig } from "../../src/config-file.ts";
import { openDatabase, PEOPLE_LIMITS } from "../../src/db/client.ts";
import { silentLog } from "../../src/log.ts";
import { type OpsParts, startOpsServer } from "../../src/ops/server.ts";
import { useBrowser } from "../support/browser.ts";
import { createTestClock } from "../support/clock.ts";
import { useDashboard } from "../support/dashboard.ts";
import { emptyTables, useDatabase } from "../support/database.ts";
import { eventually } from "../support/eventually.ts";
import { HOUR_MS, MINUTE_MS, NOON } from "../support/examples.ts";
import { openMismatches } from "../support/open-mismatches.ts";
import { startTcpProxy } from "../support/tcp-proxy.ts";

const { sql, url } = useDatabase();
const browser = useBrowser();
const serveDashboard = useDashboard();
const clock = createTestClock(NOON);
const config = parseConfig({ products: [{ productId: "P1" }] });
const context = { sql, config, clock, log: silentLog };

beforeEach(async () => {
  await emptyTables(sql);
  clock.set(NOON);
  await openMismatches(sql, config, clock.now(), [{}]);
  clock.advance(20 * MINUTE_MS);
});

/** A page of a server whose connections to the database pass through a proxy. */
async function openBehindProxy(parts: OpsParts = {}) {
  const proxy = await startTcpProxy(url);
  const proxied = openDatabase(proxy.url, 5, PEOPLE_LIMITS);
  const settings = { host: "127.0.0.1", port: 0, tokens: [] };
  const behind = await startOpsServer({ ...context, sql: proxied }, settings, async () => {}, parts);
  onTestFinished(async () => {
    await behind.close();
    await proxied.end({ timeout: 1 });
    await proxy.close();
  });
  return { proxy, page: await browser.newPage({ baseUrl: behind.url }) };
}

describe("a page that is no longer up to date says so at its top, is no longer live, and recovers by itself", () => {
  const trouble = "body > #trouble[role=status]";
  const live = '#connection[data-state="live"]';
  const lost = '#connection[data-state="lost"]';

  test("while the worker does not answer, and not because it was in the background", async () => {
    const proxy = await startTcpProxy(await serveDashboard(context));
    onTestFinished(() => proxy.close());
    const page = await browser.newPage({ baseUrl: proxy.url, timezoneId: "Asia/Bangkok" });
    await page.clock.install();
    await page.goto("/");
    await page.locator(live).waitFor();
    // The computer sleeps: no timer runs meanwhile.
    await page.clock.fastForward("01:00:00");
    expect(await page.locator(trouble).textContent()).toBe("");
    proxy.hang();
    const said = page.locator(trouble, {
      hasText:
        /^Nothing new since \d{4}-\d\d-\d\d \d\d:\d\d:\d\d: the worker does not answer\. This page tries again by itself\.$/,
    });
    await eventually("the page says that nobody answers", async () => {
      await page.clock.runFor(5_000);
      return await said.isVisible();
    });
    expect(await page.locator(lost).count()).toBe(1);
    expect((await said.boundingBox())?.y).toBeLessThan(300);
    await page.evaluate("window.isSame = true");
    await proxy.restore();
    await eventually("the page is live again", async () => {
      await page.clock.runFor(5_000);
      return await page.locator(live).isVisible();
    });
    expect(await page.locator(trouble).textContent()).toBe("");
    expect(await page.evaluate("window.isSame")).toBe(true);
  });

  test.each(["ended", "frozen"])("while the database is %s", async (how) => {
    const { proxy, page } = await openBehindProxy();
    await page.goto("/incidents");
    await page.locator(live).waitFor();
    if (how === "ended") await proxy.refuse();
    else proxy.strand();
    await page.locator(trouble, { hasText: /: the database does not answer\. / }).waitFor();
    await page.locator(lost).waitFor();
    await proxy.close();
    await proxy.restore();
    await page.locator(live).waitFor();
    expect(await page.locator(trouble).textContent()).toBe("");
  });
});

describe("a decision that the database does not answer shows the menu, what happened and what was typed", () => {
  test.each(["ended", "frozen"])("while the database is %s", async (how) => {
    const { proxy, page } = await openBehindProxy({ pageMs: 5_000 });
    // On a busy machine the limit of a page meets these too.
    for (const path of ["/incidents", "/mismatches/1"])
      await eventually(`${path} opens`, async () => (await page.goto(path))?.ok());
    await page.locator("#act textarea").fill("asked their support, ticket 77");
    if (how === "ended") await proxy.refuse();
    else proxy.hang();
    const answered = page.waitForResponse((answer) => answer.request().method() === "POST");
    await page.locator("#act button").first().click({ noWaitAfter: true });
    expect((await answered).status()).toBe(503);
    await page.locator("h1", { hasText: "The database does not answer" }).waitFor();
    expect(await page.locator("header nav a").count()).toBeGreaterThan(5);
    await page.locator("main", { hasText: "It is unknown whether your change was made" }).waitFor();
    expect(await page.locator("#typed textarea[name=note]").inputValue()).toBe(
      "asked their support, ticket 77",
    );
    await proxy.close();
    await proxy.restore();
    const repeated = await page.request.get("/mismatches/1");
    expect(repeated.status()).toBe(200);
    await page.locator("#typed button").click();
    await page.locator("main", { hasText: "asked their support, ticket 77" }).waitFor();
  });
});

test("how long ago something was stays true on an open page without any change, in the words of the server", async () => {
  const page = await browser.newPage({ baseUrl: await serveDashboard(context) });
  await page.clock.install();
  // The page gets no change.
  await page.addInitScript("window.EventSource = class extends EventTarget { close() {} };");
  await page.goto("/incidents");
  const ages = page.locator("main time", { hasText: / ago$/ });
  const before = await ages.first().textContent();
  const at = Date.parse((await ages.first().getAttribute("datetime")) ?? "");
  const age = clock.now() - at;
  expect(before).toBe(`${showDuration(age)} ago`);
  await page.evaluate("{ document.querySelector('header [name=q]').focus(); window.announced = 0; }");
  await page.evaluate(`new MutationObserver(() => { window.announced += 1; }).observe(
    document.querySelector("#notice"), { childList: true, characterData: true, subtree: true })`);
  await page.route("**/incidents", () => {});
  await eventually("two hours have passed", async () => {
    await page.clock.runFor("00:10:00");
    const text = (await ages.first().textContent()) ?? "";
    const hours = /^(?:(\d+) d )?(?:(\d+) h)?/.exec(text);
    return Number(hours?.[1] ?? 0) * 24 + Number(hours?.[2] ?? 0) >= Math.floor(age / HOUR_MS) + 2;
  });
  expect(await page.evaluate("[document.activeElement.name, window.announced]")).toEqual(["q", 0]);
});
