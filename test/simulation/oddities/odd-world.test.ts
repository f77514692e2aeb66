import Big from "big.js";
import { describe, expect, it } from "vitest";
import type { BetRecord } from "../../../src/bet.ts";
import type { CallbackEntry } from "../../../src/callback.ts";
import type { PlantedFault, World } from "../../../src/sandbox/world/world.ts";
import { HOUR, MINUTE, planOf, START } from "../../sandbox/plans.ts";
import type { OddProductPlan, OddStyle, OddWorldPlan } from "./odd-plan.ts";
import { createOddWorld } from "./odd-world.ts";

const STYLES: readonly OddStyle[] = [
  "odd",
  "single-state",
  "open-listed",
  "by-round",
  "session",
  "lost-omitted",
  "two-decimals",
];
const PRODUCTS = STYLES.map((style): OddProductPlan => ({ productId: style, style, roundsPerMinute: 1 }));
const ALL = { from: START - HOUR, to: START + 8 * HOUR };
const ODD: OddWorldPlan = {
  ...planOf(),
  products: PRODUCTS,
  periods: [{ from: START, to: START + 2 * HOUR }],
  lateSettlementMs: HOUR,
  lateReportMs: 20 * MINUTE,
  faultEveryMinutes: 3,
};

const world = createOddWorld(ODD);
const entries = world.entriesReceived(ALL);
const records = recordsOf(world, world.quietAt());
const planted = world.plantedBy(world.quietAt());

function recordsOf(of: World, now: number): BetRecord[] {
  return PRODUCTS.flatMap(({ productId }) => of.recordsIn(productId, ALL, now));
}

function sum(amounts: readonly Big[]): Big {
  return amounts.reduce((total, amount) => total.plus(amount), Big("0"));
}

describe("a world full of oddities", () => {
  it("is the same in two processes with the same plan, whatever was requested before", () => {
    const asked = createOddWorld(ODD);
    asked.recordsIn("odd", { from: START + HOUR, to: START + 2 * HOUR }, START + 2 * HOUR);
    asked.entriesReceived({ from: START + HOUR, to: START + 2 * HOUR });
    expect(asked.entriesReceived(ALL)).toEqual(entries);
    expect(recordsOf(asked, world.quietAt())).toEqual(records);
    expect(asked.plantedBy(world.quietAt())).toEqual(planted);
  });

  it("gives every entry once, in any division of time, and no id twice", () => {
    const pieces = [START - HOUR, START + HOUR, START + 2 * HOUR, ALL.to];
    const parts = pieces.slice(1).flatMap((to, index) => {
      return world.entriesReceived({ from: pieces[index] ?? 0, to });
    });
    expect(parts.map(({ entryId }) => entryId).sort()).toEqual(entries.map(({ entryId }) => entryId).sort());
    expect(new Set(entries.map(({ entryId }) => entryId)).size).toBe(entries.length);
  });

  it("delivers callbacks within their lag, and none after its end", () => {
    for (const { occurredAt, receivedAt } of entries) {
      expect(receivedAt).toBeGreaterThanOrEqual(occurredAt);
      expect(receivedAt - occurredAt).toBeLessThanOrEqual(ODD.callbackLagMs);
    }
    expect(world.entriesReceived({ from: world.quietAt(), to: ALL.to })).toEqual([]);
    expect(recordsOf(world, world.quietAt() + HOUR)).toEqual(records);
  });

  it("shows a changed record no later than the latest report", () => {
    const latest = START + 30 * MINUTE;
    const isEarly = ({ updatedDate }: BetRecord) =>
      Date.parse(updatedDate) <= latest - (ODD.lateReportMs ?? 0);
    const later = new Map(recordsOf(world, latest).map((record) => [record.id, record.updatedDate]));
    const early = recordsOf(world, START + HOUR).filter(isEarly);
    expect(early.length).toBeGreaterThan(10);
    for (const { id, updatedDate } of early) expect(later.get(id)).toBe(updatedDate);
  });

  it("has every callback, and every variant of each", () => {
    const variants = new Set(
      entries.flatMap((entry) => [
        `${entry.callback} ${entry.status}`,
        ...(entry.transactionType === "BY_ROUND" ? [`${entry.callback} BY_ROUND`] : []),
        ...(entry.transactionType === "BY_BET" ? [`${entry.callback} BY_BET`] : []),
        ...(entry.callback === "rollback" && entry.transactionType === null ? ["rollback of no type"] : []),
        ...(entry.singleState === null ? [] : [`isSingleState ${entry.singleState}`]),
        ...(entry.skipBalanceUpdate ? ["skipBalanceUpdate"] : []),
        ...(entry.moved === null ? ["no moved"] : []),
        ...(entry.balanceAfter === null ? [] : ["balances"]),
        ...(entry.roundId === "" || entry.roundId === "UNKNOWN" ? [`round "${entry.roundId}"`] : []),
      ]),
    );
    expect([...variants].sort()).toEqual(
      [
        "adjustBalance CREDIT",
        "adjustBalance DEBIT",
        "adjustBets OPEN",
        "balances",
        "cancelBets BY_BET",
        "cancelBets BY_ROUND",
        "cancelBets REFUND",
        "cancelBets REJECT",
        "cancelTips REFUND",
        "isSingleState false",
        "isSingleState true",
        "no moved",
        "placeBets OPEN",
        "placeBets WAITING",
        "placeTips TIPS",
        "rollback BY_BET",
        "rollback BY_ROUND",
        "rollback of no type",
        "rollback ROLLBACK",
        'round ""',
        'round "UNKNOWN"',
        "settleBets BY_BET",
        "settleBets BY_ROUND",
        "settleBets SETTLED",
        "skipBalanceUpdate",
        "voidSettled BY_BET",
        "voidSettled BY_ROUND",
        "voidSettled SETTLED",
        "winRewards SETTLED",
      ].sort(),
    );
  });

  it("has amounts and names that break careless programs", () => {
    const stakes = records.map(({ stake }) => stake.toFixed());
    expect(stakes.some((stake) => /^\d{30}\.\d{8}$/.test(stake))).toBe(true);
    expect(stakes.some((stake) => /^0\.0000000\d$/.test(stake))).toBe(true);
    expect(
      new Set(records.map(({ accountingDate }) => accountingDate.replace(/.*\d{3}(?=[Z+-])/, ""))),
    ).toEqual(new Set(["+07:00", "Z", "+00:00", "-05:00", "+05:30"]));
    const names = [...new Set(entries.map(({ username }) => username))].join("|");
    for (const part of ["ใจดี", "🎲", "'", '"', "<script>", "=HYPERLINK", "x".repeat(300)]) {
      expect(names).toContain(part);
    }
  });
});

