/** The transfers and top-ups of a day, below its statement: `recon report`, `/api/report` and the page. */

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeEach, expect, test } from "vitest";
import { appendEntries } from "../../src/ledger/store.ts";
import { useVerifyWorld } from "../flows/verify/verify-world.ts";
import { useBrowser } from "../support/browser.ts";
import { useDashboard } from "../support/dashboard.ts";
import { useDatabase } from "../support/database.ts";
import { amount, exampleEntry, HOUR_MS, MINUTE_MS, NOON } from "../support/examples.ts";
import { serveApi } from "../support/ops-api.ts";
import { bookedAs, transferAnswer, useVerifyProvider } from "../support/verify-provider.ts";
import { deposit, SECOND_MS } from "../verify/sent.ts";
import { callRecon } from "./call-recon.ts";

const { sql, url } = useDatabase();
const browser = useBrowser();
const serveDashboard = useDashboard();
const provider = useVerifyProvider();
const world = useVerifyWorld(sql, provider);
const folder = mkdtempSync(join(tmpdir(), "recon-report-transfers-"));
afterAll(() => rmSync(folder, { recursive: true }));
const CONFIG = { products: [{ productId: "P1", topUpPath: "p1_seamless" }, { productId: "P2" }] };
writeFileSync(join(folder, "recon.config.json"), JSON.stringify(CONFIG));
const SETTINGS = { DATABASE_URL: url, RECON_CONFIG: join(folder, "recon.config.json") };
const report = (...args: string[]) => callRecon(["report", "--day", "2026-11-20", ...args], SETTINGS);

/**
 * On the 20th in UTC: two deposits of 10.00, of which the provider booked one with 15.00; a top-up; and a withdrawal that was
 * sent on the 21st in Bangkok.
 */
beforeEach(async () => {
  const evening = { transactionRef: "ref-3", type: "WITHDRAW", sentAt: NOON + 6 * HOUR_MS } as const;
  provider.answer((question) =>
    question.body["transactionRef"] === "ref-2"
      ? bookedAs(question, { amount: "15.00", afterBalance: "15.00" })
      : question.body["transactionRef"] === "ref-1"
        ? bookedAs(question)
        : transferAnswer(true),
  );
  await world.hand(
    deposit(),
    deposit({ transactionRef: "ref-2" }),
    deposit({ ...evening, amount: amount("7.5") }),
  );
  const moved = { callback: "adjustBalance", txnId: "top-1", roundId: null, status: "DEBIT" } as const;
  await appendEntries(sql, [exampleEntry({ ...moved, occurredAt: NOON - SECOND_MS, receivedAt: NOON })]);
  await world.verifyAt(MINUTE_MS);
});

const SUMS = [
  {
    productId: "P1",
    currency: "THB",
    type: "DEPOSIT",
    status: "accepted",
    count: 1,
    amount: "10",
    openMismatches: 0,
    mismatchKinds: [],
  },
  {
    productId: "P1",
    currency: "THB",
    type: "DEPOSIT",
    status: "inconclusive",
    count: 1,
    amount: "10",
    openMismatches: 1,
    mismatchKinds: ["transfer-differs"],
  },
  {
    productId: "P1",
    currency: "THB",
    type: "WITHDRAW",
    status: "pending",
    count: 1,
    amount: "7.5",
    openMismatches: 0,
    mismatchKinds: [],
  },
  {
    productId: "P1",
    currency: "THB",
    type: "DEBIT",
    status: "pending",
    count: 1,
    amount: "10",
    openMismatches: 0,
    mismatchKinds: [],
  },
];

test("the statement of a day has them by product, currency, type and status, with their open mismatches", async () => {
  const { stdout } = await report("--json");
  expect(JSON.parse(stdout).transfers).toEqual(SUMS);
  const ask = await serveApi(world.context());
  expect((await ask("GET", "/api/report?day=2026-11-20")).json.transfers).toEqual(SUMS);
  const { stdout: text } = await report();
  expect(text).toMatch(
    /Transfers and top-ups sent on this day, as they are now:\nPRODUCT +TYPE +STATUS +COUNT/,
  );
  expect(text).toMatch(/P1 +DEPOSIT +inconclusive +1 +10\.00 THB +1 transfer-differs\n/);
  expect(text).toMatch(/P1 +DEBIT +pending +1 +10\.00 THB +0\n/);
});

test("a mismatch that was decided is not counted", async () => {
  await sql`update mismatches set status = 'resolved'`;
  const [, differing] = JSON.parse((await report("--json")).stdout).transfers;
  expect(differing).toMatchObject({ status: "inconclusive", openMismatches: 0, mismatchKinds: [] });
});

test("the day is one of its zone", async () => {
  const typesOf = async (day: string) => {
    const { stdout } = await callRecon(
      ["report", "--day", day, "--zone", "Asia/Bangkok", "--json"],
      SETTINGS,
    );
    return JSON.parse(stdout).transfers.map((one: { type: string }) => one.type);
  };
  expect(await typesOf("2026-11-20")).toEqual(["DEPOSIT", "DEPOSIT", "DEBIT"]);
  expect(await typesOf("2026-11-21")).toEqual(["WITHDRAW"]);
  expect(await typesOf("2026-11-22")).toEqual([]);
});

test("they are unknown once retention may have deleted some of the day", async () => {
  const config = join(folder, "transfers-only.json");
  writeFileSync(config, JSON.stringify({ products: [{ productId: "P1", walletMode: "transfer" }] }));
  const settings = { ...SETTINGS, RECON_CONFIG: config };
  await sql`insert into retention_states (walk, deleted_up_to) values ('entries', ${NOON - 11 * HOUR_MS})`;
  const { stdout } = await callRecon(["report", "--day", "2026-11-20", "--json"], settings);
  expect(JSON.parse(stdout).transfers).toBeNull();
  const text = await callRecon(["report", "--day", "2026-11-20"], settings);
  expect(text.stdout).toContain(
    "Transfers and top-ups sent on this day: unknown, because retention may have deleted some of them (retain.entries).",
  );
});

test("the page has them below the statement, and leads to their mismatches", async () => {
  const page = await browser.newPage({ baseUrl: await serveDashboard(world.context()) });
  await page.goto("/report?day=2026-11-20");
  const table = page.getByRole("group", { name: "Transfers, table", exact: true });
  const rows = await table.getByRole("row").allInnerTexts();
  expect(rows.map((row) => row.replaceAll("\t", " | ").replace(/[ \n\u202f]+/g, " "))).toEqual([
    expect.any(String),
    "P1 | DEPOSIT | accepted | 1 | 10.00 THB | 0",
    "P1 | DEPOSIT | inconclusive | 1 | 10.00 THB | 1 transfer-differs",
    "P1 | WITHDRAW | pending | 1 | 7.50 THB | 0",
    "P1 | DEBIT | pending | 1 | 10.00 THB | 0",
  ]);
  await table.getByRole("link", { name: "transfer-differs" }).click();
  await page.getByRole("heading", { name: "Mismatches" }).waitFor();
  expect(new URL(page.url()).search).toBe("?product=P1&currency=THB&kind=transfer-differs");
  expect(await page.locator('main a[href^="/mismatches/1"]').count()).toBeGreaterThan(0);
});
