import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { parseConfig } from "../../src/config-file.ts";
import { appendEntries } from "../../src/ledger/store.ts";
import { silentLog } from "../../src/log.ts";
import { writeRecords } from "../../src/sync/record-store.ts";
import { planWindows } from "../../src/sync/window-store.ts";
import { createTestClock } from "../support/clock.ts";
import { emptyTables, useDatabase } from "../support/database.ts";
import { amount, exampleEntry, exampleRecord, exampleSettle, HOUR_MS, NOON } from "../support/examples.ts";
import { problemWith, serveApi } from "../support/ops-api.ts";
import { callRecon } from "./call-recon.ts";
import { startRecon } from "./run-recon.ts";

const { sql, url } = useDatabase();
const folder = mkdtempSync(join(tmpdir(), "recon-report-"));
afterAll(() => rmSync(folder, { recursive: true }));
const CONFIG = { products: [{ productId: "=P1" }] };
writeFileSync(join(folder, "recon.config.json"), JSON.stringify(CONFIG));
const SETTINGS = { DATABASE_URL: url, RECON_CONFIG: join(folder, "recon.config.json") };
const recon = (...args: string[]) => callRecon(["report", ...args], SETTINGS);

/** The provider paid 25.00 and the ledger 20.00. The whole day has been fetched, and nothing has been compared. */
beforeAll(async () => {
  const productId = "=P1";
  await appendEntries(sql, [
    exampleEntry({ productId }),
    exampleSettle({ productId, payoutAmount: amount("20") }),
  ]);
  const record = exampleRecord({ productId, payout: amount("25") });
  await sql.begin((tx) => writeRecords(tx, productId, [record], { requestedAt: NOON, now: NOON }));
  const midnight = NOON - 12 * HOUR_MS;
  await planWindows(sql, productId, "live", [{ from: midnight, to: midnight + 24 * HOUR_MS }]);
  await sql`update windows set status = 'done', started_at = now(), fetched_at = now()`;
  await emptyTables(sql, ["diff_marks"]);
});

test("a complete day with unexplained money makes the command fail, and the money is shown", async () => {
  const ended = await startRecon(["report", "--day", "2026-11-20"], SETTINGS).ended;
  expect(ended.code).toBe(1);
  expect(ended.stdout).toContain("The day 2026-11-20 in UTC");
  expect(ended.stdout).toMatch(/=P1 +BETS +STAKE +PAYOUT +NET +GGR\n/);
  expect(ended.stdout).toMatch(/provider {2}1 {5}10\.00 THB {2}25\.00 THB {2}15\.00 THB {2}-15\.00 THB/);
  expect(ended.stdout).toMatch(/rest +5\.00 THB/);
  expect(ended.stdout).toContain("NOT EXPLAINED: the day is complete, but nothing explains the rest.");
});

test("--csv writes a line for each product and currency, and no line that a spreadsheet takes for a formula", async () => {
  const { stdout } = await recon("--day", "2026-11-20", "--csv");
  expect(stdout.split("\n")).toEqual([
    "\uFEFFday,zone,productId,currency,provider.bets,provider.stake,provider.payout,provider.net,ledger.bets,ledger.stake,ledger.payout,ledger.net,ledger.moved,difference,mismatches,adjustments,pending,rounding,rest,outside,complete,provider.ggr,ledger.ggr,provider.rewards,provider.tips,ledger.rewards,ledger.tips",
    "2026-11-20,UTC,'=P1,THB,1,10,25,15,1,10,20,10,10,5,0,0,0,0,5,0,true,-15,-10,,,0,0",
    "",
  ]);
});

test("--json and /api/report give the same document", async () => {
  const { stdout } = await recon("--day", "2026-11-20", "--zone", "Asia/Bangkok", "--json");
  const context = { sql, config: parseConfig(CONFIG), clock: createTestClock(NOON), log: silentLog };
  const ask = await serveApi(context);
  const answer = await ask("GET", "/api/report?day=2026-11-20&zone=Asia/Bangkok");
  expect(answer.status).toBe(200);
  expect(answer.json).toEqual(JSON.parse(stdout));
  expect(answer.json.rows[0]).toMatchObject({ difference: "5", rest: "5" });
  expect(answer.json).toMatchObject({
    from: "2026-11-19T17:00:00.000Z",
    to: "2026-11-20T17:00:00.000Z",
    totals: [{ currency: "THB", difference: "5", ggr: "-15", ledger: { ggr: "-10" } }],
  });
  expect(await ask("GET", "/api/report?day=today")).toMatchObject(
    problemWith(400, 'day must be a date such as 2026-11-20, but is "today"'),
  );
});

test.each([
  ["2020-01-01", "This day was not fetched, so nothing is known of it (recon backfill fetches it)."],
  ["2999-12-25", "The day is in the future: it begins at 2999-12-25 00:00:00Z."],
])("the statement of %s says why it has no rows", async (day, why) => {
  const { code, stdout } = await recon("--day", day);
  expect([code, stdout]).toEqual([0, `The day ${day} in UTC\n${why}\n`]);
});
