import { expect, test } from "vitest";
import { reportRepeatedErrors } from "../../src/calm-log.ts";
import { silentLog } from "../../src/log.ts";
import { createTestClock } from "../support/clock.ts";
import { NOON } from "../support/examples.ts";

test("an error that comes many times a second is logged at once, and then every minute with its count", () => {
  const clock = createTestClock(NOON);
  const logged: unknown[] = [];
  const log = Object.assign(Object.create(silentLog), { warn: (about: object) => logged.push(about) });
  const report = reportRepeatedErrors(log, "Redis reports an error", clock);
  for (let tries = 0; tries < 600; tries += 1) {
    report(new Error("refused"));
    clock.advance(200);
  }
  report(new Error("something else"));
  expect(logged).toEqual([
    { error: "refused" },
    { error: "refused", repeated: 299 },
    { error: "something else" },
  ]);
});

test("a server that is away is one error, in whatever words the clients say it", () => {
  const clock = createTestClock(NOON);
  const logged: unknown[] = [];
  const log = Object.assign(Object.create(silentLog), { warn: (about: object) => logged.push(about) });
  const report = reportRepeatedErrors(log, "Redis reports an error", clock);
  const words = [
    "connect ECONNREFUSED 127.0.0.1:1",
    "read ECONNRESET",
    "Connection is closed.",
    "Socket timeout. Expecting data",
  ];
  for (let second = 0; second <= 60; second += 1) {
    report(new Error(words[second % words.length]));
    clock.advance(1_000);
  }
  expect(logged).toHaveLength(2);
});
