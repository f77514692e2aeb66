/** `recon report --items` and `/api/report/items`: the bets that each figure of a statement is made of. */

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeEach, describe, expect, test } from "vitest";
import { actOnMismatches } from "../../src/flows/mismatches/act-on-mismatches.ts";
import type { ReportRow } from "../../src/report.ts";
import type { ReportItem } from "../../src/report-item.ts";
import { useClosing } from "../flows/closing/closing-world.ts";
import { callbacksOf, minute, recordOf, useDiffWorld } from "../flows/compare/comparison-world.ts";
import { amount, exampleAdjustment, exampleEntry, HOUR_MS, NOON } from "../support/examples.ts";
import { figuresOfItems, figuresOfRows } from "../support/item-sums.ts";
import { problemWith, serveApi } from "../support/ops-api.ts";
import { callRecon } from "./call-recon.ts";

const DAY = "2026-11-20";
const CONFIG = { products: [{ productId: "P1" }], diff: { tolerance: {} } };
const folder = mkdtempSync(join(tmpdir(), "recon-items-"));
afterAll(() => rmSync(folder, { recursive: true }));
writeFileSync(join(folder, "recon.config.json"), JSON.stringify(CONFIG));
const { sql, url, clock, diff, receive, listed, readAll, ledgerBegins } = useDiffWorld();
const { context, fetched, close, correct } = useClosing(sql, clock, CONFIG);
const SETTINGS = { DATABASE_URL: url, RECON_CONFIG: join(folder, "recon.config.json") };
const recon = (...args: string[]) => callRecon(["report", ...args], SETTINGS);
const bet = (name: string) => ({
  entry: { txnId: name, roundId: `round-${name}` },
  record: { id: `record-${name}`, betId: name, roundId: `round-${name}` },
});

/**
 * On one day: a bet that agrees; one that the provider paid 25 and the ledger 20; a tip; money that nothing
 * compares, in the product and in one that is not in the settings.
 */
beforeEach(async () => {
  await ledgerBegins();
  await fetched(NOON - 36 * HOUR_MS, NOON + 36 * HOUR_MS);
  await receive(
    ...callbacksOf("20", { ...bet("even").entry }),
    ...callbacksOf("20", { ...bet("short").entry }).map((one, index) => ({
      ...one,
      entryId: `short-${index}`,
      requestId: `short-${index}`,
    })),
    exampleEntry({
      entryId: "tip",
      requestId: "tip",
      txnId: "tip",
      callback: "placeTips",
      betAmount: amount("2"),
      roundId: "tips",
    }),
    exampleAdjustment("DEBIT", "7", 0, { productId: "P1" }),
    exampleEntry({
      entryId: "other",
      requestId: "other",
      productId: "GONE",
      txnId: "other",
      betAmount: amount("4"),
    }),
  );
  await listed(recordOf("20", bet("even").record), recordOf("25", bet("short").record));
  clock.set(minute(20));
  await diff({ settings: CONFIG });
  clock.set(minute(150));
  await diff({ settings: CONFIG });
});

/** Resolves the mismatch of 5. */
async function giveByHand(given: string): Promise<void> {
  const [mismatch] = await readAll();
  await actOnMismatches(context(), {
    action: "resolve",
    target: { ids: [mismatch?.id ?? ""] },
    note: "given by hand",
    by: "mia",
    expected: null,
    adjustment: { amount: given, ref: "case-1" },
  });
}

async function itemsOf(...args: string[]): Promise<ReportItem[]> {
  const { code, stdout } = await recon("--items", "--json", ...args);
  expect(code).toBe(0);
  return JSON.parse(stdout).items;
}

const sayItem = ({
  username,
  transactionId,
  betId,
  explainedBy,
  difference,
  mismatchId,
  ledger,
}: ReportItem) => [username, transactionId ?? betId, explainedBy, difference, ledger?.moved, mismatchId];

async function rowsOf(...args: string[]): Promise<ReportRow[]> {
  return JSON.parse((await recon("--json", ...args)).stdout).rows;
}

test("each bet of the day is a line that says what explains it, and the lines add up to the rows", async () => {
  const items = await itemsOf("--day", DAY);
  expect(items.map(sayItem)).toEqual([
    ["anna", "other", "outside", "0", "-4", null],
    ["anna", "ref 0", "outside", "0", "-7", null],
    ["anna", "even", "agreed", "0", "10", null],
    ["anna", "short", "mismatch", "5", "10", "1"],
    ["anna", "tip", "agreed", "0", "-2", null],
  ]);
  expect(items[3]).toMatchObject({
    day: DAY,
    productId: "P1",
    currency: "THB",
    betId: "short",
    transactionId: "short",
    roundId: "round-short",
    provider: { status: "SETTLED", bets: 1, stake: "10", payout: "25", net: "15" },
    ledger: { status: "settled", bets: 1, stake: "10", payout: "20", net: "10", moved: "10" },
  });
  expect(figuresOfItems(items)).toEqual(figuresOfRows(await rowsOf("--day", DAY)));
});

