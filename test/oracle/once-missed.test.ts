import { describe, expect, test } from "vitest";
import { factsOf } from "./examples.ts";
import { units } from "./facts.ts";
import { judge } from "./judge.ts";
import { MISSED_WORLDS } from "./missed-worlds.ts";

describe("the oracle finds what the program once missed", () => {
  test.each(MISSED_WORLDS)("%s", (_, rows, records, settings, expected) => {
    const { claims, undecided, outside } = judge(factsOf(rows, records, settings));
    const found = [
      ...claims.map(({ readings }) => readings[0]?.[0]?.kind),
      ...new Set(undecided.map(({ why }) => `not judged: ${why}`)),
      ...[...outside.values()].map((moved) => `outside ${moved / units("1")}`),
    ];
    expect(found.join()).toBe(expected);
  });
});
