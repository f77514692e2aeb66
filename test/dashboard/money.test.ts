import { expect, onTestFinished, test } from "vitest";
import { openBackfillRunner } from "../../src/flows/pull/run-backfills.ts";
import { silentLog } from "../../src/log.ts";
import { DAY_MS, useVerifyWorld } from "../flows/verify/verify-world.ts";
import { expectNoSidewaysScroll, useBrowser } from "../support/browser.ts";
import { READ_TOKEN, TOKENS, useDashboard, WRITE_TOKEN } from "../support/dashboard.ts";
import { useDatabase } from "../support/database.ts";
import { HOUR_MS, MINUTE_MS, NOON } from "../support/examples.ts";
import { openPastWorld, PLAYED, PRODUCT } from "../support/past-world.ts";
import { bookedAs, replyWith, useVerifyProvider } from "../support/verify-provider.ts";
import { deposit } from "../verify/sent.ts";
import { openPlayedWorld } from "./played-world.ts";

const { sql } = useDatabase();
const provider = useVerifyProvider();
const world = useVerifyWorld(sql, provider);
const shown = { sql, config: world.config, clock: world.clock, log: silentLog };
const browser = useBrowser();
const serveDashboard = useDashboard();

const ROGUE = '<img src=x onerror="alert(1)">';
const iso = (instant: number) => new Date(instant).toISOString();
const PHONE = { width: 360, height: 740 };

test("an inconclusive transfer shows every answer, and is closed with a note by keyboard; other users see that at once", async () => {
  provider.answer(({ body }) =>
    body["transactionRef"] === "ref-1" ? replyWith("<b>busy</b>", 500) : bookedAs({ path: "", body }),
  );
  await world.hand(deposit({ username: ROGUE }), deposit({ transactionRef: "ref-2" }));
  await world.liveUntil(DAY_MS + HOUR_MS);
  const baseUrl = await serveDashboard(shown, TOKENS);
  const mary = await browser.newPage({ baseUrl, token: WRITE_TOKEN });
  const eye = await browser.newPage({ baseUrl, token: READ_TOKEN, viewport: PHONE });
  await mary.goto("/transfers");
  // An accepted transfer needs nobody, and is shown only on request.
  expect(await mary.locator("tbody tr").count()).toBe(1);
  expect(await mary.locator("tbody").innerText()).toContain(ROGUE);
  await mary.click("text=ref-1");
  await mary.waitForURL("**/transfers/ref-1**");
  expect(await mary.locator("#answers ~ .scroll tbody tr").count()).toBeGreaterThan(10);
  await mary.locator("#answer-1 summary").click();
  expect(await mary.locator("#answer-1 pre").innerText()).toBe("<b>busy</b>");

  await eye.goto("/transfers/ref-1");
  await expectNoSidewaysScroll(eye);
  const late = await browser.newPage({ baseUrl, token: WRITE_TOKEN });
  await late.goto("/transfers/ref-1");
  await late.getByLabel("Your finding").fill("seen in their export");
  await mary.getByLabel("Your finding").focus();
  await mary.keyboard.type("booked in their statement");
  await mary.keyboard.press("Tab");
  await mary.keyboard.press("Enter");
  await mary.waitForSelector("text=Closed by writer");
  expect(await mary.locator("#notice").innerText()).toContain("its mismatch is resolved");
  expect(await mary.locator("#close").count()).toBe(0);
  await eye.waitForSelector("text=booked in their statement");
  expect(await world.mismatches()).toEqual(["transfer-inconclusive resolved 10"]);

  await late.waitForSelector("text=booked in their statement");
  await late.locator("#close button").click();
  await late.waitForSelector("text=Not closed");
  expect(await late.locator("main").innerText()).toContain("seen in their export");
});