test("a correction by hand that was not enough is a line, and what it left is one that nothing explains", async () => {
  await giveByHand("3");
  const items = await itemsOf("--day", DAY, "--product", "P1");
  expect(items.filter(({ betId }) => betId === "short").map(sayItem)).toEqual([
    ["anna", "short", "correction", "3", "10", "1"],
    ["anna", "short", null, "2", undefined, "1"],
  ]);
  const rows = await rowsOf("--day", DAY);
  expect(figuresOfItems(items)).toEqual(figuresOfRows(rows.filter(({ productId }) => productId === "P1")));
  expect((await itemsOf("--day", DAY, "--explained-by", "nothing")).map(sayItem)).toEqual([
    ["anna", "short", null, "2", undefined, "1"],
  ]);
});

describe("a closed day", () => {
  beforeEach(async () => {
    clock.set(NOON + 14 * HOUR_MS);
    expect(await close(DAY)).toHaveProperty("closed");
  });

  test("has the lines that it was closed with, whatever changes later, and so has its month", async () => {
    const before = await itemsOf("--day", DAY);
    await listed(recordOf("99", { ...bet("even").record, updatedDate: new Date(clock.now()).toISOString() }));
    await giveByHand("5");
    clock.set(clock.now() + 3 * HOUR_MS);
    await diff({ settings: CONFIG });
    expect(await correct()).toBe(2);
    expect(await itemsOf("--day", DAY)).toEqual(before);
    expect(await itemsOf("--month", "2026-11")).toEqual(before);
    expect(figuresOfItems(before)).toEqual(figuresOfRows(await rowsOf("--month", "2026-11")));
    expect((await itemsOf("--day", DAY, "--zone", "Asia/Bangkok")).map(sayItem)).toContainEqual([
      "anna",
      "short",
      "correction",
      "5",
      "10",
      "1",
    ]);
  });

  test("is refused if its bets were deleted or its statement was altered", async () => {
    const ask = await serveApi({ ...context(), sql });
    await sql`delete from closed_bets where bet_ref = 'even'`;
    const gone = `the lines of P1 of the closed day ${DAY} are not kept any more: their provider bets is 1, and that of the statement 2.`;
    expect(await ask("GET", `/api/report/items?day=${DAY}`)).toMatchObject(problemWith(410, gone));
    expect(await recon("--items", "--day", DAY)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining(gone),
    });
    await sql`update closed_days set statement = jsonb_set(statement, '{rows,0,rest}', '"1"')`;
    const altered = `the stored statement of ${DAY} was altered after it was closed`;
    expect(await ask("GET", `/api/report/items?day=${DAY}`)).toMatchObject(problemWith(409, altered));
  });
});

test("a page that follows one from before the day was closed is refused, because other lines follow", async () => {
  const ask = await serveApi(context());
  const { json } = await ask("GET", `/api/report/items?day=${DAY}&limit=2`);
  clock.set(NOON + 14 * HOUR_MS);
  await close(DAY);
  expect(await ask("GET", `/api/report/items?day=${DAY}&after=${json.next}`)).toMatchObject(
    problemWith(409, `${DAY} was closed since the page before: begin again without "after"`),
  );
});

test("a page that follows one of another day is refused, because it would lack lines without a word", async () => {
  const ask = await serveApi(context());
  const { json } = await ask("GET", `/api/report/items?day=${DAY}&limit=2`);
  for (const other of ["day=2026-11-19", "day=2026-11-21", "month=2026-11"]) {
    expect(await ask("GET", `/api/report/items?${other}&after=${json.next}`)).toMatchObject(
      problemWith(400, `after "${json.next.slice(0, 60)}" is not the "next" of a page`),
    );
  }
});

test("the CSV has the same lines, behind a byte order mark", async () => {
  const { stdout } = await recon("--items", "--day", DAY, "--csv", "--explained-by", "mismatch");
  expect(stdout).toBe(
    "\uFEFFday,productId,currency,username,betId,transactionId,roundId,provider.status,provider.bets,provider.stake,provider.payout,provider.net,ledger.status,ledger.bets,ledger.stake,ledger.payout,ledger.net,ledger.moved,difference,explainedBy,mismatchId,ledger.rewards,ledger.tips\n" +
      "2026-11-20,P1,THB,anna,short,short,round-short,SETTLED,1,10,25,15,settled,1,10,20,10,10,5,mismatch,1,0,0\n",
  );
});

test.each([
  [["--product", "P9"], 'productId "P9"'],
  [["--currency", "baht"], "currency must be a code in capital letters such as THB"],
  [["--explained-by", "luck"], "luck"],
])("%j is refused with the field and its value", async (args, said) => {
  const { code, stderr } = await recon("--items", "--day", DAY, ...args);
  expect([code, stderr]).toEqual([2, expect.stringContaining(said)]);
});
