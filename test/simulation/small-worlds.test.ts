import { expect, test } from "vitest";
import { playSmallWorld, smallWorlds } from "./small-worlds.ts";

/** One of so many worlds: a few seconds. `node test/simulation/small-worlds.ts` plays all. */
const SHARE = 991;

test("the program and the oracle agree on small worlds in every order", () => {
  let judged = 0;
  for (const world of smallWorlds(SHARE)) {
    const { problems, notJudged } = playSmallWorld(world);
    expect(problems, JSON.stringify(world)).toEqual([]);
    if (notJudged === null) judged += 1;
  }
  expect(judged).toBeGreaterThan(40);
});

test("a world that only one of them misreads is a disagreement", () => {
  const world = { said: ["place", "settle"], listed: ["settled"], atOnce: true };
  expect(playSmallWorld(world)).toEqual({ problems: [], notJudged: null });
  const unlike = { ...world, listed: ["settled with reward"] };
  expect(playSmallWorld(unlike, (held) => held.slice(1)).problems).toHaveLength(1);
});
