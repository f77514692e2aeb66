/** The share of the money that both sides confirmed within an hour, a day and a week. */

import { beforeEach, describe, expect, test } from "vitest";
import type { BetRecord } from "../../../src/bet.ts";
import type { CallbackEntry } from "../../../src/callback.ts";
import { readMonth } from "../../../src/flows/closing/read-statement.ts";
import { COMPARE_LIMITS } from "../../../src/flows/compare/comparison-context.ts";
import { dropClosed } from "../../../src/flows/retention/drop-closed.ts";
import { readMonthlyShares } from "../../../src/flows/trends/trends.ts";
import { parseMonth } from "../../../src/ops/input/report-query.ts";
import { openMetrics } from "../../../src/ops/metrics/metrics.ts";
import { amount, exampleAdjustment, HOUR_MS, MINUTE_MS, NOON } from "../../support/examples.ts";
import { OWN_PAGE, serveOps } from "../../support/ops-browser.ts";
import { callbacksOf, iso, minute, recordOf, useDiffWorld } from "../compare/comparison-world.ts";
import { DAY_MS, TODAY, useClosing } from "./closing-world.ts";

const SETTINGS = {
  products: [{ productId: "P1" }, { productId: "FISH", settlement: "session" }],
  pull: { resweepAfter: ["P1D"] },
  retain: { records: "P30D", entries: "P30D" },
};
let limits = COMPARE_LIMITS;
const { sql, clock, diff, receive, listed, ledgerBegins } = useDiffWorld();
const { context, fetched, close, correct, expectInvariant } = useClosing(sql, clock, SETTINGS, () => limits);

beforeEach(async () => {
  limits = COMPARE_LIMITS;
  await ledgerBegins();
  await fetched(TODAY - DAY_MS, TODAY + 3 * DAY_MS);
});

/** A bet of 11:55 whose stake and payout are equal. @param name of the bet and its round */
function entriesOf(name: string, stake: string, fields: Partial<CallbackEntry> = {}): CallbackEntry[] {
  const [placed, settled] = callbacksOf(stake, { txnId: name, roundId: `round of ${name}`, ...fields });
  if (placed === undefined || settled === undefined) throw new Error("a bet has two callbacks");
  return [{ ...placed, betAmount: amount(stake) }, settled];
}

function recordFor(name: string, stake: string, fields: Partial<BetRecord> = {}): BetRecord {
  const names = { betId: name, id: `record of ${name}`, roundId: `round of ${name}` };
  return recordOf(stake, { ...names, stake: amount(stake), ...fields });
}

/** A bet that both sides have, whose record is listed this many minutes after noon. */
async function playBet(name: string, stake: string, listedAt: number): Promise<void> {
  await receive(...entriesOf(name, stake));
  clock.set(minute(listedAt));
  await listed(recordFor(name, stake));
}

async function compare(): Promise<void> {
  for (const product of ["P1", "FISH"]) await diff({ product, settings: SETTINGS, limits });
}

async function closeDays(...days: string[]): Promise<void> {
  await compare();
  for (const day of days) expect(await close(day)).toHaveProperty("closed");
}

const DAY = 24 * 60;
const confirmed = async () => (await readMonth(context(), parseMonth("2026-11"))).confirmed;
const names = { productId: "P1", currency: "THB" };

