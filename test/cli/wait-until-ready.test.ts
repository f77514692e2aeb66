import { expect, test } from "vitest";
import { waitUntilReady } from "../../src/cli/run/open.ts";
import { ReconError } from "../../src/errors.ts";
import { silentLog } from "../../src/log.ts";
import { createTestClock } from "../support/clock.ts";
import { NOON } from "../support/examples.ts";

const MINUTE_MS = 60_000;

/** A database that answers after that many failed attempts, and the lines of the log. */
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

test("the command does not wait for a server that is up, and logs nothing", async () => {
  const database = downFor(0);
  await database.wait(MINUTE_MS);
  expect({ lines: database.lines, waited: database.waitedMs() }).toEqual({ lines: [], waited: 0 });
});

test("the command waits for a server that comes up later, and logs the beginning and the end of the wait", async () => {
  const database = downFor(5);
  await database.wait(MINUTE_MS);
  expect(database.lines).toEqual([
    "nobody at db:5432. recon waits for 1 min more.",
    "the database answers now",
  ]);
});

test("the command repeats its line during a long wait, but not at every attempt", async () => {
  const database = downFor(50);
  await database.wait(MINUTE_MS);
  expect(database.waitedMs()).toBe(25_000);
  expect(database.lines.slice(1)).toEqual([
    "nobody at db:5432. recon waits for 50 s more.",
    "nobody at db:5432. recon waits for 40 s more.",
    "the database answers now",
  ]);
});

test("the command gives up in the end, with an exit code of its own and the length of the wait", async () => {
  const database = downFor(Number.POSITIVE_INFINITY);
  await expect(database.wait(MINUTE_MS)).rejects.toMatchObject({
    code: "database-unreachable",
    message: "nobody at db:5432. recon gave up after 1 min.",
  });
  expect(database.waitedMs()).toBe(MINUTE_MS);
});

test("a short command does not wait, and no command waits if waiting does not help", async () => {
  for (const [database, longestMs] of [
    [downFor(1), 0],
    [downFor(1, { retryable: false }), MINUTE_MS],
  ] as const) {
    await expect(database.wait(longestMs)).rejects.toThrow(/^nobody at db:5432\.$/);
    expect({ asked: database.asked(), waited: database.waitedMs() }).toEqual({ asked: 1, waited: 0 });
  }
});
