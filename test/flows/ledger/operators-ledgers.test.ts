/** Operators that omit lost settlements, or round amounts: the mismatches of a bet over time, and the day's statement. */

import { beforeEach, describe, expect, test } from "vitest";
import { parseConfig } from "../../../src/config-file.ts";
import { compareOpenAgain } from "../../../src/flows/compare/compare-product.ts";
import { readReport } from "../../../src/flows/reports/read-report.ts";
import { silentLog } from "../../../src/log.ts";
import { readReportDay } from "../../../src/ops/input/report-query.ts";
import { amount, exampleEntry, exampleSettle } from "../../support/examples.ts";
import { callbacksOf, iso, minute, recordOf, useDiffWorld } from "../compare/comparison-world.ts";

const { sql, clock, diffAt, receive, listed, fetchPlanned, mismatches, readAll, ledgerBegins } =
  useDiffWorld();
beforeEach(() => ledgerBegins());

async function rowsOf(settings: object) {
  const context = { sql, config: parseConfig(settings), clock, log: silentLog };
  return (await readReport(context, readReportDay({ day: "2026-11-20", zone: "UTC" }))).rows;
}

describe("a lost bet whose settlement the operator does not write", () => {
  const settings = { products: [{ productId: "P1", lostBets: "omitted" }] };
  const compareAfter = async (minutes: number) => {
    await diffAt(minutes, { settings });
    await fetchPlanned();
    await diffAt(minutes + 1, { settings });
  };
  const updatedAt = (minutes: number) => ({ updatedDate: iso(minutes), accountingDate: iso(-1) });

  test("is no mismatch, even after a day, and is not pending in the day's statement", async () => {
    await receive(exampleEntry());
    await listed(recordOf("0"));
    for (const minutes of [20, 90, 2 * 24 * 60]) await compareAfter(minutes);
    expect(await mismatches()).toEqual([]);
    expect(await rowsOf(settings)).toMatchObject([
      { provider: { net: "-10" }, ledger: { net: "-10" }, difference: "0", pending: "0", rest: "0" },
    ]);
  });

  test("whose result changes to a win is a missing settlement, until the settlement arrives", async () => {
    await receive(exampleEntry());
    await listed(recordOf("0"));
    await compareAfter(90);
    await listed(recordOf("5", updatedAt(90)));
    await compareAfter(120);
    expect(await readAll()).toMatchObject([
      { kind: "missing-settlement", transactionId: "bet-1", amountAtRisk: "5", status: "open" },
    ]);
    expect(await rowsOf(settings)).toMatchObject([{ difference: "5", mismatches: "5", rest: "0" }]);
    const late = { payoutAmount: amount("5"), occurredAt: minute(90), receivedAt: minute(125) };
    await receive(exampleSettle(late));
    await compareAfter(200);
    expect(await mismatches()).toEqual(["missing-settlement of bet-1 is resolved"]);
  });

  test("that becomes void is a mismatch, until its callback arrives", async () => {
    await receive(exampleEntry());
    await listed(recordOf("0"));
    await compareAfter(90);
    await listed(recordOf("0", { betStatus: "VOID", payoutStatus: "UNKNOWN", ...updatedAt(90) }));
    await compareAfter(120);
    expect(await mismatches()).toEqual(["missing-settlement of bet-1 is open"]);
    const undone = {
      callback: "voidSettled",
      entryId: "void",
      requestId: "void",
      betAmount: amount("10"),
      payoutAmount: amount("0"),
      moved: amount("10"),
      occurredAt: minute(90),
      receivedAt: minute(125),
    } as const;
    await receive(exampleSettle(undone));
    await compareAfter(200);
    expect(await mismatches()).toEqual(["missing-settlement of bet-1 is resolved"]);
  });

  test("has its earlier mismatches resolved after the setting is made and the worker restarts", async () => {
    await receive(exampleEntry());
    await listed(recordOf("0"));
    await diffAt(90);
    expect(await mismatches()).toEqual(["missing-settlement of bet-1 is open"]);
    clock.set(minute(95));
    await compareOpenAgain({ sql, config: parseConfig(settings), clock, log: silentLog });
    await compareAfter(95);
    expect(await mismatches()).toEqual(["missing-settlement of bet-1 is resolved"]);
  });

  test("is a mismatch if its stake was taken twice", async () => {
    const again = { entryId: "again", requestId: "again", occurredAt: minute(-4), receivedAt: minute(-4) };
    await receive(exampleEntry(), exampleEntry({ ...again, moved: amount("-10") }));
    await listed(recordOf("0"));
    await compareAfter(90);
    expect(await mismatches()).toEqual(["net-differs of bet-1 is open"]);
    expect(await rowsOf(settings)).toMatchObject([
      { difference: "10", mismatches: "10", pending: "0", rest: "0" },
    ]);
  });
});

describe("amounts that are equal within a tolerance", () => {
  const settings = { products: [{ productId: "P1" }], diff: { tolerance: { THB: "0.01" } } };

  test("are no mismatch, and the statement shows their sum with its sign", async () => {
    const other = { txnId: "bet-2", roundId: "round-2" };
    await receive(...callbacksOf("20.01"), ...callbacksOf("20", other));
    await listed(recordOf("20.004"), recordOf("20.001", { id: "rec-2", betId: "bet-2", roundId: "round-2" }));
    await diffAt(90, { settings });
    expect(await mismatches()).toEqual([]);
    expect(await rowsOf(settings)).toMatchObject([
      { difference: "-0.005", mismatches: "0", pending: "0", rounding: "-0.005", rest: "0" },
    ]);
  });

  test("may occur next to a mismatch, which explains the whole difference of its own bet", async () => {
    const other = { txnId: "bet-2", roundId: "round-2" };
    await receive(...callbacksOf("20"), ...callbacksOf("20", other));
    await listed(recordOf("20.004"), recordOf("25.006", { id: "rec-2", betId: "bet-2", roundId: "round-2" }));
    await diffAt(90, { settings });
    expect(await mismatches()).toEqual(["payout-differs of bet-2 is open"]);
    expect(await rowsOf(settings)).toMatchObject([
      { difference: "5.01", mismatches: "5.006", rounding: "0.004", rest: "0" },
    ]);
  });

  test("are differences again if the tolerance is removed", async () => {
    await receive(...callbacksOf("20"));
    await listed(recordOf("20.004"));
    await diffAt(90, { settings });
    expect(await rowsOf({ products: settings.products })).toMatchObject([{ rounding: "0", rest: "0.004" }]);
  });
});
