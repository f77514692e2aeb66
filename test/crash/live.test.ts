import { expect, test } from "vitest";
import { planShortRun } from "../simulation/live/live-plan.ts";
import { runLive } from "../simulation/live/live-run.ts";

const SEED = 1;

/** `npm run live` plays ten minutes, with every kind of product and many more blows. */
test("in real time, with a worker that is killed, only the planted faults open, and the statement explains all money", async () => {
  const run = await runLive(planShortRun(SEED), () => {});
  // As text, because a list of long texts is printed shortened.
  expect(run.problems.join("\n\n")).toBe("");
  expect(run.found).toBe(run.planted);
  expect(run.planted).toBeGreaterThan(15);
}, 1_200_000);
