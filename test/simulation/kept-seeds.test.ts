import { describe, expect, test } from "vitest";
import { chooseSimulation, readChoices } from "./choose-simulation.ts";
import { OTHER_KEPT_SEEDS, readKeptSeeds } from "./seeds.ts";

test("each kept seed names a simulation", () => {
  for (const { options } of readKeptSeeds())
    expect(chooseSimulation(readChoices(options), () => {})).toBeTypeOf("function");
});

describe.each([...OTHER_KEPT_SEEDS])("seed $seed of npm run simulate -- $options", ({ seed, options }) => {
  test("holds", async () => {
    const simulation = await chooseSimulation(readChoices(options), () => {})();
    const run = await simulation.run(seed).finally(() => simulation.close());
    expect(run.problems).toEqual([]);
    expect(run).toMatchObject({ precision: 1, recall: 1 });
  });
});
