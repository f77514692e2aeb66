/** Rewards and tips apart from the payout and the stake, in every form of a statement. */

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeEach, describe, expect, test } from "vitest";
import type { CallbackEntry } from "../../src/callback.ts";
import { readClosedDay } from "../../src/closing/closed-day-store.ts";
import { hashOf } from "../../src/closing/statement.ts";
import type { ReportRow } from "../../src/report.ts";
import type { ReportItem } from "../../src/report-item.ts";
import { checkArchive } from "../flows/archive/independent-checker.ts";
import { useClosing } from "../flows/closing/closing-world.ts";
import { callbacksOf, minute, recordOf, useDiffWorld } from "../flows/compare/comparison-world.ts";
import { expectNoSidewaysScroll, useBrowser } from "../support/browser.ts";
import { useDashboard } from "../support/dashboard.ts";
import {
  amount,
  exampleAdjustment,
  exampleEntry,
  exampleSettle,
  HOUR_MS,
  NOON,
} from "../support/examples.ts";
import { serveApi } from "../support/ops-api.ts";
import { callRecon } from "./call-recon.ts";

const DAY = "2026-11-20";
const CONFIG = { products: [{ productId: "P1" }, { productId: "FISH", settlement: "session" }] };
const folder = mkdtempSync(join(tmpdir(), "recon-rewards-"));
const sealed = join(folder, "sealed");
afterAll(() => rmSync(folder, { recursive: true }));
writeFileSync(join(folder, "recon.config.json"), JSON.stringify(CONFIG));
const { sql, url, clock, diff, receive, listed, ledgerBegins } = useDiffWorld();
const { context, fetched, close, correct, expectInvariant } = useClosing(sql, clock, CONFIG);
const browser = useBrowser();
const serveDashboard = useDashboard();
const SETTINGS = { DATABASE_URL: url, RECON_CONFIG: join(folder, "recon.config.json") };
const recon = (...args: string[]) => callRecon(["report", ...args], SETTINGS);
const reportOf = async (...args: string[]) => JSON.parse((await recon(...args, "--json")).stdout);

function entry(
  callback: CallbackEntry["callback"],
  txnId: string,
  text: string,
  fields: Partial<CallbackEntry> = {},
): CallbackEntry {
  const isReward = callback === "winRewards";
  return exampleEntry({
    callback,
    txnId,
    roundId: `round-${txnId}`,
    status: isReward ? "SETTLED" : callback === "placeTips" ? "TIPS" : "REFUND",
    betAmount: isReward ? null : amount(text),
    payoutAmount: isReward ? amount(text) : null,
    ...fields,
  });
}
const record = (name: string, stake: string, payout: string, fields = {}) =>
  recordOf(payout, {
    id: `record-${name}`,
    betId: name,
    roundId: `round-${name}`,
    stake: amount(stake),
    ...fields,
  });
const bet = (name: string, payout: string, fields = {}) =>
  callbacksOf(payout, { txnId: name, roundId: `round-${name}`, ...fields });

async function compare(...minutes: number[]): Promise<void> {
  for (const at of minutes) {
    clock.set(minute(at));
    for (const product of ["P1", "FISH"]) await diff({ product, settings: CONFIG });
  }
}

/**
 * In each currency a bet, a reward of its own and a tip. In THB also a reward on a bet, a cancelled tip, and a session
 * with a reward and a tip.
 */