describe("the share of the stake that both sides confirmed", () => {
  test("counts a bet from the moment at which the last of its record and callbacks was there", async () => {
    await playBet("soon", "10", 50);
    await playBet("in the evening", "20", 10 * 60);
    await playBet("two days later", "30", 2 * DAY);
    await receive(...entriesOf("late callback", "40", { receivedAt: minute(2 * DAY) }));
    await listed(recordFor("late callback", "40"));
    clock.set(minute(9 * DAY));
    await closeDays("2026-11-20");
    expect(await confirmed()).toEqual([
      { ...names, stake: "100", withinHour: "0.1", withinDay: "0.3", withinWeek: "1" },
    ]);
    await expectInvariant();
  });

  test("is unknown until the last closed day of the month had that time", async () => {
    await playBet("soon", "10", 50);
    const known = async () => {
      const [{ withinHour, withinDay, withinWeek } = {}] = await confirmed();
      return [withinHour, withinDay, withinWeek];
    };
    clock.set(TODAY + DAY_MS + HOUR_MS - 1);
    await closeDays("2026-11-20");
    expect(await known()).toEqual([null, null, null]);
    clock.set(TODAY + DAY_MS + HOUR_MS);
    expect(await known()).toEqual(["1", null, null]);
    clock.set(TODAY + 2 * DAY_MS);
    expect(await known()).toEqual(["1", "1", null]);
    clock.set(TODAY + 8 * DAY_MS);
    expect(await known()).toEqual(["1", "1", "1"]);
  });

  test("is cut and not rounded, so that only what is whole is 1", async () => {
    await playBet("soon", "2999999.99", 50);
    await playBet("two days later", "0.01", 2 * DAY);
    clock.set(minute(9 * DAY));
    await closeDays("2026-11-20");
    expect(await confirmed()).toMatchObject([{ withinHour: "0.999999", withinWeek: "1" }]);
  });

  test("leaves out a bet that differs until it agrees, and counts it from then on", async () => {
    await playBet("soon", "10", 50);
    await receive(...entriesOf("restated", "30"));
    await listed(recordFor("restated", "30", { payout: amount("35") }));
    clock.set(minute(2 * DAY));
    await closeDays("2026-11-20");
    clock.set(minute(8 * DAY - 1));
    expect(await confirmed()).toMatchObject([{ stake: "40", withinHour: "0.25", withinDay: "0.25" }]);
    clock.set(minute(3 * DAY));
    await listed(recordFor("restated", "30"));
    await compare();
    await correct();
    clock.set(minute(9 * DAY));
    expect(await confirmed()).toMatchObject([
      { stake: "40", withinHour: "0.25", withinDay: "0.25", withinWeek: "1" },
    ]);
    await expectInvariant();
  });

  test("has the stake of today's data: a bet that comes after a week lowers the share", async () => {
    await playBet("soon", "10", 50);
    clock.set(minute(9 * DAY));
    await closeDays("2026-11-20");
    await playBet("much later", "30", 10 * DAY);
    await compare();
    expect(await correct()).toBe(1);
    expect(await confirmed()).toMatchObject([{ stake: "40", withinWeek: "0.25" }]);
    await expectInvariant();
  });

  test("counts a day that had no bet when it was closed", async () => {
    clock.set(minute(9 * DAY));
    await closeDays("2026-11-20");
    expect(await confirmed()).toEqual([]);
    await playBet("much later", "30", 10 * DAY);
    await compare();
    await correct();
    expect(await confirmed()).toMatchObject([{ stake: "30", withinWeek: "0" }]);
    await expectInvariant();
  });

  test("counts a day whose only record was void when it was closed", async () => {
    clock.set(minute(10));
    await listed(recordFor("void", "30", { betStatus: "VOID" }));
    clock.set(minute(9 * DAY));
    await closeDays("2026-11-20");
    await playBet("much later", "30", 10 * DAY);
    await compare();
    await correct();
    expect(await confirmed()).toMatchObject([{ stake: "30", withinWeek: "0" }]);
    await expectInvariant();
  });

  test("counts a session from its last moment", async () => {
    const fish = { productId: "FISH" };
    await receive(
      exampleAdjustment("DEBIT", "100", 0, fish),
      exampleAdjustment("CREDIT", "85", 30, { ...fish, receivedAt: minute(3 * 60) }),
    );
    clock.set(minute(40));
    const times = { accountingDate: iso(10), updatedDate: iso(10) };
    await listed(recordFor("shot", "100", { ...fish, payout: amount("85"), ...times }));
    clock.set(minute(9 * DAY));
    await closeDays("2026-11-20");
    expect(await confirmed()).toEqual([
      { ...names, ...fish, stake: "100", withinHour: "0", withinDay: "1", withinWeek: "1" },
    ]);
  });

  test("counts the bets of a large round that are not loaded from the last of them", async () => {
    limits = { ...COMPARE_LIMITS, wholeRound: 2 };
    const round = { roundId: "large" };
    for (let number = 1; number <= 6; number += 1) {
      await receive(...entriesOf(`bet ${number}`, "10", round));
      clock.set(minute(number === 6 ? 3 * 60 : 10));
      await listed(recordFor(`bet ${number}`, "10", round));
    }
    clock.set(minute(9 * DAY));
    await closeDays("2026-11-20");
    const [share] = await confirmed();
    expect(share).toMatchObject({ stake: "60", withinDay: "1" });
    expect(Number(share?.withinHour)).toBeLessThan(1);
    await expectInvariant();
  });

  test("stays when retention deletes the bets of its days", async () => {
    await playBet("soon", "10", 50);
    await playBet("two days later", "30", 2 * DAY);
    clock.set(minute(11 * DAY));
    await closeDays("2026-11-20", "2026-11-21", "2026-11-22");
    const before = await confirmed();
    clock.set(NOON + 40 * DAY_MS);
    await sql`update windows set fetched_at = ${clock.now()}`;
    await dropClosed(context(), new AbortController().signal);
    expect(await sql`select bet_ref from closed_bets where username = 'anna'`).toEqual([]);
    expect(await confirmed()).toEqual(before);
    expect(before).toMatchObject([{ withinHour: "0.25", withinWeek: "1" }]);
  });

  test("is unknown for a month of which an earlier version closed a day, also after a correction of it", async () => {
    await playBet("soon", "10", 50);
    clock.set(minute(9 * DAY));
    await closeDays("2026-11-20");
    await sql`delete from confirmed_days`;
    await playBet("much later", "30", 10 * DAY);
    await compare();
    expect(await correct()).toBe(1);
    expect(await sql`select from confirmed_days`).toEqual([]);
    const unknown = { stake: "40", withinHour: null, withinDay: null, withinWeek: null };
    expect(await confirmed()).toEqual([{ ...names, ...unknown }]);
  });
});

