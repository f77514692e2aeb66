import { EventEmitter } from "node:events";
import type { ServerResponse } from "node:http";
import { describe, expect, test } from "vitest";
import { countFailedSignIns } from "../../src/ops/access/failed-sign-ins.ts";
import { createTestClock } from "../support/clock.ts";
import { HOUR_MS, MINUTE_MS, NOON } from "../support/examples.ts";

const open = (clock = createTestClock(NOON), limits = {}) => countFailedSignIns(clock, () => {}, limits);

function fail(failures: ReturnType<typeof countFailedSignIns>, address: string, times: number): void {
  for (let i = 0; i < times; i += 1) failures.note(address);
}

describe("failed sign-ins", () => {
  test("from one address slow the wrong tokens of that address from the tenth failure on, and of no other", () => {
    const failures = open();
    fail(failures, "203.0.113.7", 9);
    expect(failures.waitOf("203.0.113.7")).toBe(0);
    fail(failures, "203.0.113.7", 1);
    expect(failures.waitOf("203.0.113.7")).toBe(MINUTE_MS);
    expect(failures.waitOf("203.0.113.8")).toBe(0);
  });

  test("are forgotten a minute after the first one", () => {
    const clock = createTestClock(NOON);
    const failures = open(clock);
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
    const failures = open();
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
    const failures = open();
    fail(failures, one, 10);
    expect(failures.waitOf(other) > 0).toBe(together);
  });

  test("hold at most 5,000 answers, and free the place of one whose caller hangs up", async () => {
    const failures = open(createTestClock(NOON), { answerEveryMs: HOUR_MS });
    const answers = Array.from({ length: 5_000 }, () => new EventEmitter() as unknown as ServerResponse);
    const held = answers.map((answer) => failures.hold(answer));
    const further = () => failures.hold(new EventEmitter() as unknown as ServerResponse);
    expect(await further()).toBe(false);
    answers[0]?.emit("close");
    expect(await held[0]).toBe(false);
    expect(await Promise.race([further(), Promise.resolve("held")])).toBe("held");
    failures.close();
  });

  test("are answered in the order in which they came", async () => {
    const failures = open(createTestClock(NOON), { answerEveryMs: 1 });
    const turns: number[] = [];
    const held = [1, 2, 3].map(async (which) => {
      await failures.hold(new EventEmitter() as unknown as ServerResponse);
      turns.push(which);
    });
    await Promise.all(held);
    expect(turns).toEqual([1, 2, 3]);
  });
});