beforeEach(async () => {
  await ledgerBegins();
  await receive(exampleAdjustment("DEBIT", "1", -60 * 40, { productId: "FISH", txnId: "first" }));
  for (const product of ["P1", "FISH"]) await fetched(NOON - 36 * HOUR_MS, NOON + 60 * HOUR_MS, product);
  const euro = { currency: "EUR" };
  const fish = { productId: "FISH" };
  await receive(
    ...bet("won", "20"),
    entry("winRewards", "won", "5"),
    entry("winRewards", "jackpot", "100.50"),
    entry("placeTips", "tip", "2"),
    entry("placeTips", "taken-back", "3"),
    entry("cancelTips", "taken-back", "3"),
    ...bet("lost", "0", euro),
    entry("winRewards", "bonus", "7", euro),
    entry("placeTips", "tip-eur", "1", euro),
    exampleAdjustment("DEBIT", "10", 0, fish),
    exampleAdjustment("CREDIT", "4", 1, fish),
    entry("winRewards", "fish-bonus", "6", fish),
    entry("placeTips", "fish-tip", "1.5", fish),
  );
  await listed(
    record("won", "10", "25"),
    record("jackpot", "0", "100.50"),
    record("lost", "10", "0", euro),
    record("bonus", "0", "7", euro),
    record("fish", "11.5", "10", fish),
  );
  await compare(20, 150);
});

const UNKNOWN = { rewards: null, tips: null };
const ROWS = {
  "P1 EUR": {
    provider: { bets: 2, stake: "10", payout: "7", net: "-3", ...UNKNOWN },
    ledger: { bets: 2, stake: "10", payout: "7", net: "-3", rewards: "7", tips: "1", moved: "-4" },
  },
  "P1 THB": {
    provider: { bets: 2, stake: "10", payout: "125.5", net: "115.5", ...UNKNOWN },
    ledger: {
      bets: 2,
      stake: "10",
      payout: "125.5",
      net: "115.5",
      rewards: "105.5",
      tips: "2",
      moved: "113.5",
    },
  },
  "FISH THB": {
    provider: { bets: 1, stake: "11.5", payout: "10", net: "-1.5", ...UNKNOWN },
    ledger: { bets: 0, stake: "11.5", payout: "10", net: "-1.5", rewards: "6", tips: "1.5", moved: "-1.5" },
  },
};
const sidesOf = (rows: readonly ReportRow[]) =>
  Object.fromEntries(
    rows.map(({ productId, currency, provider, ledger }) => [
      `${productId} ${currency}`,
      { provider, ledger },
    ]),
  );
const TOTALS = [
  { currency: "EUR", provider: UNKNOWN, ledger: { payout: "7", rewards: "7", tips: "1" } },
  { currency: "THB", provider: UNKNOWN, ledger: { payout: "135.5", rewards: "111.5", tips: "3.5" } },
];

async function closeDay(more = {}): Promise<void> {
  clock.set(NOON + 14 * HOUR_MS);
  expect(await close(DAY, "UTC", more)).toHaveProperty("closed");
}

/** What the provider's records do not say is null. */
test.each(["open", "closed"])(
  "the JSON of a day that is %s has them in each row and each total",
  async (state) => {
    if (state === "closed") await closeDay();
    const report = await reportOf("--day", DAY);
    expect(report.closed === null).toBe(state === "open");
    expect(sidesOf(report.rows)).toEqual(ROWS);
    expect(report.totals).toMatchObject(TOTALS);
    const { json } = await (await serveApi(context()))("GET", `/api/report?day=${DAY}`);
    expect(json.rows).toEqual(report.rows);
  },
);

test("the lines of the day and of its sealed file add up to them", async () => {
  const ofLedger = async () => {
    const { stdout } = await recon("--items", "--day", DAY, "--json");
    const items: ReportItem[] = JSON.parse(stdout).items;
    return items.flatMap(({ transactionId, ledger }) =>
      ledger === null || (ledger.rewards === "0" && ledger.tips === "0")
        ? []
        : [[transactionId, ledger.payout, ledger.rewards, ledger.tips]],
    );
  };
  const lines = [
    ["bonus", "7", "7", "0"],
    ["jackpot", "100.5", "100.5", "0"],
    ["tip", "0", "0", "2"],
    ["tip-eur", "0", "0", "1"],
    ["won", "25", "5", "0"],
    [null, "10", "6", "1.5"],
  ];
  expect((await ofLedger()).toSorted()).toEqual(lines.toSorted());
  await closeDay({ closing: { archive: sealed } });
  expect((await ofLedger()).toSorted()).toEqual(lines.toSorted());
  expect(checkArchive(sealed)).toEqual([]);
  const { stdout } = await recon("--items", "--day", DAY, "--csv", "--currency", "EUR");
  expect(stdout.split("\n").map((line) => line.split(",").slice(-2))).toEqual([
    ["ledger.rewards", "ledger.tips"],
    ...[["7", "0"], ["0", "0"], ["0", "1"], [""]],
  ]);
});

