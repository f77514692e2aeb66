import { describe, expect, test } from "vitest";
import { isReported } from "../../src/health/finding.ts";
import {
  failingChannel,
  judgeBackfill,
  judgeDisk,
  judgeEmptyLedger,
  ofConditions,
} from "../../src/health/installation.ts";
import { judgePulling, type PulledProduct } from "../../src/health/products.ts";
import { judgeStorage } from "../../src/storage.ts";
import type { PullProgress } from "../../src/sync/progress-store.ts";
import { HOUR_MS, MINUTE_MS, NOON } from "../support/examples.ts";

const DAY_MS = 24 * HOUR_MS;

/** Fetched up to two minutes ago. */
const product = (productId: string, changes: Partial<PullProgress> = {}): PulledProduct => {
  const lagging = { begin: NOON - DAY_MS, head: NOON - 2 * MINUTE_MS, windowMs: HOUR_MS };
  const none = { firstGapAt: null, firstMissingAt: null, gaps: 0, gapMs: 0, gapReason: null };
  const firstFetchedAt = NOON - DAY_MS;
  return {
    productId,
    progress: { productId, ...lagging, ...none, firstFetchedAt, stoppedUntil: null, ...changes },
  };
};

/** What is found of some products that workers pull at this moment. */
const find = (...products: PulledProduct[]) => {
  const states = products.map(({ productId }) => ({
    ...{ work: "pulling" as const, subject: productId, since: NOON, doneAt: NOON, upTo: null },
    ...{ failingSince: null, failures: 0, failedAt: null, errorCode: null, error: null, everyMs: null },
  }));
  const times = { everyMs: MINUTE_MS, settleDelayMs: MINUTE_MS };
  return judgePulling({ products, states, now: NOON, watchedSince: null, ...times });
};
const sentences = (...products: PulledProduct[]) =>
  find(...products).map(({ kind, severity, what }) => `${kind} (${severity}): ${what}`);

describe("of pulled products", () => {
  test("nothing is found while each is fetched up to now", () => {
    expect(find(product("P1"), product("P2"))).toEqual([]);
  });

  test("refused credentials are one finding for all, which names some, and stops all work if no product is left", () => {
    const stoppedUntil = NOON + HOUR_MS;
    const stopped = ["P1", "P2", "P3", "P4", "P5", "P6", "P7"].map((id) => product(id, { stoppedUntil }));
    const [some, ...others] = find(...stopped, product("P8"));
    expect(others).toEqual([]);
    expect(some).toMatchObject({
      kind: "credentials-refused",
      severity: "bad",
      what: "the provider refuses the credentials: the worker cannot pull P1, P2, P3, P4, P5 and 2 more",
      isWhole: false,
      remedy: expect.stringMatching(
        /^Check PROVIDER_USERNAME and PROVIDER_PASSWORD.* next time at 2026-11-20 13:00:00Z\.$/,
      ),
    });
    expect(find(...stopped)[0]).toMatchObject({ isWhole: true });
  });

  test("a gap is named with its length, its place and its reason, and with the command that shows more", () => {
    const firstGapAt = NOON - 5 * HOUR_MS;
    const gap = { gaps: 2, gapMs: 3 * HOUR_MS, firstGapAt, firstMissingAt: firstGapAt };
    const [found, ...others] = find(product("P1", { ...gap, gapReason: "HTTP 503" }));
    expect(others).toEqual([]);
    expect(found).toMatchObject({
      kind: "product-stalled",
      what: "P1 is stalled: 3 h cannot be fetched, in 2 gaps, the first at 2026-11-20 07:00:00Z (HTTP 503)",
      remedy: expect.stringContaining("recon coverage --product P1 --from 2026-11-20T07:00:00.000Z"),
    });
  });

  test("those that are behind and have not begun are only shown, the longest lag first", () => {
    const lagging = (id: string, lagMs: number) => product(id, { head: NOON - lagMs });
    const never = { productId: "P2", progress: null };
    const products = [lagging("P1", HOUR_MS), never, lagging("P3", 3 * HOUR_MS)];
    expect(sentences(...products)).toEqual([
      "product-behind (warn): P3 is 3 h behind",
      "product-behind (warn): P1 is 1 h behind",
      "product-not-begun (unknown): P2: nothing has been fetched yet",
    ]);
    expect(find(...products).filter(isReported)).toEqual([]);
  });

  test("one that still fetches the history before its first start is not late, and says how far it is", () => {
    const begin = NOON - 2 * DAY_MS - 5 * MINUTE_MS;
    const firstFetchedAt = NOON - MINUTE_MS;
    const fetched = (id: string, share: number, changes = {}) =>
      product(id, { begin, head: begin + share * 2 * DAY_MS, firstFetchedAt, ...changes });
    const planned = { firstFetchedAt: null, firstMissingAt: begin };
    expect(
      sentences(
        fetched("P1", 0.4),
        fetched("P2", 0.5, planned),
        // Fetched up to its first start, and behind since.
        fetched("P3", 0.4, { firstFetchedAt: begin + HOUR_MS }),
      ),
    ).toEqual([
      "product-behind (unknown): P2: fetching 2 d of history, 0 %",
      "product-behind (unknown): P1: fetching 2 d of history, 39 %",
      "product-behind (warn): P3 is 1 d 4 h behind",
    ]);
  });
});