describe("the faults of a world full of oddities", () => {
  it("are of every kind that callbacks and records can make, in rounds of their own", () => {
    expect(new Set(planted.map(({ kind }) => kind)).size).toBe(16);
    const rounds = planted.flatMap(({ roundId }) => roundId ?? []);
    expect(new Set(rounds).size).toBe(rounds.length);
  });

  it("name bets and records that exist, or existed", () => {
    for (const { kind, transactionId, betId } of planted) {
      const isSaid = entries.some((entry) => entry.txnId === transactionId);
      const isListed = records.some((record) => record.betId === betId);
      if (transactionId !== null) expect(isSaid).toBe(true);
      if (betId !== null) expect(isListed).toBe(true);
      if (kind === "missing-in-ledger") expect(transactionId).toBe(null);
      if (kind === "missing-at-provider" || kind === "stuck-open") expect(betId).toBe(null);
    }
  });

  it("put at risk what the wallet moved beyond the requirement of the record", () => {
    const counted = planted.filter(
      ({ kind }) => kind !== "balance-differs" && kind !== "provider-inconsistent",
    );
    const checked = counted.flatMap((fault) => {
      const own = entries.filter((entry) => isAbout(fault, entry.txnId, entry.roundId));
      if (own.some(({ moved }) => moved === null)) return [];
      const listed = records.filter((record) => isAbout(fault, record.betId, record.roundId));
      // A bet counts in the currency of its placement.
      const currency = own.find(({ callback }) => callback === "placeBets")?.currency ?? own[0]?.currency;
      const comparable = listed.filter((record) => currency === undefined || record.currency === currency);
      const counting = own.filter((entry) => entry.currency === currency);
      const moved = sum(counting.map((entry: CallbackEntry) => entry.moved ?? Big("0")));
      const placements = own.filter(({ callback }) => callback === "placeBets");
      // Of a free game the record's stake is nominal: no player paid it.
      const isFree = placements.length > 0 && placements.every(({ betAmount }) => betAmount?.eq("0"));
      const counts = comparable.map((one) => (isFree ? { ...one, stake: Big("0") } : one));
      const unexplained = moved.minus(sum(counts.map(expectedOf))).abs();
      // Where the wallet moved the correct money, the difference of the amounts is at risk instead.
      if (!unexplained.eq("0")) expect(fault.amountAtRisk).toBe(unexplained.toFixed());
      return unexplained.eq("0") ? [] : [fault];
    });
    expect(checked.length).toBeGreaterThan(40);
  });

  it("do not exist if none are wanted", () => {
    expect(createOddWorld({ ...ODD, faultEveryMinutes: 0 }).plantedBy(ALL.to)).toEqual([]);
  });
});

/** A fault that names no bet is about the whole round. */
function isAbout({ betId, transactionId, roundId }: PlantedFault, id: string, round: string | null): boolean {
  if (betId === null && transactionId === null) return roundId !== null && round === roundId;
  return id === betId || id === transactionId;
}

function expectedOf({ betStatus, stake, payout }: BetRecord): Big {
  if (betStatus === "VOID") return Big("0");
  return betStatus === "SETTLED" ? payout.minus(stake) : Big("0").minus(stake);
}
