import { expect, test } from "vitest";
import { type BackfillChange, type BackfillStatus, statusAfter } from "../../src/sync/backfill.ts";

test.each<[status: BackfillStatus, change: BackfillChange, after: BackfillStatus | null]>([
  ["queued", "pause", "paused"],
  ["running", "pause", "paused"],
  ["paused", "pause", null],
  ["done", "pause", null],
  ["cancelled", "pause", null],
  ["failed", "pause", null],
  ["queued", "resume", null],
  ["running", "resume", null],
  ["paused", "resume", "running"],
  ["done", "resume", null],
  ["cancelled", "resume", null],
  ["failed", "resume", "running"],
  ["queued", "cancel", "cancelled"],
  ["running", "cancel", "cancelled"],
  ["paused", "cancel", "cancelled"],
  ["done", "cancel", null],
  ["cancelled", "cancel", null],
  ["failed", "cancel", null],
])("%s, %s: %s", (status, change, after) => {
  expect(statusAfter(change, { status, startedAt: 1 })).toBe(after);
});

test("a backfill that was paused before its beginning waits again for its beginning", () => {
  expect(statusAfter("resume", { status: "paused", startedAt: null })).toBe("queued");
});
