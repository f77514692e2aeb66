import { describe, expect, test } from "vitest";
import { type ErrorCode, ReconError } from "../../src/errors.ts";
import { afterFailure, type FailureLimits, type FailureSeen } from "../../src/sync/after-failure.ts";
import { BEYOND_ENDS_MS } from "../../src/window.ts";

const MINUTE_MS = 60_000;
const limits = { windowMinMs: MINUTE_MS, attempts: 3 };

function decide(
  code: ErrorCode,
  seen: Partial<FailureSeen> = {},
  known: Partial<FailureLimits> & { readonly retryAfterMs?: number } = {},
  jitter = 1,
) {
  const error = new ReconError(code, "no luck", { retryAfterMs: known.retryAfterMs ?? null });
  return afterFailure(
    {
      error,
      failures: 1,
      timeouts: seen.failures ?? 1,
      restarts: 0,
      gapsBefore: 0,
      windowMs: 60 * MINUTE_MS,
      withCursor: false,
      isGapRetry: false,
      ...seen,
    },
    { ...limits, ...known },
    jitter,
  );
}

test.each([
  "provider-timeout",
  "provider-drip",
  "provider-http-408",
  "provider-http-504",
  "provider-http-524",
  "provider-dropped",
  "provider-cut-short",
] as const)("%s: the request is repeated once, then the window is halved", (code) => {
  expect(decide(code)).toEqual({ step: "retry", waitMs: 0 });
  expect(decide(code, { failures: 2 })).toEqual({ step: "split" });
});

test("a wait is between a half and the whole of its length, so retries of many workers spread", () => {
  const waits = [0, 0.5, 1].map((jitter) => decide("provider-server-error", {}, {}, jitter));
  expect(waits).toEqual([250, 375, 500].map((waitMs) => ({ step: "retry", waitMs })));
});

test("a window of twice the shortest length is halved, a shorter one is not", () => {
  const failed = (windowMs: number) => decide("provider-server-error", { failures: 3, windowMs });
  expect(failed(2 * MINUTE_MS)).toEqual({ step: "split" });
  expect(failed(2 * MINUTE_MS - 1)).toMatchObject({ step: "gap" });
});

test.each(["provider-timeout", "provider-rejected", "cursor-expired"] as const)(
  "%s: a probe of the newest time is a gap at once, because the provider may answer nothing at all",
  (code) => {
    expect(decide(code, {}, { isProbe: true })).toEqual({ step: "gap", retryInMs: MINUTE_MS });
  },
);

test("a time-out after another failure is repeated once too", () => {
  expect(decide("provider-timeout", { failures: 4, timeouts: 1 })).toEqual({ step: "retry", waitMs: 0 });
});

test("the shortest window is not halved but retried, then it is a gap", () => {
  expect(decide("provider-timeout", { failures: 2, windowMs: MINUTE_MS })).toMatchObject({ step: "retry" });
  expect(decide("provider-timeout", { failures: 3, windowMs: MINUTE_MS })).toEqual({
    step: "gap",
    retryInMs: MINUTE_MS,
  });
});

test("a gap is retried with growing delays, at most an hour", () => {
  const retry = (gapsBefore: number) =>
    decide("provider-server-error", { failures: 3, gapsBefore, windowMs: MINUTE_MS });
  expect([0, 1, 2, 6, 500].map(retry)).toEqual(
    [1, 2, 4, 60, 60].map((minutes) => ({ step: "gap", retryInMs: minutes * MINUTE_MS })),
  );
});

test.each([
  "provider-server-error",
  "provider-unreachable",
  "provider-bad-status",
  "provider-rejected",
  "provider-too-large",
] as const)("%s: the request is repeated with growing waits, then the window is halved", (code) => {
  expect(decide(code)).toEqual({ step: "retry", waitMs: 500 });
  expect(decide(code, { failures: 2 })).toEqual({ step: "retry", waitMs: 1000 });
  expect(decide(code, { failures: 3 })).toEqual({ step: "split" });
  expect(decide(code, { failures: 3, windowMs: MINUTE_MS })).toMatchObject({ step: "gap" });
});

