import { expect, test } from "vitest";
import { useDatabase } from "../support/database.ts";
import { runTransfers } from "./transfer-run.ts";

/** Two workers work at a time. */
const SEED = 1;
const { url } = useDatabase();

/** `npm run simulate -- --transfers --seeds A..B` plays more seeds; every fourth has the default settings, and takes longer. */
test("each transfer ends as the provider's books say, and is sent only once, while workers are killed and suspended", async () => {
  const run = await runTransfers(SEED, url);
  expect(run.problems).toEqual([]);
  expect(run.found).toBe(run.planted);
  expect(Object.keys(run.kinds).sort()).toEqual([
    "top-up-differs",
    "top-up-inconclusive",
    "top-up-late-success",
    "top-up-rejected",
    "transfer-differs",
    "transfer-inconclusive",
    "transfer-late-success",
  ]);
});
