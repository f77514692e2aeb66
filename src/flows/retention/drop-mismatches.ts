/** Deletes old mismatches (§3.10, decision 206). */

import type { Query } from "../../db/client.ts";
import { inReadCommitted, inSnapshot } from "../../db/transactions.ts";
import {
  deleteEndedMismatches,
  deleteMismatches,
  type ExpiredMismatches,
  type LastingMismatch,
  lockLasting,
  readNamedByOthers,
} from "../../mismatches/expired-store.ts";
import type { FlowContext } from "../context.ts";
import type { RetainedFrom } from "./drop-by-age.ts";
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
export async function dropMismatches(
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
