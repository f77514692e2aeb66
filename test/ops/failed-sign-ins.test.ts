import { describe, expect, test } from "vitest";
import { countFailedSignIns } from "../../src/ops/access/failed-sign-ins.ts";
import { createTestClock } from "../support/clock.ts";
import { MINUTE_MS, NOON } from "../support/examples.ts";

function fail(failures: ReturnType<typeof countFailedSignIns>, address: string, times: number): void {
  for (let i = 0; i < times; i += 1) failures.note(address);
}

describe("failed sign-ins", () => {
  test("from one address slow the wrong tokens of that address from the tenth failure on, and of no other", () => {
    const failures = countFailedSignIns(createTestClock(NOON));
    fail(failures, "203.0.113.7", 9);
    expect(failures.waitOf("203.0.113.7")).toBe(0);
    fail(failures, "203.0.113.7", 1);
    expect(failures.waitOf("203.0.113.7")).toBe(MINUTE_MS);
    expect(failures.waitOf("203.0.113.8")).toBe(0);
  });

  test("are forgotten a minute after the first one", () => {
    const clock = createTestClock(NOON);
    const failures = countFailedSignIns(clock);
    fail(failures, "203.0.113.7", 1);
    clock.advance(MINUTE_MS - 1);
    fail(failures, "203.0.113.7", 9);
    expect(failures.waitOf("203.0.113.7")).toBe(1);
    clock.advance(1);
    expect(failures.waitOf("203.0.113.7")).toBe(0);
    fail(failures, "203.0.113.7", 9);
    expect(failures.waitOf("203.0.113.7")).toBe(0);
  });

  test("from many addresses slow all wrong tokens from the hundredth failure on", () => {
    const failures = countFailedSignIns(createTestClock(NOON));
    for (let i = 0; i < 99; i += 1) failures.note(`203.0.113.${i}`);
    expect(failures.waitOf("198.51.100.1")).toBe(0);
    failures.note("203.0.113.99");
    expect(failures.waitOf("198.51.100.1")).toBe(MINUTE_MS);
  });

  test.each([
    ["2001:db8:1:2::1", "2001:db8:1:2:3:4:5:6", true],
    ["2001:db8:1:2::1", "2001:DB8:1:2:ffff::", true],
    ["2001:db8:1:2::1", "2001:db8:1:3::1", false],
    ["::1", "::2", true],
    ["2001:db8::1", "2001:db8:0:0:1::", true],
    ["::ffff:203.0.113.7", "::ffff:203.0.113.8", false],
  ])("of %s count for %s: %s", (one, other, together) => {
    const failures = countFailedSignIns(createTestClock(NOON));
    fail(failures, one, 10);
    expect(failures.waitOf(other) > 0).toBe(together);
  });
});
