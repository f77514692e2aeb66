/** `recon report --day D --against D2`, `/api/report` and the page: two days beside each other. */

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { appendEntries } from "../../src/ledger/store.ts";
import { writeRecords } from "../../src/sync/record-store.ts";
import { useClosing } from "../flows/closing/closing-world.ts";
import { useBrowser } from "../support/browser.ts";
import { createTestClock } from "../support/clock.ts";
import { useDashboard } from "../support/dashboard.ts";
import { useDatabase } from "../support/database.ts";
import { amount, exampleEntry, exampleRecord, exampleSettle, HOUR_MS, NOON } from "../support/examples.ts";
import { problemWith, serveApi } from "../support/ops-api.ts";
import { callRecon } from "./call-recon.ts";

const { sql, url } = useDatabase();
const browser = useBrowser();
const serveDashboard = useDashboard();
const clock = createTestClock(NOON);
const DAY_MS = 24 * HOUR_MS;
const CONFIG = { products: [{ productId: "P1" }, { productId: "P2" }] };
const { context, fetched, close } = useClosing(sql, clock, CONFIG);
const folder = mkdtempSync(join(tmpdir(), "recon-against-"));
afterAll(() => rmSync(folder, { recursive: true }));
writeFileSync(join(folder, "recon.config.json"), JSON.stringify(CONFIG));
const SETTINGS = { DATABASE_URL: url, RECON_CONFIG: join(folder, "recon.config.json") };
const report = (...args: string[]) => callRecon(["report", ...args], SETTINGS);
const BOTH = ["--day", "2026-11-20", "--against", "2026-11-19"];

/** On both sides P1 paid 20 for 10 on the 20th, and 8 for 10 on the 19th, which is closed. P2 played on the 19th alone. */
beforeAll(async () => {
  for (const productId of ["P1", "P2"]) await fetched(NOON - 36 * HOUR_MS, NOON + 12 * HOUR_MS, productId);
  for (const [productId, payout, at, name] of [
    ["P1", "8", NOON - DAY_MS, "a"],
    ["P2", "8", NOON - DAY_MS, "b"],
    ["P1", "20", NOON, "c"],
  ] as const) {
    const ids = { productId, betId: `bet-${name}`, roundId: `round-${name}` };
    const bet = { ...ids, txnId: `txn-${name}`, occurredAt: at, receivedAt: at };
    await appendEntries(sql, [
      exampleEntry({ ...bet, entryId: `place-${name}` }),
      exampleSettle({ ...bet, entryId: `settle-${name}`, payoutAmount: amount(payout) }),
    ]);
    const when = new Date(at).toISOString();
    const record = exampleRecord({
      ...ids,
      payout: amount(payout),
      accountingDate: when,
      updatedDate: when,
    });
    await sql.begin((tx) => writeRecords(tx, productId, [record], { requestedAt: at, now: at }));
  }
  await sql`delete from diff_marks`;
  clock.set(NOON + 13 * HOUR_MS);
  expect(await close("2026-11-19")).toHaveProperty("closed");
});

