/** Deletes the old rows of closed days that belong to no bet, or to a deleted one (§3.10). */

import { dropOldAlerts, dropOldIncidents } from "../../alerts/old-alerts-store.ts";
import { LONGEST_BET_MS } from "../../bet.ts";
import { dropExpiredTombstones } from "../../callbacks/expired-store.ts";
import type { Instant } from "../../clock.ts";
import type { Query } from "../../db/client.ts";
import type { DroppedById } from "../../db/drop-rows.ts";
import { ENTRIES_WALK, forgetDeletedBets, lockWalk, openWalk, saveWalk } from "../../db/retention-store.ts";
import { inReadCommitted } from "../../db/transactions.ts";
import { dropExpiredRejectedEntries } from "../../ledger/expired-entries-store.ts";
import { dropExpiredRejected } from "../../sync/rejected-store.ts";
import { dropExpiredWindows } from "../../sync/window-store.ts";
import { dropOldTransfers } from "../../verify/old-transfers-store.ts";
import type { TimeRange } from "../../window.ts";
import type { FlowContext } from "../context.ts";
import type { DeleteUpTo } from "./decide-group.ts";
import type { DropLimits } from "./drop-expired.ts";
import { dropMismatches } from "./drop-mismatches.ts";

/** The times before which rows of closed days may be deleted, by setting; null: rows are kept. */
export interface RetainedFrom extends DeleteUpTo {
  readonly mismatches: Instant | null;
  readonly windows: Instant | null;
}

type ByTable = (tx: Query, range: TimeRange, after: number, most: number) => Promise<DroppedById>;

/** Tables with an ascending id, each with the setting that rules it (docs/operations.md#kept-and-deleted). */
const WALKS: readonly {
  readonly table: string;
  readonly by: Exclude<keyof RetainedFrom, "closedFrom">;
  readonly drop: ByTable;
}[] = [
  { table: "rejected_entries", by: "entries", drop: dropExpiredRejectedEntries },
  { table: "windows", by: "windows", drop: dropExpiredWindows },
  { table: "rejected_records", by: "records", drop: dropExpiredRejected },
  { table: "transfers", by: "entries", drop: transfersOf("transfers") },
  { table: "top_ups", by: "entries", drop: transfersOf("top_ups") },
  { table: "alerts", by: "mismatches", drop: dropOldAlerts },
  { table: "incidents", by: "mismatches", drop: dropOldIncidents },
];

function transfersOf(table: "transfers" | "top_ups"): ByTable {
  return (tx, range, after, most) => dropOldTransfers(tx, table, range, after, most);
}

/** @returns the number of deleted rows of each table */
export async function dropByAge(
  context: FlowContext,
  upTo: RetainedFrom,
  limits: DropLimits,
  signal: AbortSignal,
): Promise<Record<string, number>> {
  const counts: Record<string, number> = {};
  const { closedFrom: from, entries } = upTo;
  if (upTo.mismatches !== null) counts["mismatches"] = await dropMismatches(context, upTo, limits, signal);
  for (const { table, by, drop } of WALKS) {
    const to = upTo[by];
    if (to !== null) counts[table] = await walk(context, table, { from, to }, drop, limits, signal);
  }
  if (entries !== null) {
    const now = context.clock.now();
    const range = { from, to: entries };
    const dropTombstones = (most: number) =>
      inReadCommitted(context.sql, async (tx) => {
        const count = await dropExpiredTombstones(tx, range, most);
        // From now on the wallet must refuse requests of that time.
        if (count > 0) await openWalk(tx, ENTRIES_WALK, range);
        return count;
      });
    await repeat(dropTombstones, limits, signal);
    await repeat((most) => forgetDeletedBets(context.sql, now - LONGEST_BET_MS, most), limits, signal);
  }
  return counts;
}

/** Goes through a table from its first row on, once for each time up to which rows may be deleted. */
async function walk(
  { sql }: FlowContext,
  table: string,
  range: TimeRange,
  drop: ByTable,
  { rows, batches }: DropLimits,
  signal: AbortSignal,
): Promise<number> {
  let total = 0;
  for (let batch = 0; batch < batches && !signal.aborted; batch += 1) {
    const step = await inReadCommitted(sql, async (tx) => {
      if (!(await lockWalk(tx, table))) return null;
      const after = Number((await openWalk(tx, table, range))?.[0] ?? 0);
      const dropped = await drop(tx, range, after, rows);
      await saveWalk(tx, table, [String(dropped.last ?? after)]);
      return dropped;
    });
    if (step === null || step.last === null) break;
    total += step.count;
  }
  return total;
}

async function repeat(
  drop: (most: number) => Promise<number>,
  { rows, batches }: DropLimits,
  signal: AbortSignal,
): Promise<number> {
  let total = 0;
  for (let batch = 0; batch < batches && !signal.aborted; batch += 1) {
    const count = await drop(rows);
    total += count;
    if (count === 0) break;
  }
  return total;
}
