import { describe, expect, it } from "vitest";
import { createWorld, type PlantedFault, type WorldPlan } from "../../../src/sandbox/world/world.ts";
import { HOUR, MINUTE, planOf, START } from "../plans.ts";
import { type AuditedDifference, audit, roundAgrees } from "./auditor.ts";

const ALL = { from: START, to: START + 4 * HOUR };
const KINDS = [
  "missing-at-provider",
  "missing-in-ledger",
  "missing-settlement",
  "payout-differs",
  "stake-differs",
  "status-differs",
];

/** What an independent auditor finds when both sides are complete. */
function findAll(plan: WorldPlan): AuditedDifference[] {
  const world = createWorld(plan);
  const entries = world.entriesReceived(ALL);
  return plan.products.flatMap(({ productId, style }) =>
    audit(
      style,
      productId,
      world.recordsIn(productId, ALL, world.quietAt()),
      entries.filter((entry) => entry.productId === productId),
    ),
  );
}

function inOrder<T extends { roundId: string | null }>(differences: readonly T[]): T[] {
  return [...differences].sort((a, b) => (String(a.roundId) < String(b.roundId) ? -1 : 1));
}

function plantedIn(plan: WorldPlan): PlantedFault[] {
  const world = createWorld(plan);
  return world.plantedBy(world.quietAt());
}

describe("planted faults", () => {
  it.each([1, 2, 3, 4, 5])("are exactly what the auditor finds (seed %i)", (seed) => {
    const plan = planOf({ seed, periods: [{ from: START, to: START + 2 * HOUR }] });
    const planted = plantedIn(plan).map(({ completeAt: _, ...fault }) => fault);
    expect(planted.length).toBeGreaterThan(100);
    expect(inOrder(findAll(plan))).toEqual(inOrder(planted));
  });

  it("do not exist if none are wanted", () => {
    const plan = planOf({ faultEveryMinutes: 0 });
    expect(plantedIn(plan)).toEqual([]);
    expect(findAll(plan)).toEqual([]);
  });

  it.each([1, 2, 3, 4, 5])("are of every kind in each product within eight turns (seed %i)", (seed) => {
    const plan = planOf({
      seed,
      periods: [{ from: START, to: START + 8 * 3 * MINUTE }],
      faultEveryMinutes: 3,
    });
    const kinds = Map.groupBy(plantedIn(plan), ({ productId }) => productId);
    for (const { productId } of plan.products) {
      expect([...new Set(kinds.get(productId)?.map(({ kind }) => kind))].sort()).toEqual(KINDS);
    }
  });

  it("come one in so many minutes of a product", () => {
    const planted = plantedIn(planOf({ faultEveryMinutes: 5 })).filter(
      ({ productId }) => productId === "SLOT",
    );
    expect(planted).toHaveLength(12);
  });

  it("are others with another seed", () => {
    const kindsOf = (seed: number) => plantedIn(planOf({ seed })).map(({ kind }) => kind);
    expect(kindsOf(1)).not.toEqual(kindsOf(2));
  });

  it("always put money at risk, and no sums of a round hide them", () => {
    const plan = planOf({ faultEveryMinutes: 1 });
    const world = createWorld(plan);
    const entries = world.entriesReceived(ALL);
    for (const fault of plantedIn(plan)) {
      expect(Number(fault.amountAtRisk)).toBeGreaterThan(0);
      const isOfRound = (side: { roundId: string | null; username: string }) =>
        side.roundId === fault.roundId && side.username === fault.username;
      const records = world.recordsIn(fault.productId, ALL, world.quietAt()).filter(isOfRound);
      expect(roundAgrees(records, entries.filter(isOfRound))).toBe(false);
    }
  });

  it("strike one bet of a player's round, and leave the rest of the table alone", () => {
    const planted = plantedIn(planOf({ faultEveryMinutes: 1 }));
    expect(new Set(planted.map(({ roundId }) => roundId)).size).toBe(planted.length);
  });

  it("are announced when both sides are complete, not before", () => {
    const world = createWorld(planOf());
    const faults = world.plantedBy(world.quietAt());
    for (const fault of faults) {
      expect(world.plantedBy(fault.completeAt)).toContainEqual(fault);
      expect(world.plantedBy(fault.completeAt - 1)).not.toContainEqual(fault);
      const isOfRound = (side: { roundId: string | null; username: string }) =>
        side.roundId === fault.roundId && side.username === fault.username;
      const later = world.entriesReceived({ from: fault.completeAt + 1, to: ALL.to });
      expect(later.filter(isOfRound)).toEqual([]);
      const at = (now: number) => world.recordsIn(fault.productId, ALL, now).filter(isOfRound);
      expect(at(fault.completeAt)).toEqual(at(ALL.to));
    }
  });

  it("do not happen if their round does not", () => {
    const whole = plantedIn(planOf());
    const half = plantedIn(planOf({ periods: [{ from: START, to: START + 30 * MINUTE + 30_000 }] }));
    expect(half.length).toBeLessThan(whole.length);
    expect(whole).toEqual(expect.arrayContaining(half));
  });

  describe("in the demo's world", () => {
    const every = 20;
    const period = { from: START + 7 * MINUTE, to: START + 9 * 20 * MINUTE };
    const quiet = (changes: Partial<WorldPlan> = {}) =>
      planOf({
        products: [
          { productId: "LIVE", style: "table", roundsPerMinute: 0.1 },
          { productId: "WALLET", style: "slot", roundsPerMinute: 0 },
          { productId: "SPORT", style: "sport", roundsPerMinute: 0.1 },
        ],
        periods: [period],
        faultEveryMinutes: every,
        forDemo: true,
        ...changes,
      });

    it.each([1, 2, 3])("come at equal times, of one product after the other (seed %i)", (seed) => {
      const planted = plantedIn(quiet({ seed }));
      expect(planted.map(({ productId }) => productId)).toEqual(
        Array.from({ length: 8 }, (_, turn) => (turn % 2 === 0 ? "SPORT" : "LIVE")),
      );
      expect([...new Set(planted.map(({ kind }) => kind))].sort()).toEqual(KINDS);
    });

    it.each([1, 2, 3])("are exactly what the auditor finds (seed %i)", (seed) => {
      const planted = plantedIn(quiet({ seed })).map(({ completeAt: _, ...fault }) => fault);
      expect(inOrder(findAll(quiet({ seed })))).toEqual(inOrder(planted));
    });

    it("put usual amounts of money at risk", () => {
      const plan = quiet({ faultEveryMinutes: 1 });
      const currencyOf = new Map(
        createWorld(plan)
          .entriesReceived(ALL)
          .map(({ username, currency }) => [username, currency]),
      );
      for (const { username, amountAtRisk } of plantedIn(plan)) {
        expect(Number(amountAtRisk)).toBeLessThanOrEqual(currencyOf.get(username) === "VND" ? 5e6 : 5_000);
      }
    });
  });
});
