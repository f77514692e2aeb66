import { expect, test } from "vitest";
import { choosePlay, type Played } from "./choose-play.ts";
import { nameOf, PLAYS } from "./plays.ts";
import { readFailures } from "./run-play.ts";

const [first, second] = PLAYS.slice(0, 2) as [(typeof PLAYS)[number], (typeof PLAYS)[number]];
const played = (recentSeconds: number): Played => ({
  lastAt: "2026-11-26T00:00:00.000Z",
  lastCommit: "abc",
  rounds: 1,
  seeds: 1,
  seconds: recentSeconds,
  failures: 0,
  recentSeconds,
});

test("what had the least time comes first", () => {
  const history = { [nameOf(first)]: played(300), [nameOf(second)]: played(200) };
  expect(choosePlay([first, second], history, () => false, 600)).toBe(second);
});

test("what changed gets three times the time of what did not", () => {
  const history = { [nameOf(first)]: played(300), [nameOf(second)]: played(200) };
  expect(choosePlay([first, second], history, (play) => play === first, 600)).toBe(first);
});

test("what takes longer than the remaining time is not begun", () => {
  expect(choosePlay([first], {}, () => true, first.seconds - 1)).toBeUndefined();
});

test("each play has a name of its own", () => {
  expect(new Set(PLAYS.map(nameOf)).size).toBe(PLAYS.length);
});

test("a seed with a problem failed although everything planted was found", () => {
  const runs = [
    { seed: 1, precision: 1, recall: 1 },
    { seed: 11, precision: 1, recall: 1 },
    { seed: 12, precision: 0.5, recall: 1 },
  ];
  expect(readFailures(JSON.stringify({ runs, problems: ["seed 11: a rest of -3"] }))).toEqual([
    { seed: 11, problems: ["precision 1, recall 1", "seed 11: a rest of -3"] },
    { seed: 12, problems: ["precision 0.5, recall 1"] },
  ]);
});

test("a check of saturation that does not hold is a failure", () => {
  const checks = [
    { what: "lost", value: 2, bar: "0", holds: false },
    { what: "doubled", value: 0, bar: "0", holds: true },
  ];
  expect(readFailures(JSON.stringify({ cases: [{ checks }] }))).toEqual([
    { seed: null, problems: ["lost: 2 (0)"] },
  ]);
});