test("each figure of a product and currency stands beside that of the other day, with the change", async () => {
  const { code, stdout } = await report(...BOTH);
  expect(code).toBe(0);
  expect(stdout).toMatch(/^The day 2026-11-20 in UTC against 2026-11-19\n/);
  expect(stdout).toMatch(/P1, THB +2026-11-20 +2026-11-19 +CHANGE\n/);
  expect(stdout).toMatch(/provider's bets +1 +1 +0\n/);
  expect(stdout).toMatch(/provider's payout +20\.00 THB +8\.00 THB +12\.00 THB\n/);
  expect(stdout).toMatch(/ledger's GGR +-10\.00 THB +2\.00 THB +-12\.00 THB\n/);
});

test("a product that one of the days does not have has no figures there, and its change is unknown", async () => {
  const { stdout } = await report(...BOTH);
  expect(stdout).toMatch(/P2, THB[\s\S]*provider's stake +no row +10\.00 THB +unknown\n/);
  const { json } = await serveApi(context()).then((ask) =>
    ask("GET", "/api/report?day=2026-11-20&against=2026-11-19"),
  );
  expect(json.rows[1]).toMatchObject({ productId: "P2", day: null, change: null, against: { ggr: "2" } });
});

test("--json and /api/report give the same document, which names both days as they were closed", async () => {
  const { stdout } = await report(...BOTH, "--json");
  const ask = await serveApi(context());
  const { json } = await ask("GET", "/api/report?day=2026-11-20&against=2026-11-19");
  expect(json).toEqual(JSON.parse(stdout));
  expect(json).toMatchObject({
    day: "2026-11-20",
    zone: "UTC",
    closed: null,
    against: { day: "2026-11-19", zone: "UTC", closed: { number: 1 } },
  });
  expect(json.rows[0]).toMatchObject({
    productId: "P1",
    currency: "THB",
    day: { provider: { bets: 1, payout: "20", ggr: "-10" }, difference: "0", complete: true },
    against: { provider: { bets: 1, payout: "8", ggr: "2" }, difference: "0", complete: true },
    change: { provider: { bets: 0, stake: "0", payout: "12", ggr: "-12" }, ggr: "-12", rest: "0" },
  });
});

test("--csv has a line for each figure, and an empty cell for what is unknown", async () => {
  const { stdout } = await report(...BOTH, "--csv");
  const lines = stdout.split("\n");
  expect(lines[0]).toBe(
    "\uFEFFday,against,zone,againstZone,productId,currency,figure,onDay,onAgainst,change,dayComplete,againstComplete",
  );
  expect(lines).toContain("2026-11-20,2026-11-19,UTC,UTC,P1,THB,provider.ggr,-10,2,-12,true,true");
  expect(lines).toContain("2026-11-20,2026-11-19,UTC,UTC,P2,THB,ledger.moved,,-2,,,true");
});

test("the page of a day asks for the other day, and shows both with the change", async () => {
  const page = await browser.newPage({ baseUrl: await serveDashboard(context()) });
  await page.goto("/report?day=2026-11-20");
  await page.getByLabel("Compare with").fill("2026-11-19");
  await page.getByRole("button", { name: "Compare" }).click();
  await page.getByRole("heading", { name: "2026-11-20 against 2026-11-19" }).waitFor();
  const rowOf = (name: string) =>
    page.getByRole("group", { name: "P1, THB, table" }).getByRole("row", { name }).innerText();
  expect((await rowOf("provider's GGR")).split("\t")).toEqual(["provider's GGR", "-10.00", "2.00", "-12.00"]);
  const csv = await page.request.get("/report/against.csv?day=2026-11-20&against=2026-11-19");
  expect(await csv.text()).toBe((await report(...BOTH, "--csv")).stdout);
  await page.getByLabel("Compare with").fill("2026-11-31");
  await page.getByRole("button", { name: "Compare" }).click();
  await page.getByText('must be a date such as 2026-11-20, but is "2026-11-31"').waitFor();
});

test.each([
  [["--month", "2026-11"], "against is compared with a day: give day, not month"],
  [["--day", "2026-11-19"], 'against must be another day than day, but both are "2026-11-19"'],
  [["--day", "2026-11-20", "--items"], "--against compares the sums of two days: give it without --items"],
])("%j with --against is refused with the reason", async (args, why) => {
  const { code, stderr } = await report(...args, "--against", "2026-11-19");
  expect([code, stderr]).toEqual([2, expect.stringContaining(why)]);
});

test("a wrong day is named, and a closed day that was altered is refused", async () => {
  const ask = await serveApi(context());
  expect(await ask("GET", "/api/report?day=2026-11-20&against=today")).toMatchObject(
    problemWith(400, 'against must be a date such as 2026-11-20, but is "today"'),
  );
  await sql`update closed_days set statement = jsonb_set(statement, '{rows,0,rest}', '"1"')`;
  const { code, stdout, stderr } = await report(...BOTH);
  expect([code, stdout]).toEqual([1, ""]);
  expect(stderr).toContain("the stored statement of 2026-11-19 was altered");
});