test("the trends and the metrics have the shares of the last months, the newest first", async () => {
  await playBet("soon", "10", 50);
  await playBet("in the evening", "30", 10 * 60);
  const december = minute(12 * DAY);
  await fetched(TODAY + 3 * DAY_MS, TODAY + 14 * DAY_MS);
  await receive(...entriesOf("in December", "5", { occurredAt: december, receivedAt: december }));
  clock.set(december + 10 * MINUTE_MS);
  const at = new Date(december).toISOString();
  await listed(recordFor("in December", "5", { accountingDate: at, updatedDate: at }));
  clock.set(minute(14 * DAY));
  const dates = Array.from({ length: 13 }, (_, day) =>
    new Date(TODAY + day * DAY_MS).toISOString().slice(0, 10),
  );
  await closeDays(...dates);
  const all = await readMonthlyShares(sql, clock.now(), 12);
  expect(all).toMatchObject([
    { month: "2026-12", ...names, stake: "5", withinHour: "1", withinDay: "1", withinWeek: null },
    { month: "2026-11", ...names, stake: "40", withinHour: "0.25", withinDay: "1", withinWeek: null },
  ]);
  expect((await confirmed())[0]).toMatchObject({ withinHour: "0.25", withinWeek: null });
  expect(await readMonthlyShares(sql, clock.now(), 1, "P1")).toEqual(all.slice(0, 1));
  expect(await readMonthlyShares(sql, clock.now(), 12, "FISH")).toEqual([]);
  const { text } = await openMetrics(context(), async () => []).show();
  expect(text.match(/^recon_confirmed_share\{.*$/gm)?.sort()).toEqual(
    [
      'month="2026-11",within="day"} 1',
      'month="2026-11",within="hour"} 0.25',
      'month="2026-12",within="day"} 1',
      'month="2026-12",within="hour"} 1',
    ].map((rest) => `recon_confirmed_share{product="P1",currency="THB",${rest}`),
  );
  const answer = await (await serveOps(context(), []))("GET", "/trends?span=day&product=P1", {
    headers: OWN_PAGE,
  });
  const cells = answer.text.match(/<tr><th scope="row" class="text " data-name="Month">.*?<\/tr>/gs);
  expect(
    cells?.map((row) =>
      row
        .replace(/<[^>]*>/g, " ")
        .replace(/\s+/g, " ")
        .trim(),
    ),
  ).toEqual([
    "2026-12 P1 5.00 THB 100.00 % 100.00 % unknown until 2026-12-10 00:00",
    "2026-11 P1 40.00 THB 25.00 % 100.00 % unknown until 2026-12-08 00:00",
  ]);
});
