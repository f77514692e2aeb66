import { describe, expect, test } from "vitest";
import { writeTransitions } from "../../src/mismatches/transition-store.ts";
import { readChangeMarks } from "../../src/ops/dashboard/changes/change-store.ts";
import { findChanged, type KnownMarks, LIVE_TOPICS } from "../../src/ops/dashboard/changes/what-changed.ts";
import { useDatabase } from "../support/database.ts";
import { amount, MINUTE_MS, NOON } from "../support/examples.ts";
import { exampleFinding } from "../support/findings.ts";

const { sql } = useDatabase();

describe("an open page", () => {
  const marks = Object.fromEntries(LIVE_TOPICS.map((topic) => [topic, "0"])) as KnownMarks["marks"];

  test("is notified of pulling at most every five seconds, and of the last change too", () => {
    let known: KnownMarks = findChanged(null, marks, NOON).known;
    const notified: string[] = [];
    for (let second = 1; second <= 20; second += 1) {
      const pull = String(Math.min(second, 12));
      const found = findChanged(known, { ...marks, pull }, NOON + second * 1_000);
      known = found.known;
      if (found.changed.has("pull")) notified.push(`${second}: ${known.marks.pull}`);
    }
    expect(notified).toEqual(["1: 1", "6: 6", "11: 11", "16: 12"]);
  });

  test("is notified of everything else at once", () => {
    const first = findChanged(null, marks, NOON).known;
    const second = findChanged(first, { ...marks, pull: "1", mismatches: "1" }, NOON + 1_000);
    const third = findChanged(second.known, { ...marks, pull: "2", mismatches: "2" }, NOON + 2_000);
    expect([[...second.changed], [...third.changed]]).toEqual([["pull", "mismatches"], ["mismatches"]]);
  });

  test("is notified when only the values of a mismatch change", async () => {
    const finding = exampleFinding();
    await writeTransitions(sql, [{ change: "open", content: finding }], NOON);
    const before = await readChangeMarks(sql, NOON);
    const [row] = await sql<{ id: number }[]>`select id from mismatches`;
    const changed = { ...finding, amountAtRisk: amount("99") };
    await writeTransitions(
      sql,
      [{ change: "refresh", id: row?.id ?? 0, content: changed }],
      NOON + MINUTE_MS,
    );
    expect((await readChangeMarks(sql, NOON)).mismatches).not.toBe(before.mismatches);
    expect((await readChangeMarks(sql, NOON)).pull).toBe(before.pull);
  });
});
