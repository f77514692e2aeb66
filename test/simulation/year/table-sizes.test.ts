import { expect, test } from "vitest";
import { planWindows } from "../../../src/sync/window-store.ts";
import { useDatabase } from "../../support/database.ts";
import { HOUR_MS, NOON } from "../../support/examples.ts";
import { findLeftovers } from "./table-sizes.ts";

const { sql } = useDatabase();

test("an old window of closed time must be gone; one of before the first closed day stays, and one that is fetched again for a difference", async () => {
  const closedFrom = NOON - 12 * HOUR_MS;
  await sql`
    insert into closed_days (day, zone, from_at, to_at, number, closed_at, hash, previous_hash, statement)
    values ('2026-01-01', 'UTC', ${closedFrom}, ${closedFrom + 24 * HOUR_MS}, 1, ${NOON}, '', null, '{}')`;
  const beginnings = [closedFrom - HOUR_MS, closedFrom];
  await planWindows(
    sql,
    "P1",
    "live",
    beginnings.map((from) => ({ from, to: from + HOUR_MS })),
  );
  await planWindows(sql, "P1", "confirm", [{ from: closedFrom + HOUR_MS, to: closedFrom + 2 * HOUR_MS }]);
  const keep = { records: 0, entries: 0, mismatches: 0, windows: 24 * HOUR_MS, slack: HOUR_MS };
  const left = await findLeftovers(sql, closedFrom + 48 * HOUR_MS, keep, new Set());
  expect(left).toEqual([expect.stringContaining(new Date(closedFrom + HOUR_MS).toISOString())]);
});
