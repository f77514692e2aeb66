import { describe, expect, test } from "vitest";
import { useDatabase } from "../support/database.ts";
import { runTransfers } from "./transfer-run.ts";

/** `npm run simulate -- --transfers --seeds A..B` plays more seeds; every fourth has the default settings, and takes longer. */
describe.each([1, 2])("with the transfers of seed %i", (seed) => {
  const { url } = useDatabase();

  test("each ends as the provider's books say, and is sent only once, while workers are killed and suspended", async () => {
    const run = await runTransfers(seed, url);
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
});
