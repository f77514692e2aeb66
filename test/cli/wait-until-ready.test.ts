import { expect, test } from "vitest";
import { waitUntilReady } from "../../src/cli/run/wait-until-ready.ts";
import { ReconError } from "../../src/errors.ts";
import { silentLog } from "../../src/log.ts";
import { createTestClock } from "../support/clock.ts";
import { NOON } from "../support/examples.ts";

const MINUTE_MS = 60_000;

/** A database that answers after so many vain tries, and the lines of the log. */
function downFor(tries: number, { retryable = true } = {}) {
  const clock = createTestClock(NOON);
  const lines: string[] = [];
  const log = Object.assign(Object.create(silentLog), {
    warn: (_: object, line: string) => lines.push(line),
    info: (line: string) => lines.push(line),
  });
  let asked = 0;
  const check = async () => {
    asked += 1;
    if (asked > tries) return;
    throw new ReconError("database-unreachable", `nobody at db:5432.`, { retryable });
  };
  const wait = (longestMs: number) => waitUntilReady("the database", check, { clock, log }, longestMs);
  return { wait, lines, waitedMs: () => clock.now() - NOON, asked: () => asked };
}

test("what is up is not waited for, and nothing is said", async () => {
  const database = downFor(0);
  await database.wait(MINUTE_MS);
  expect({ lines: database.lines, waited: database.waitedMs() }).toEqual({ lines: [], waited: 0 });
});

test("what comes up meanwhile is waited for, and both are said", async () => {
  const database = downFor(5);
  await database.wait(MINUTE_MS);
  expect(database.lines).toEqual([
    "nobody at db:5432. It is waited for, 1 min more.",
    "the database answers now",
  ]);
});

test("while it waits it says so again, but not at every try", async () => {
  const database = downFor(50);
  await database.wait(MINUTE_MS);
  expect(database.waitedMs()).toBe(25_000);
  expect(database.lines.slice(1)).toEqual([
    "nobody at db:5432. It is waited for, 50 s more.",
    "nobody at db:5432. It is waited for, 40 s more.",
    "the database answers now",
  ]);
});

test("what does not come up is given up in the end, with its own code and how long it was waited for", async () => {
  const database = downFor(Number.POSITIVE_INFINITY);
  await expect(database.wait(MINUTE_MS)).rejects.toMatchObject({
    code: "database-unreachable",
    message: "nobody at db:5432. It was waited for, for 1 min.",
  });
  expect(database.waitedMs()).toBe(MINUTE_MS);
});

test("a short command does not wait, and nobody waits for what waiting does not mend", async () => {
  for (const [database, longestMs] of [
    [downFor(1), 0],
    [downFor(1, { retryable: false }), MINUTE_MS],
  ] as const) {
    await expect(database.wait(longestMs)).rejects.toThrow(/^nobody at db:5432\.$/);
    expect({ asked: database.asked(), waited: database.waitedMs() }).toEqual({ asked: 1, waited: 0 });
  }
});
