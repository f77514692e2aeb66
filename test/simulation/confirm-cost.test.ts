import { expect, test } from "vitest";
import { useDatabase } from "../support/database.ts";
import { HURRIED, playAt } from "./confirm-cost.ts";

const { url } = useDatabase();

test("if pulling is far behind, comparisons collect no confirm fetches, and open no false alarm", async () => {
  const pace = { ...HURRIED, lengthMs: 6 * 60_000, stepMs: 4_000, pullEvery: 5 };
  const played = await playAt(url, 1, pace);
  expect(played.opened).toBeGreaterThan(5);
  expect(played.wrong).toEqual([]);
  const runs = pace.lengthMs / pace.stepMs / pace.pullEvery;
  const confirms = played.costs.find(({ kind }) => kind === "confirm");
  expect(confirms?.windows).toBeGreaterThan(0);
  // Once for each of two products in each fetch, and two hours where an hour has just begun.
  expect(confirms?.windows).toBeLessThan(runs * 2);
  expect(played.mostPlanned).toBeLessThanOrEqual(4);
});
