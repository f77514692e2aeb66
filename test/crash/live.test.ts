import { expect, test } from "vitest";
import { planShortRun } from "../simulation/live/live-plan.ts";
import { runLive } from "../simulation/live/live-run.ts";

const SEED = 1;

/** `npm run live` plays ten minutes of it, of every kind of product, with many more blows. */
test("in real time, with a worker that is killed, nothing ever opens but what was planted, and the statement leaves no rest", async () => {
  const run = await runLive(planShortRun(SEED), () => {});
  expect(run.problems).toEqual([]);
  expect(run.found).toBe(run.planted);
  expect(run.planted).toBeGreaterThan(15);
}, 1_200_000);