test("the reward of a bet that was cancelled is in neither the payout nor the rewards", async () => {
  const euro = { currency: "EUR" };
  const [placed] = bet("void", "0", euro);
  if (placed === undefined) throw new Error("a bet is placed");
  await receive(
    placed,
    entry("winRewards", "void", "4", { ...euro, occurredAt: NOON - 1 }),
    entry("cancelBets", "void", "10", { ...euro, occurredAt: NOON }),
  );
  const { rows } = await reportOf("--day", DAY);
  expect(sidesOf(rows)["P1 EUR"]?.ledger).toMatchObject({ payout: "7", rewards: "7", moved: "0" });
});

test("CSV and text say them, and what is unknown", async () => {
  const { stdout: csv } = await recon("--day", DAY, "--csv");
  const lines = csv.trimEnd().split("\n");
  expect(lines.map((line) => line.split(",").slice(-4).join())).toEqual([
    "provider.rewards,provider.tips,ledger.rewards,ledger.tips",
    ",,7,1",
    ",,105.5,2",
    ",,6,1.5",
  ]);
  const { stdout } = await recon("--day", DAY);
  expect(stdout).toMatch(
    /P1 .* GGR +OF PAYOUT, REWARDS +TIPS\n.*unknown +unknown\n.* 7\.00 EUR +1\.00 EUR\n/,
  );
  expect(stdout).toMatch(/all products, THB .*\n.*unknown +unknown\n.* 111\.50 THB +3\.50 THB\n/);
});