test.each(["provider-not-json", "provider-bad-envelope", "cursor-expired", "page-limit"] as const)(
  "%s: the window begins again at its first page, then it is halved",
  (code) => {
    expect(decide(code)).toMatchObject({ step: "restart" });
    expect(decide(code, { restarts: 3 })).toEqual({ step: "split" });
    expect(decide(code, { restarts: 3, windowMs: MINUTE_MS })).toMatchObject({ step: "gap" });
  },
);

test("a cursor loop is a gap at once, and its window is halved when the gap is retried", () => {
  expect(decide("cursor-loop")).toMatchObject({ step: "gap" });
  expect(decide("cursor-loop", { isGapRetry: true, gapsBefore: 1 })).toEqual({ step: "split" });
  expect(decide("cursor-loop", { isGapRetry: true, windowMs: MINUTE_MS })).toMatchObject({ step: "gap" });
});

test("too many requests: the provider sets the wait, and the window is never halved", () => {
  expect(decide("provider-throttled", {}, { retryAfterMs: 7_000 })).toEqual({ step: "retry", waitMs: 7_000 });
  expect(decide("provider-throttled", { failures: 3 })).toMatchObject({ step: "gap" });
});

test("the longest wait is an hour, even if the provider asks for a longer one", () => {
  const asked = decide("provider-throttled", {}, { retryAfterMs: 9e12 });
  expect(asked).toEqual({ step: "retry", waitMs: 60 * MINUTE_MS });
});

test("a refused cursor is not sent again: the window begins again at its first page, then it is halved", () => {
  expect(decide("provider-rejected", { withCursor: true })).toMatchObject({ step: "restart" });
  expect(decide("provider-rejected", { withCursor: true, restarts: 3 })).toEqual({ step: "split" });
  expect(decide("provider-timeout", { withCursor: true, failures: 2 })).toEqual({ step: "split" });
});

describe("a length that failed before, while a shorter one was answered,", () => {
  const ceilingMs = 30 * MINUTE_MS;
  test.each(["provider-server-error", "provider-rejected", "provider-not-json"] as const)(
    "%s: is halved after the first failure",
    (code) => {
      for (const shorterMs of [0, 2 * BEYOND_ENDS_MS])
        expect(decide(code, { windowMs: ceilingMs - shorterMs }, { ceilingMs })).toEqual({ step: "split" });
      expect(decide(code, { windowMs: ceilingMs - 2 * BEYOND_ENDS_MS - 1 }, { ceilingMs })).not.toEqual({
        step: "split",
      });
      expect(decide(code, { windowMs: ceilingMs }, { ceilingMs: null })).not.toEqual({ step: "split" });
    },
  );
});

test.each(["provider-timeout", "provider-server-error", "provider-not-json", "cursor-loop"] as const)(
  "%s: no window is halved while the provider answers nothing",
  (code) => {
    const seen = { failures: 3, restarts: 3, isGapRetry: true };
    expect(decide(code, seen, { isOutage: true, ceilingMs: MINUTE_MS })).toMatchObject({ step: "gap" });
  },
);

test("refused credentials stop the product, because a repetition cannot help", () => {
  expect(decide("provider-refused")).toEqual({ step: "stop" });
});

test("an error that is not the provider's is thrown on", () => {
  const bug = new TypeError("undefined is not a function");
  const seen = {
    error: bug,
    failures: 1,
    timeouts: 0,
    restarts: 0,
    gapsBefore: 0,
    windowMs: MINUTE_MS,
    withCursor: false,
    isGapRetry: false,
  };
  expect(() => afterFailure(seen, limits, 1)).toThrow(bug);
});

test.each([false, true])("an error that is not about an answer is thrown on (of a probe: %s)", (isProbe) => {
  expect(() => decide("lease-lost", {}, { isProbe })).toThrow("no luck");
});
