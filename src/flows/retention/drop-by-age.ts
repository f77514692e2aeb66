/** Deletes old mismatches, and the old rows of closed days that belong to no bet, or to a deleted one (§3.10). */

import { dropOldAlerts, dropOldIncidents } from "../../alerts/store.ts";
import { LONGEST_BET_MS } from "../../bet.ts";
import { dropExpiredTombstones } from "../../callbacks/expired-store.ts";
import type { Instant } from "../../clock.ts";
import type { Query } from "../../db/client.ts";
import type { DroppedById } from "../../db/drop-rows.ts";
import { ENTRIES_WALK, forgetDeletedBets, lockWalk, openWalk, saveWalk } from "../../db/retention-store.ts";
import { inReadCommitted, inSnapshot } from "../../db/transactions.ts";
import { dropExpiredRejectedEntries } from "../../ledger/expired-entries-store.ts";
import {
  deleteEndedMismatches,
  deleteMismatches,
  type ExpiredMismatches,
  type LastingMismatch,
  lockLasting,
  readNamedByOthers,
} from "../../mismatches/expired-store.ts";
import { dropExpiredRejected } from "../../sync/rejected-store.ts";
import { dropExpiredWindows } from "../../sync/window-store.ts";
import { dropOldTransfers } from "../../verify/store.ts";
import type { TimeRange } from "../../window.ts";
import type { FlowContext } from "../context.ts";
import type { DeleteUpTo } from "./decide-group.ts";
import type { DropLimits } from "./drop-expired.ts";
import type { VisitedRow } from "./load-groups.ts";
import { type JudgedGroups, loadJudged } from "./load-judged.ts";

/** Each of them is judged with its bets. */
const LASTING_AT_ONCE = 200;

/**
 * Deletes mismatches of closed days that ended long ago. One whose difference may still hold explains that difference in the
 * statements, and a comparison would open it again: it goes only when the rows of its bets may go (decision 227).
 * @returns their number
 */
async function dropMismatches(
  context: FlowContext,
  upTo: RetainedFrom,
  { rows, batches }: DropLimits,
  signal: AbortSignal,
): Promise<number> {
  const { closedFrom: from, mismatches, records, entries } = upTo;
  const lastingTo = records === null || entries === null ? null : Math.min(records, entries);
  const old: ExpiredMismatches = { from, to: mismatches ?? from, lastingTo };
  let total = 0;
  for (let batch = 0; batch < batches && !signal.aborted; batch += 1) {
    const count = await inReadCommitted(context.sql, (tx) => deleteEndedMismatches(tx, old, rows));
    total += count;
    if (count < rows) break;
  }
  let after = 0;
  for (let batch = 0; lastingTo !== null && batch < batches && !signal.aborted; batch += 1) {
    const { found, last } = await inSnapshot(context.sql, async (tx) => {
      const lasting = await lockLasting(tx, old, after, LASTING_AT_ONCE);
      const goes = await chooseGoing(context, tx, lasting, old, upTo);
      total += await deleteMismatches(tx, goes);
      return { found: lasting.length, last: lasting.at(-1)?.id ?? after };
    });
    after = last;
    if (found < LASTING_AT_ONCE) break;
  }
  return total;
}

/** @returns the numbers of those that name no bet with rows that must stay */
async function chooseGoing(
  context: FlowContext,
  tx: Query,
  lasting: readonly LastingMismatch[],
  old: ExpiredMismatches,
  upTo: RetainedFrom,
): Promise<number[]> {
  const goes: number[] = [];
  for (const [productId, own] of Map.groupBy(lasting, (one) => one.productId)) {
    const product = context.config.products.find((one) => one.productId === productId);
    const visited = own.map(rowsOf);
    const rows = visited.flat();
    // Nothing is compared or stated of a product that was removed.
    if (product === undefined || rows.length === 0) {
      goes.push(...own.map(({ id }) => id));
      continue;
    }
    const usernames = [...new Set(rows.map(({ username }) => username))];
    const others = await readNamedByOthers(tx, productId, usernames, old);
    const staying = namesOfStaying(await loadJudged(context, tx, product, rows, upTo, others));
    goes.push(
      ...own.filter((_, index) => !(visited[index] ?? []).some((row) => staying(row))).map(({ id }) => id),
    );
  }
  return goes;
}

/** The keys under which a mismatch may have rows; empty: it is not about a bet. */
function rowsOf({ username, otherName, betId, transactionId, roundId }: LastingMismatch): VisitedRow[] {
  const [ref, ...more] = [betId, transactionId, roundId].filter((id) => id !== null);
  if (ref === undefined) return [];
  const players = otherName === null ? [username] : [username, otherName];
  return players.map((player) => ({ username: player, roundId, refs: [ref, ...more] }));
}

/** @returns whether a place has rows that must stay */
function namesOfStaying({ groups, decided }: JudgedGroups): (row: VisitedRow) => boolean {
  const names = new Set<string>();
  const nameOf = (what: string, username: string, id: string) => JSON.stringify([what, username, id]);
  for (const [index, { records, entries }] of groups.entries()) {
    const goes = decided[index];
    if (goes?.records.length === records.length && goes.entries.length === entries.length) continue;
    for (const { username, roundId, betId, id } of records) {
      for (const ref of [betId, id]) names.add(nameOf("bet", username, ref));
      if (roundId !== null) names.add(nameOf("round", username, roundId));
    }
    for (const { username, roundId, txnId } of entries) {
      names.add(nameOf("bet", username, txnId));
      if (roundId !== null) names.add(nameOf("round", username, roundId));
    }
  }
  return ({ username, roundId, refs }) =>
    refs.some((ref) => names.has(nameOf("bet", username, ref))) ||
    (roundId !== null && names.has(nameOf("round", username, roundId)));
}

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
