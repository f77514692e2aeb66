import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { BetRecord } from "../../../src/bet.ts";
import { type CallbackEntry, inLedgerOrder } from "../../../src/callback.ts";
import { parseInstant } from "../../../src/clock.ts";
import { createWorld, type World } from "../../../src/sandbox/world/world.ts";
import { cutIntoPieces, type TimeRange } from "../../../src/window.ts";
import { HOUR, MINUTE, planOf, SECOND, START } from "../plans.ts";

const ALL: TimeRange = { from: START - HOUR, to: START + 3 * HOUR };
const PRODUCTS = ["LIVE", "SLOT", "SPORT"] as const;

const seeds = fc.nat({ max: 2 ** 31 });
const ranges = fc
  .tuple(fc.integer({ min: START, max: START + HOUR }), fc.integer({ min: 1, max: 20 * MINUTE }))
  .map(([from, lengthMs]) => ({ from, to: from + lengthMs }));

function showAll(world: World): unknown {
  return JSON.stringify([
    PRODUCTS.map((productId) => world.recordsIn(productId, ALL, world.quietAt())),
    world.entriesReceived(ALL),
    world.plantedBy(world.quietAt()),
  ]);
}

function keysOf(records: readonly BetRecord[]): string[] {
  return records.map(({ id, betStatus, accountingDate }) => `${id} ${betStatus} ${accountingDate}`);
}

function idsOf(entries: readonly CallbackEntry[]): string[] {
  return entries.map(({ entryId }) => entryId);
}

