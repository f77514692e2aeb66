import { expect, test } from "vitest";
import { type ErrorCode, ReconError } from "../../src/errors.ts";
import { afterFailure, type FailureSeen } from "../../src/sync/after-failure.ts";

const MINUTE_MS = 60_000;
const limits = { windowMinMs: MINUTE_MS, attempts: 3 };

function decide(code: ErrorCode, seen: Partial<FailureSeen> = {}, retryAfterMs: number | null = null) {
  const error = new ReconError(code, "no luck", { retryAfterMs });
  return afterFailure(
    {
      error,
      failures: 1,
      timeouts: seen.failures ?? 1,
      restarts: 0,
      gapsBefore: 0,
      windowMs: 60 * MINUTE_MS,
      withCursor: false,
      ...seen,
    },
    limits,
    1,
  );
}

test.each([
  "provider-timeout",
  "provider-drip",
  "provider-http-408",
  "provider-http-504",
  "provider-dropped",
  "provider-cut-short",
] as const)("%s: asked once more, then the window is halved", (code) => {
  expect(decide(code)).toEqual({ step: "retry", waitMs: 0 });
  expect(decide(code, { failures: 2 })).toEqual({ step: "split" });
});

test("a time-out after another failure is asked once more too", () => {
  expect(decide("provider-timeout", { failures: 4, timeouts: 1 })).toEqual({ step: "retry", waitMs: 0 });
});

test("the shortest window is not halved but asked for again, then a gap", () => {
  expect(decide("provider-timeout", { failures: 2, windowMs: MINUTE_MS })).toMatchObject({ step: "retry" });
  expect(decide("provider-timeout", { failures: 3, windowMs: MINUTE_MS })).toEqual({
    step: "gap",
    retryInMs: MINUTE_MS,
  });
});

test("a gap is retried with growing delays, at most hourly", () => {
  const retry = (gapsBefore: number) => decide("provider-server-error", { failures: 3, gapsBefore });
  expect([0, 1, 2, 6, 500].map(retry)).toEqual(
    [1, 2, 4, 60, 60].map((minutes) => ({ step: "gap", retryInMs: minutes * MINUTE_MS })),
  );
});

test.each([
  "provider-server-error",
  "provider-unreachable",
  "provider-bad-status",
  "provider-rejected",
] as const)("%s: asked again with growing waits, never split, then a gap", (code) => {
  expect(decide(code)).toEqual({ step: "retry", waitMs: 500 });
  expect(decide(code, { failures: 2 })).toEqual({ step: "retry", waitMs: 1000 });
  expect(decide(code, { failures: 3 })).toMatchObject({ step: "gap" });
});

test("too many requests: the wait is the provider's own", () => {
  expect(decide("provider-throttled", {}, 7_000)).toEqual({ step: "retry", waitMs: 7_000 });
});

test.each([
  "provider-not-json",
  "provider-bad-envelope",
  "provider-too-large",
  "cursor-loop",
  "cursor-expired",
  "page-limit",
] as const)("%s: the window begins again at its first page, then is a gap", (code) => {
  expect(decide(code)).toMatchObject({ step: "restart" });
  expect(decide(code, { restarts: 3 })).toMatchObject({ step: "gap" });
});

test("an hour is the longest wait, whatever the provider asks for", () => {
  expect(decide("provider-throttled", {}, 9e12)).toEqual({ step: "retry", waitMs: 60 * MINUTE_MS });
});

test("a refused cursor is not asked for again: the window begins again at its first page, then is a gap", () => {
  expect(decide("provider-rejected", { withCursor: true })).toMatchObject({ step: "restart" });
  expect(decide("provider-rejected", { withCursor: true, restarts: 3 })).toMatchObject({ step: "gap" });
  expect(decide("provider-timeout", { withCursor: true, failures: 2 })).toEqual({ step: "split" });
});

test("refused credentials stop the product: asking again cannot help", () => {
  expect(decide("provider-refused")).toEqual({ step: "stop" });
});

test("an error that is not the provider's is nobody's to swallow", () => {
  const bug = new TypeError("undefined is not a function");
  const seen = {
    error: bug,
    failures: 1,
    timeouts: 0,
    restarts: 0,
    gapsBefore: 0,
    windowMs: MINUTE_MS,
    withCursor: false,
  };
  expect(() => afterFailure(seen, limits, 1)).toThrow(bug);
});