describe("the disk", () => {
  const GB = 1e9;
  /** A database of 100 GB that has grown by 1 GB a day for ten days. */
  const measured = (daysLeft: number, changes: Partial<Parameters<typeof judgeStorage>[0]> = {}) =>
    judgeStorage({
      ...{ measuredAt: NOON, bytes: 100 * GB, diskBytes: (100 + daysLeft) * GB, tables: [] },
      before: { at: NOON - 10 * DAY_MS, bytes: 90 * GB },
      ...changes,
    });
  const severity = (daysLeft: number, wasReported = false) =>
    judgeDisk(measured(daysLeft), wasReported)[0]?.severity ?? null;

  test("is a warning 30 days before it is full, and urgent in the last week", () => {
    expect([31, 30, 29, 7, 6, 0].map((days) => severity(days))).toEqual([
      ...[null, null, "warn", "warn", "bad", "bad"],
    ]);
  });

  test("that was reported is over only when it lasts for 35 days, so a changing rate repeats no alert", () => {
    expect([34, 35].map((days) => severity(days, true))).toEqual(["warn", null]);
  });

  test("says how long it lasts and what to do, and nothing of what is unknown", () => {
    expect(judgeDisk(measured(12), false)[0]).toMatchObject({
      kind: "disk-full",
      what: "the database's disk: 12 days of disk left at this rate, of the 112 GB that DATABASE_DISK allows",
      remedy: expect.stringContaining("raise DATABASE_DISK"),
      whatWhenOver: expect.stringContaining("lasts for 35 days again"),
    });
    expect(judgeDisk(null, false)).toEqual([]);
    expect(judgeDisk(measured(12, { diskBytes: null }), false)).toEqual([]);
    expect(judgeDisk(measured(12, { before: null }), false)).toEqual([]);
  });
});

test("a failed backfill is named with its range, its reason and the commands that repeat it", () => {
  const backfill = { id: 7, productId: "P1", from: NOON - HOUR_MS, to: NOON, gaps: 2 };
  const found = judgeBackfill({ ...backfill, code: "provider-timeout", reason: "no answer within 30 s" });
  expect(found).toMatchObject({
    subject: "backfill 7",
    productId: "P1",
    severity: "warn",
    what: "backfill 7 of P1 from 2026-11-20 11:00:00Z to 2026-11-20 12:00:00Z has failed: 2 windows could not be fetched (no answer within 30 s)",
  });
  expect(found.remedy).toContain("recon backfill resume 7,");
  expect(found.remedy).toContain(
    "recon backfill --product P1 --from 2026-11-20T11:00:00.000Z --to 2026-11-20T12:00:00.000Z",
  );
  expect(judgeBackfill({ ...backfill, gaps: 0, code: null, reason: null }).what).toMatch(/ has failed$/);
});

test("what only one process sees has the words of its alert, as far as they are known", () => {
  const conditions = [
    { kind: "alerts-undelivered", subject: "webhook" },
    { kind: "clock-wrong", subject: "worker 12 on host" },
    { kind: "redis-shared", subject: "Redis" },
    { kind: "product-stalled", subject: "P1" },
  ] as const;
  expect(ofConditions(conditions, 1200).map(({ what }) => what)).toEqual([
    "webhook does not accept alerts: 1,200 wait",
    "the clock of the worker 12 on host is wrong: work that depends on it stops",
    "another installation uses the same Redis, and each slows the other",
  ]);
  expect(failingChannel({ channel: "slack", waiting: 2, oldestAt: NOON, lastError: "HTTP 503" }).what).toBe(
    "slack does not accept alerts: 2 wait, the oldest since 2026-11-20 12:00:00Z; HTTP 503",
  );
});

test("a ledger without entries is unknown, and one that lost all of them is bad", () => {
  expect(judgeEmptyLedger(false, 0)).toEqual([]);
  expect(judgeEmptyLedger(true, 0)).toMatchObject([{ severity: "unknown" }]);
  expect(judgeEmptyLedger(true, 1)).toMatchObject([
    { severity: "bad", what: "callback_entries is empty, although 1 entry was accepted" },
  ]);
});