test("two days beside each other have them", async () => {
  const { stdout } = await recon("--day", DAY, "--against", "2026-11-18");
  expect(stdout).toMatch(/ledger's rewards +7\.00 EUR +no row +unknown\n/);
  expect(stdout).toMatch(/ledger's tips +1\.50 THB +0\.00 THB +1\.50 THB\n/);
});

test("the page has a table of them, which has room on paper too", async () => {
  await closeDay();
  const page = await browser.newPage({ baseUrl: await serveDashboard(context()) });
  for (const query of [`day=${DAY}`, "month=2026-11"]) {
    await page.goto(`/report?${query}`);
    const table = page.getByRole("table", { name: "Rewards and tips" });
    const text = (await table.locator("tbody").innerText()).replace(/\s+/g, " ");
    expect(text).toContain("P1 THB 125.50 105.50 2.00 unknown unknown");
    expect(text).toContain("FISH THB 10.00 6.00 1.50 unknown unknown");
    expect(text).toContain("All products THB 135.50 111.50 3.50 unknown unknown");
  }
  await page.emulateMedia({ media: "print" });
  // As the shorter of the two sheets, see report-items.test.ts.
  await page.setViewportSize({ width: 980, height: 700 });
  await expectNoSidewaysScroll(page);
  await page.locator('#rewards ~ * a[href*="currency=EUR"]').first().click();
  expect(await page.locator("#items").innerText()).toMatch(/7\.00 rewards 7\.00/);
});

test("a reward that arrives after the closing is a correction, and the month and its corrections are today's data", async () => {
  await closeDay();
  await receive(entry("winRewards", "won", "9", { receivedAt: clock.now() }));
  await listed(record("won", "10", "34", { updatedDate: new Date(clock.now()).toISOString() }));
  await compare(15 * 60, 18 * 60);
  expect(await correct()).toBe(1);
  const report = await reportOf("--month", "2026-11");
  expect(sidesOf(report.rows)).toEqual(ROWS);
  expect(report.corrections).toMatchObject([
    {
      before: { ledger: { payout: "25", rewards: "5", tips: "0" } },
      after: { ledger: { payout: "34", rewards: "14", tips: "0" } },
      reason: expect.stringContaining("rewards from 5.00 THB to 14.00 THB"),
    },
  ]);
  await expectInvariant();
});

test("a result that is replaced by one without a reward is a correction, although no other figure changes", async () => {
  await closeDay();
  const late = { txnId: "won", roundId: "round-won", occurredAt: NOON, receivedAt: clock.now() };
  await receive(
    exampleEntry({
      ...late,
      callback: "rollback",
      status: "ROLLBACK",
      betAmount: null,
      payoutAmount: amount("25"),
    }),
    exampleSettle({ ...late, payoutAmount: amount("25"), occurredAt: NOON + 1 }),
  );
  await compare(15 * 60, 18 * 60);
  expect(await correct()).toBe(1);
  const { corrections } = await reportOf("--month", "2026-11");
  expect(corrections).toMatchObject([
    { difference: "0", reason: "The ledger changed rewards from 5.00 THB to 0.00 THB." },
  ]);
  await expectInvariant();
});

describe("a day that an older version closed", () => {
  beforeEach(async () => {
    await closeDay();
    const closed = await readClosedDay(sql, DAY);
    if (closed === null) throw new Error("the day is closed");
    const older = <Side extends object>(side: Side) => {
      const { rewards: _, tips: __, ...others } = side as Side & { rewards?: unknown; tips?: unknown };
      return others;
    };
    const rows = closed.rows.map((row) => ({
      ...row,
      provider: older(row.provider),
      ledger: older(row.ledger),
    }));
    const statement = { ...closed, rows: rows as unknown as ReportRow[] };
    await sql`
      update closed_days set hash = ${hashOf(statement)},
        statement = jsonb_set(statement, '{rows}', ${JSON.stringify(rows)}::text::jsonb)`;
    await sql`
      update closed_bets set ledger_rewards = null, ledger_tips = null, bet_id = null, transaction_id = null,
        provider_status = null, ledger_status = null`;
  });

  test("says that they are unknown, and its hash holds", async () => {
    for (const when of [
      ["--day", DAY],
      ["--month", "2026-11"],
    ]) {
      const report = await reportOf(...when);
      for (const { provider, ledger } of [...report.rows, ...report.totals])
        expect([provider, ledger]).toMatchObject([UNKNOWN, UNKNOWN]);
      const { code, stdout } = await recon(...when);
      expect([code, stdout]).toEqual([0, expect.stringMatching(/ledger .*unknown +unknown\n/)]);
    }
    expect((await recon("--day", DAY, "--csv")).stdout.trimEnd().split("\n").slice(1)).toEqual(
      Array(3).fill(expect.stringMatching(/,,,,$/)),
    );
    expect((await recon("--day", DAY, "--against", "2026-11-18")).stdout).toMatch(
      /ledger's tips +unknown +0\.00 THB +unknown\n/,
    );
    expect(await recon("--verify")).toMatchObject({ code: 0 });
  });

  test("has a correction for what changes alone, and the books still add up", async () => {
    await receive(entry("winRewards", "won", "9", { receivedAt: clock.now() }));
    await listed(record("won", "10", "34", { updatedDate: new Date(clock.now()).toISOString() }));
    await sql`
      insert into closing_marks (product_id, usernames, round_ids, bet_refs)
      values ('P1', array['anna', 'anna'], array['round-jackpot', 'round-tip'], array[null, null]::text[])`;
    await compare(15 * 60, 18 * 60);
    expect(await correct()).toBe(1);
    const report = await reportOf("--month", "2026-11");
    expect(report.corrections).toMatchObject([
      {
        before: { ledger: { payout: "25", ...UNKNOWN } },
        after: { ledger: { payout: "34", rewards: "14" } },
      },
    ]);
    expect(await recon("--verify")).toMatchObject({ code: 0 });
  });
});
