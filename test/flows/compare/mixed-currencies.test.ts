/** Bets whose entries have more than one currency, as plain rows: nothing is added up, and nothing is lost. */

import { beforeEach, describe, expect, test } from "vitest";
import type { BetRecord } from "../../../src/bet.ts";
import { parseConfig } from "../../../src/config-file.ts";
import { actOnMismatches } from "../../../src/flows/mismatches/act-on-mismatches.ts";
import { readReport } from "../../../src/flows/reports/read-report.ts";
import { silentLog } from "../../../src/log.ts";
import { readReportDay } from "../../../src/ops/input/report-query.ts";
import { amount } from "../../support/examples.ts";
import { iso, recordOf, useDiffWorld } from "./comparison-world.ts";

const { sql, clock, settle, listed, insertRow, readAll, mismatches, ledgerBegins } = useDiffWorld();
const context = () => ({
  sql,
  config: parseConfig({ products: [{ productId: "P1" }] }),
  clock,
  log: silentLog,
});

beforeEach(ledgerBegins);

type Row = Readonly<Record<string, unknown>>;

const place = { callback: "placeBets", bet_amount: 100, moved: -100 };
const settled = (payout: number) => ({
  callback: "settleBets",
  status: "SETTLED",
  payout_amount: payout,
  moved: payout,
});
const inUsd = { currency: "USD" };

/** Inserts rows a minute apart. */
async function play(...rows: readonly Row[]): Promise<void> {
  for (const [index, row] of rows.entries())
    await insertRow({ entry_id: `w-${index}`, occurred_at: iso(-50 + index), ...row });
}

const listedAs = (stake: string, payout: string, fields: Partial<BetRecord> = {}) =>
  listed(recordOf(payout, { stake: amount(stake), ...fields }));

const rowsOfDay = async () =>
  (await readReport(context(), readReportDay({ day: "2026-11-20", zone: "UTC" }))).rows.map((row) => ({
    currency: row.currency,
    provider: row.provider.net,
    ledger: row.ledger.net,
    mismatches: row.mismatches,
    rest: row.rest,
  }));

interface Case {
  readonly name: string;
  readonly rows: readonly Row[];
  /** null: the provider has no record */
  readonly record: Partial<BetRecord> | null;
  /** what the wallet moved beside what it should have moved, by currency */
  readonly thb: string;
  readonly usd: string;
}

const CASES: readonly Case[] = [
  {
    name: "a settle",
    rows: [place, { ...settled(200), ...inUsd }],
    record: { stake: amount("100"), payout: amount("200") },
    thb: "-200",
    usd: "200",
  },
  {
    name: "a settle of a bet without a record",
    rows: [place, { ...settled(200), ...inUsd }],
    record: null,
    thb: "-100",
    usd: "200",
  },
  {
    name: "a reward",
    rows: [place, settled(150), { callback: "winRewards", payout_amount: 7, moved: 7, ...inUsd }],
    record: { stake: amount("100"), payout: amount("150") },
    thb: "0",
    usd: "7",
  },
  {
    name: "a cancel",
    rows: [place, { callback: "cancelBets", status: "REFUND", moved: 100, ...inUsd }],
    record: { stake: amount("100"), betStatus: "VOID" },
    thb: "-100",
    usd: "100",
  },
  {
    name: "a void",
    rows: [place, settled(150), { callback: "voidSettled", payout_amount: 150, moved: -50, ...inUsd }],
    record: { stake: amount("100"), betStatus: "VOID" },
    thb: "50",
    usd: "-50",
  },
  {
    name: "an adjustment",
    rows: [place, { callback: "adjustBets", bet_amount: 120, moved: -20, ...inUsd }, settled(0)],
    record: { stake: amount("120"), payout: amount("0") },
    thb: "20",
    usd: "-20",
  },
  {
    name: "a settle after a rollback",
    rows: [
      place,
      settled(150),
      { callback: "rollback", status: "ROLLBACK", payout_amount: 150, bet_amount: 0, moved: -150 },
      { ...settled(30), ...inUsd },
    ],
    record: { stake: amount("100"), payout: amount("30") },
    thb: "-30",
    usd: "30",
  },
  {
    name: "a settle BY_ROUND",
    rows: [place, { ...settled(200), ...inUsd, txn_id: "round-end", transaction_type: "BY_ROUND" }],
    record: { stake: amount("100"), payout: amount("200") },
    thb: "-200",
    usd: "200",
  },
];

