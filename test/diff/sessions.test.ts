import { describe, expect, test } from "vitest";
import type { CallbackEntry } from "../../src/callback.ts";
import type { Graces } from "../../src/diff/required-conditions.ts";
import { compareSession, type PlayerSession, requiredForSession } from "../../src/diff/sessions.ts";
import { splitSessions } from "../../src/diff/split-sessions.ts";
import { foldEntries } from "../../src/ledger/fold.ts";
import { formatAmount } from "../../src/money.ts";
import { amount, exampleAdjustment, exampleEntry, HOUR_MS, MINUTE_MS, NOON } from "../support/examples.ts";
import { type RecordFields, record } from "./sides.ts";

const at = (minutes: number) => NOON + minutes * MINUTE_MS;
const played = (minutes: number, fields: RecordFields = {}) => {
  const date = new Date(at(minutes)).toISOString();
  return record({
    id: `r ${minutes}`,
    accountingDate: date,
    updatedDate: date,
    versionSeenAt: at(minutes),
    ...fields,
  });
};
const split = (entries: CallbackEntry[], records: ReturnType<typeof record>[] = []) =>
  splitSessions(
    "anna",
    { entries, records, bets: foldEntries(entries, { singleState: false }) },
    HOUR_MS,
    new Map(),
  );
const START = { productId: "P1", ledgerStart: NOON, tolerance: new Map() };
const findings = (sessions: readonly PlayerSession[]) =>
  sessions.flatMap((session) => {
    const content = compareSession(session, START);
    return content === null ? [] : [`${content.subject.slice(8, 24)} ${formatAmount(content.amountAtRisk)}`];
  });

describe("a session", () => {
  test("ends with a pause longer than the quiet time, in entries and records together", () => {
    const spans = (minutes: number[]) =>
      split(minutes.map((one) => exampleAdjustment("DEBIT", "1", one))).length;
    expect(spans([0, 60, 120])).toBe(1);
    expect(spans([0, 60 + 1 / 60_000])).toBe(2);
    expect(
      split([exampleAdjustment("DEBIT", "1", 0), exampleAdjustment("CREDIT", "1", 100)], [played(50)]),
    ).toHaveLength(1);
  });

  test("takes a lone record that closes nothing if it is left open itself, and stays as it is if it agrees", () => {
    const spans = (credit: string) =>
      split(
        [exampleAdjustment("DEBIT", "10", 0), exampleAdjustment("CREDIT", credit, 30)],
        [played(10, { stake: "4", payout: "0" }), played(300, { payout: "0" })],
      ).length;
    expect([spans("5"), spans("6")]).toEqual([1, 2]);
  });

  test("has one currency", () => {
    expect(
      split([exampleAdjustment("DEBIT", "1", 0), exampleAdjustment("DEBIT", "1", 1, { currency: "USD" })]),
    ).toHaveLength(2);
  });

  test("agrees if credits minus debits equal payouts minus stakes, without voids", () => {
    const entries = [exampleAdjustment("DEBIT", "100", 0), exampleAdjustment("CREDIT", "85", 30)];
    const records = [
      played(10),
      played(11, { stake: "15", payout: "10" }),
      played(12, { stake: "77", betStatus: "VOID" }),
    ];
    expect(findings(split(entries, records))).toEqual([]);
    expect(findings(split(entries, records.slice(1)))).toEqual(["2026-11-20T12:00 10"]);
  });

  test("compares a tip's record with nothing if its callback says no amount", () => {
    const tip = (stake: string) =>
      exampleEntry({
        callback: "placeTips",
        txnId: "tip",
        occurredAt: at(1),
        receivedAt: at(1),
        betAmount: amount(stake),
        moved: amount(stake).neg(),
      });
    const listed = [played(1, { betId: "tip", stake: "8", payout: "0" })];
    expect(findings(split([tip("0")], listed))).toEqual([]);
    const paid = [played(1, { betId: "tip", stake: "8", payout: "3" })];
    expect(findings(split([tip("0")], paid))).toEqual(["2026-11-20T12:01 5"]);
    expect(findings(split([tip("7")], listed))).toEqual(["2026-11-20T12:01 1"]);
  });

  test("without a record, or without an entry, differs by all money of the other side", () => {
    expect(findings(split([exampleAdjustment("DEBIT", "100", 0)]))).toEqual(["2026-11-20T12:00 100"]);
    expect(findings(split([], [played(5)]))).toEqual(["2026-11-20T12:05 10"]);
  });

  test("counts a reference once, unless the wallet moved its money again", () => {
    const again = (text: string | null) =>
      exampleAdjustment("DEBIT", "10", 1, { txnId: "ref 0", moved: text === null ? null : amount(text) });
    expect(
      findings(split([exampleAdjustment("DEBIT", "10", 0), again(null), again("0")], [played(2)])),
    ).toEqual([]);
    expect(findings(split([exampleAdjustment("DEBIT", "10", 0), again("-10")], [played(2)]))).toEqual([
      "2026-11-20T12:00 10",
    ]);
  });

  test("that began before the ledger is not compared", () => {
    expect(findings(split([exampleAdjustment("DEBIT", "10", 0)], [played(-1)]))).toEqual([]);
  });
});

test("a session is judged when it is over, its graces are over, and all of its time was fetched late enough", () => {
  const graces: Graces = {
    callbackGraceMs: 15 * MINUTE_MS,
    providerGraceMs: HOUR_MS,
    settleDelayMs: 0,
    overlapMs: 5 * MINUTE_MS,
    roundPatienceMs: 0,
    earliestFetch: 0,
  };
  const [session] = split(
    [exampleAdjustment("DEBIT", "10", 0), exampleAdjustment("CREDIT", "5", 30, { receivedAt: at(40) })],
    [played(20)],
  );
  const needs = requiredForSession(session as PlayerSession, HOUR_MS, graces);
  expect(needs).toEqual({
    ofRecords: true,
    notBefore: at(90) + 1,
    eitherFetched: [{ ranges: [{ from: at(-5), to: at(90) }], since: at(100) }],
  });
  const late = split([exampleAdjustment("DEBIT", "10", 0)], [played(20, { versionSeenAt: at(500) })]);
  expect(requiredForSession(late[0] as PlayerSession, HOUR_MS, graces).notBefore).toBe(at(515));
});