describe("the seeded world", () => {
  it("is the same in two processes with the same plan, whatever was requested before", () => {
    fc.assert(
      fc.property(seeds, ranges, (seed, range) => {
        const plan = planOf({ seed, periods: [{ from: START, to: START + 10 * MINUTE }] });
        const asked = createWorld(plan);
        asked.entriesReceived(range);
        asked.recordsIn("SPORT", range, range.to);
        expect(showAll(asked)).toBe(showAll(createWorld(plan)));
      }),
      { numRuns: 10 },
    );
  });

  it("is another one with another seed", () => {
    expect(showAll(createWorld(planOf({ seed: 1 })))).not.toBe(showAll(createWorld(planOf({ seed: 2 }))));
  });

  it("plays a product in the same way beside any other products", () => {
    const plan = planOf();
    const alone = createWorld({ ...plan, products: plan.products.slice(1, 2) });
    const now = alone.quietAt() + HOUR;
    expect(alone.recordsIn("SLOT", ALL, now)).toEqual(createWorld(plan).recordsIn("SLOT", ALL, now));
  });

  it("stays the same when its last period grows during use", () => {
    const periods: TimeRange[] = [{ from: START, to: START + 90_500 }];
    const world = createWorld(planOf({ periods }));
    const before = showAll(world);
    periods[0] = { from: START, to: START + HOUR };
    expect(showAll(world)).toBe(showAll(createWorld(planOf())));
    expect(showAll(world)).not.toBe(before);
  });

  it("begins no round outside its periods, and has every round that begins inside", () => {
    const periods = [
      { from: START, to: START + 20 * MINUTE + 10 * SECOND },
      { from: START + 20 * MINUTE + 40 * SECOND, to: START + 40 * MINUTE },
    ];
    const whole = createWorld(planOf({ products: planOf().products.slice(1, 2), faultEveryMinutes: 0 }));
    const parted = createWorld({ ...planOf({ faultEveryMinutes: 0 }), periods });
    const startsOf = (world: World) =>
      world
        .entriesReceived(ALL)
        .filter(({ callback, productId }) => callback === "placeBets" && productId === "SLOT")
        .map(({ txnId, occurredAt }) => ({ txnId, occurredAt }));
    const played = startsOf(whole).filter(({ occurredAt }) =>
      periods.some(({ from, to }) => from <= occurredAt && occurredAt < to),
    );
    expect(startsOf(parted)).toEqual(played);
    expect(played.length).toBeLessThan(startsOf(whole).length);
  });

  it("gives every record and every entry once, in any division of time into ranges", () => {
    fc.assert(
      fc.property(seeds, ranges, fc.integer({ min: 7_001, max: 5 * MINUTE }), (seed, range, pieceMs) => {
        const world = createWorld(planOf({ seed }));
        const now = range.to + 2 * MINUTE;
        const pieces = cutIntoPieces(range, pieceMs);
        for (const productId of PRODUCTS) {
          const cut = pieces.flatMap((piece) => world.recordsIn(productId, piece, now));
          expect(keysOf(cut)).toEqual(keysOf(world.recordsIn(productId, range, now)));
        }
        const cut = pieces.flatMap((piece) => world.entriesReceived(piece));
        expect(idsOf(cut.sort(inLedgerOrder))).toEqual(idsOf(world.entriesReceived(range)));
      }),
      { numRuns: 20 },
    );
  });

  it("orders records by accountingDate and id, and entries as the ledger does, and repeats no id", () => {
    const world = createWorld(planOf());
    const entries = world.entriesReceived(ALL);
    expect(idsOf([...entries].sort(inLedgerOrder))).toEqual(idsOf(entries));
    expect(new Set(idsOf(entries)).size).toBe(entries.length);
    expect(new Set(entries.map(({ requestId }) => requestId)).size).toBe(entries.length);
    for (const productId of PRODUCTS) {
      const keys = world
        .recordsIn(productId, ALL, world.quietAt())
        .map(({ accountingDate, id }) => `${accountingDate} ${id}`);
      expect([...keys].sort()).toEqual(keys);
      expect(new Set(keys.map((key) => key.split(" ")[1])).size).toBe(keys.length);
    }
  });

  it("shows a bet first as open at its placement, later at its end", () => {
    const world = createWorld(planOf({ faultEveryMinutes: 0, reportLagMs: 0 }));
    const [settle] = world
      .entriesReceived(ALL)
      .filter(({ callback, productId }) => callback === "settleBets" && productId === "SPORT");
    if (settle === undefined) throw new Error("somebody wins");
    const find = (now: number) => world.recordsIn("SPORT", ALL, now).find(({ id }) => id === settle.txnId);
    const open = find(settle.occurredAt - 1);
    const ended = find(settle.occurredAt);
    expect(open).toMatchObject({ betStatus: "OPEN", payoutStatus: "UNKNOWN" });
    expect(parseInstant(open?.accountingDate ?? "", "it")).toBeLessThan(settle.occurredAt);
    expect(ended).toMatchObject({ betStatus: "SETTLED" });
    expect(parseInstant(ended?.accountingDate ?? "", "it")).toBe(settle.occurredAt);
  });

  it("shows nothing that has not happened yet, and everything after the lag", () => {
    fc.assert(
      fc.property(seeds, fc.integer({ min: START, max: START + HOUR }), (seed, now) => {
        const plan = planOf({ seed });
        const records = (reportLagMs: number, at: number) =>
          PRODUCTS.flatMap((productId) =>
            createWorld({ ...plan, reportLagMs }).recordsIn(productId, ALL, at),
          );
        const shown = records(plan.reportLagMs, now);
        for (const { updatedDate } of shown) expect(parseInstant(updatedDate, "it")).toBeLessThanOrEqual(now);
        const happened = new Set(records(0, now).map(({ id }) => id));
        expect(shown.every(({ id }) => happened.has(id))).toBe(true);
        const shownLater = new Set(records(plan.reportLagMs, now + plan.reportLagMs).map(({ id }) => id));
        expect([...happened].every((id) => shownLater.has(id))).toBe(true);
      }),
      { numRuns: 10 },
    );
  });

  it("delivers callbacks within their lag, each bet's in order, and settles within the agreed time", () => {
    const plan = planOf();
    const entries = createWorld(plan).entriesReceived(ALL);
    for (const { occurredAt, receivedAt } of entries) {
      expect(receivedAt).toBeGreaterThanOrEqual(occurredAt);
      expect(receivedAt - occurredAt).toBeLessThanOrEqual(plan.callbackLagMs);
    }
    for (const bet of Map.groupBy(entries, ({ txnId }) => txnId).values()) {
      const received = bet.map(({ receivedAt }) => receivedAt);
      expect(received).toEqual([...received].sort((a, b) => a - b));
      const placedAt = bet[0]?.occurredAt ?? 0;
      const settledAt = bet.find(({ callback }) => callback === "settleBets")?.occurredAt ?? placedAt;
      expect(settledAt - placedAt).toBeLessThanOrEqual(plan.lateSettlementMs);
    }
  });

  it("delivers no callback after its end", () => {
    const world = createWorld(planOf());
    const quietAt = world.quietAt();
    expect(world.entriesReceived({ from: quietAt, to: quietAt + HOUR })).toEqual([]);
    for (const productId of PRODUCTS) {
      const records = world.recordsIn(productId, ALL, quietAt);
      expect(records).toEqual(world.recordsIn(productId, ALL, quietAt + HOUR));
      expect(records.filter(({ betStatus }) => betStatus === "OPEN")).toEqual([]);
    }
  });

  it("has the values that break careless programs: cents, millions, four decimals, several currencies, free spins, jackpots", () => {
    const world = createWorld(planOf({ periods: [{ from: START, to: START + 2 * HOUR }] }));
    const records = PRODUCTS.flatMap((productId) => world.recordsIn(productId, ALL, world.quietAt()));
    const entries = world.entriesReceived(ALL);
    const stakes = records.map(({ stake }) => stake.toFixed());
    expect(stakes).toContain("0.01");
    expect(stakes.some((stake) => /^\d{7}/.test(stake))).toBe(true);
    expect(stakes.some((stake) => /\.\d{4}$/.test(stake))).toBe(true);
    expect(new Set(records.map(({ currency }) => currency))).toEqual(new Set(["THB", "USD", "VND"]));
    expect(new Set(records.map(({ payoutStatus }) => payoutStatus))).toEqual(
      new Set(["WIN", "LOSE", "DRAW", "UNKNOWN"]),
    );
    expect(records.some(({ stake, payout }) => stake.eq("0") && payout.gt("0"))).toBe(true);
    expect(new Set(entries.map(({ callback, status }) => `${callback} ${status}`))).toEqual(
      new Set([
        "placeBets OPEN",
        "placeBets WAITING",
        "adjustBets OPEN",
        "settleBets SETTLED",
        "winRewards SETTLED",
        "cancelBets REFUND",
      ]),
    );
  });
});