test.each(CASES)("$name in another currency is currency-differs, and the statement adds up", async (one) => {
  const { rows, record, thb, usd } = one;
  await play(...rows);
  if (record !== null) await listed(recordOf(record.payout?.toFixed() ?? "0", record));
  await settle(20, 100, 200);
  expect(await mismatches()).toEqual(["currency-differs of bet-1 is open"]);
  const abs = (text: string) => text.replace("-", "");
  expect((await readAll())[0]).toMatchObject({
    currency: "THB",
    otherCurrencies: [{ currency: "USD", effect: usd, amountAtRisk: abs(usd) }],
    ...(thb === "0" ? {} : { amountAtRisk: abs(thb) }),
    reason: expect.stringMatching(/in THB they asked for .* moved .*, in USD they asked for .* moved /),
  });
  const moved = await sql`
    select currency, trim_scale(sum(moved))::text as ledger from callback_entries
    where username = 'anna' group by 1 order by 1`;
  expect((await rowsOfDay()).map(({ currency, ledger }) => ({ currency, ledger }))).toEqual([...moved]);
  const opposite = (text: string) => amount(text).neg().toFixed();
  const statement = await rowsOfDay();
  expect(statement).toMatchObject([
    { currency: "THB", mismatches: opposite(thb), rest: "0" },
    { currency: "USD", mismatches: opposite(usd), provider: "0", ledger: usd, rest: "0" },
  ]);
});

test("the reason names each currency with what it asked for and moved", async () => {
  await play(place, { ...settled(200), ...inUsd, moved: 150 });
  await listedAs("100", "200");
  await settle(20, 100, 200);
  expect((await readAll())[0]?.reason).toBe(
    "the entries of one bet have several currencies: in THB they asked for -100.00 THB and the wallet moved -100.00 THB, in USD they asked for 200.00 USD and the wallet moved 150.00 USD",
  );
});

test("a bet has the currency of its placement, even if another entry came first", async () => {
  await play({ callback: "winRewards", payout_amount: 5, moved: 5, ...inUsd }, place, settled(0));
  await listedAs("100", "0");
  await settle(20, 100, 200);
  expect(await readAll()).toMatchObject([
    { kind: "currency-differs", currency: "THB", otherCurrencies: [{ currency: "USD", effect: "5" }] },
  ]);
});

test("an equal settle of 0 in another currency moved nothing, and still is no repeat", async () => {
  await play(place, settled(0), { ...settled(0), ...inUsd });
  await listedAs("100", "0");
  await settle(20, 100, 200);
  expect(await mismatches()).toEqual(["currency-differs of bet-1 is open"]);
});

test("a decision stands while nothing changes", async () => {
  await play(place, { ...settled(200), ...inUsd });
  await listedAs("100", "200");
  await settle(20, 100);
  const ids = (await readAll()).map(({ id }) => id);
  const note = { note: "paid back by hand", by: "joe", expected: null, adjustment: null };
  await actOnMismatches(context(), { action: "ignore", target: { ids }, ...note });
  await insertRow({ entry_id: "again", request_id: "w-0", ...place, moved: 0 });
  await settle(200, 300);
  expect(await mismatches()).toEqual(["currency-differs of bet-1 is ignored"]);
  await insertRow({ entry_id: "more", ...settled(1), ...inUsd });
  await settle(400, 500);
  expect(await mismatches()).toEqual(["currency-differs of bet-1 is open"]);
});

describe("a BY_ROUND entry", () => {
  const second = { txn_id: "bet-2" };
  const usdPlace = { ...place, ...inUsd, ...second };

  test("acts on the bets of its own currency, if the round has any", async () => {
    const end = { txn_id: "round-end", transaction_type: "BY_ROUND" };
    await play(
      place,
      usdPlace,
      { ...settled(200), ...inUsd, ...end },
      { ...settled(50), ...end, request_id: "thb" },
    );
    await listed(
      recordOf("50", { stake: amount("100") }),
      recordOf("200", { stake: amount("100"), id: "rec-2", betId: "bet-2", ...inUsd }),
    );
    await settle(20, 100, 200);
    expect(await mismatches()).toEqual([]);
  });
});