test("a transfer that was booked after its failure was final says why, and what to do, until a user has decided", async () => {
  await world.hand();
  await world.liveUntil(12 * HOUR_MS);
  provider.answer((question) => bookedAs(question));
  await world.liveUntil(30 * DAY_MS);
  const page = await browser.newPage({ baseUrl: await serveDashboard(shown) });
  const main = async () => (await page.locator("main").innerText()).replace(/\s+/g, " ");
  await page.goto("/transfers/ref-1");
  expect(await page.locator(".trail").innerText()).toBe("Transfers › ref-1");
  const toDo =
    "What to do now: The transfer is valid. If you reversed it in your wallet after the failure, undo that.";
  expect(await main()).toContain(
    "transfer-late-success: the provider booked a transfer that it had reported as failed",
  );
  expect(await main()).toContain(toDo);
  expect(await main()).toContain("A first failure does not change the status");
  expect(await page.locator("#answer-1 td").allInnerTexts()).toContain("–");
  await sql`update mismatches set status = 'resolved'`;
  await page.reload();
  expect(await main()).toMatch(/Mismatch #\d+ resolved transfer-late-success/);
  expect(await main()).not.toContain(toDo);
  await page.getByRole("link", { name: /^Mismatch #/ }).click();
  await page.waitForURL("**/mismatches/*");
});

test("wrong filters and forms say what is wrong in one line, and keep the input", async () => {
  const baseUrl = await serveDashboard(shown);
  const page = await browser.newPage({ baseUrl });
  for (const [path, problem] of [
    ["/transfers?status=lost", 'there is no status "lost"'],
    ["/transfers?product=P9", 'there is no product "P9"'],
    ["/report?day=2026-02-30", '“Day” must be a date such as 2026-11-20, but is "2026-02-30"'],
    ["/report?day=2026-11-19&zone=Mars", 'there is no zone "Mars"'],
    ["/backfills?product=P1&from=2026-11-19T00:00:00Z&to=yesterday", "“to” must be a time such as"],
    ["/backfills?product=P1&from=2026-11-19T00:00:00Z&to=2036-11-19T00:00:00Z", "has not settled yet"],
  ]) {
    const answer = await page.goto(path ?? "");
    expect([path, answer?.status()]).toEqual([path, 400]);
    expect(await page.locator("[role=alert]").innerText()).toContain(problem);
  }
  expect(await page.getByLabel("to", { exact: true }).inputValue()).toBe("2036-11-19T00:00:00Z");
  expect((await page.goto("/backfills/77"))?.status()).toBe(404);
  expect((await page.goto("/transfers/ref-9"))?.status()).toBe(404);
});

test("a backfill says what it would do, is started, paused and resumed, and shows its progress without a reload", async () => {
  const { context } = await openPastWorld(sql, { pull: { windowMax: "PT15M", concurrency: 2 } });
  const run = openBackfillRunner(context);
  const baseUrl = await serveDashboard(context);
  const page = await browser.newPage({ baseUrl });
  await page.goto("/backfills");
  await page.getByLabel("product").selectOption(PRODUCT);
  await page.getByLabel("from").fill(iso(PLAYED.from));
  await page.getByLabel("to", { exact: true }).fill(iso(PLAYED.to));
  await page.getByText("Show the effect").click();
  await page.locator("#plan").waitFor();
  expect(await page.locator("#plan").innerText()).toMatch(
    /3 h 59 min of SPORT.* in 16 windows of at most 15 min; none of this time was fetched before\. Nothing has been queued yet\./s,
  );
  expect(await sql`select from backfills`).toHaveLength(0);
  await page.getByText("Start", { exact: true }).click();
  await page.getByText("The backfill has not begun yet").waitFor();
  await page.getByRole("button", { name: "Pause" }).click();
  await page.getByText("is paused.").waitFor();
  await page.getByText("Resume it, and a worker will begin it.").waitFor();
  await run(new AbortController().signal);
  expect(await page.locator("#progress").getAttribute("value")).toBe("0");
  await page.getByRole("button", { name: "Resume" }).click();
  await page.locator("h1 >> text=queued").waitFor();
  await run(new AbortController().signal);
  await page.locator("h1 >> text=done").waitFor();
  expect(await page.locator("#progress").getAttribute("value")).toBe("16");
  expect(await page.locator("#changes").count()).toBe(0);
  const effect = await page.locator("section[aria-labelledby=effect]").innerText();
  const [{ count } = { count: 0 }] = await sql<{ count: number }[]>`select count(*) from bet_records`;
  expect(count).toBeGreaterThan(100);
  expect(effect).toContain(`new\n${count}`);
  await page.goto("/backfills");
  expect(await page.locator("tbody tr").innerText()).toMatch(/done\s+SPORT/);
});

test("the day's statement has the same sums on the page and in its CSV, and explains each difference", async () => {
  const day = Date.parse("2026-11-19T21:00:00Z");
  const played = await openPlayedWorld(sql, {
    begin: day,
    world: {
      seed: 3,
      periods: [{ from: day, to: day + 2 * HOUR_MS }],
      products: [{ productId: "TABLE", style: "table", roundsPerMinute: 1 }],
      players: 5,
      lateSettlementMs: MINUTE_MS,
      callbackLagMs: 1_000,
      reportLagMs: 1_000,
      faultEveryMinutes: 30,
    },
    config: { products: [{ productId: "TABLE", since: iso(day) }] },
  });
  onTestFinished(() => played.close());
  await played.playUntil(NOON, 5 * HOUR_MS);
  const baseUrl = await serveDashboard(played.context);
  const page = await browser.newPage({ baseUrl });
  await page.goto("/report");
  expect(await page.locator("input[name=day][type=date]").inputValue()).toBe("2026-11-19");
  expect(await page.locator(".verdict").innerText()).toMatch(
    /^Not all of the day has been fetched yet: TABLE|^Every difference/,
  );
  const csv = await (await page.request.get("/report.csv?day=2026-11-19&zone=UTC")).text();
  const [head = "", ...lines] = csv.trim().split(/\r?\n/);
  const columns = head.split(",");
  const nets = await page.locator("#nets tbody tr").allInnerTexts();
  const bets = await page.locator("#bets tbody tr").allInnerTexts();
  expect([nets.length, bets.length]).toEqual([lines.length, lines.length]);
  for (const [index, line] of lines.entries()) {
    const row = Object.fromEntries(line.split(",").map((value, at) => [columns[at], value]));
    expect(row["difference"]).not.toBe("0");
    for (const name of ["difference", "mismatches", "rest", "provider.net", "ledger.net"]) {
      expect(plain(nets[index] ?? "")).toContain(row[name]);
    }
    for (const name of ["provider.stake", "ledger.payout"]) {
      expect(plain(bets[index] ?? "")).toContain(row[name]);
    }
  }
});

/** Without the spaces between thousands, and without cents of zero. */
function plain(text: string): string {
  return text.replaceAll("\u202f", "").replaceAll(/\.00\b|(?<=\.\d)0\b/g, "");
}
