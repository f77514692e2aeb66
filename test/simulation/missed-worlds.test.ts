import { join } from "node:path";
import { expect, test } from "vitest";
import { MISSED_WORLDS } from "../oracle/missed-worlds.ts";
import { playMissedWorlds } from "./missed-worlds.ts";

test("the program and the oracle agree on every world that was once missed", async () => {
  const played = await playMissedWorlds(join(import.meta.dirname, "../.."));
  expect(played).toHaveLength(MISSED_WORLDS.length);
  expect(played.filter(({ problems }) => problems.length > 0)).toEqual([]);
});
