import { expect, test } from "vitest";
import { reportRepeatedErrors } from "../../jobs/report-repeated-errors.ts";
import { silentLog } from "../../src/log.ts";
import { createTestClock } from "../support/clock.ts";
import { NOON } from "../support/examples.ts";

test("an error that comes many times a second is logged at once, and then every ten seconds with its count", () => {
  const clock = createTestClock(NOON);
  const logged: unknown[] = [];
  const log = Object.assign(Object.create(silentLog), { warn: (about: object) => logged.push(about) });
  const report = reportRepeatedErrors(log, "Redis reports an error", clock);
  for (let tries = 0; tries < 100; tries += 1) {
    report(new Error("refused"));
    clock.advance(200);
  }
  report(new Error("something else"));
  expect(logged).toEqual([
    { error: "refused" },
    { error: "refused", repeated: 49 },
    { error: "something else" },
  ]);
});
