/** Deletes the bets of visited rows that are no longer needed (§3.10). */

import { LONGEST_BET_MS } from "../../bet.ts";
import { formatInstant, type Instant } from "../../clock.ts";
import { type ForgottenBet, forgetClosedBets } from "../../closing/closed-bet-store.ts";
import type { ProductConfig } from "../../config-file.ts";
import type { Query } from "../../db/client.ts";
import { rememberDeleted } from "../../db/retention-store.ts";
import { subjectsOf } from "../../diff/mismatch-content.ts";
import { deleteEntries, lockEntries } from "../../ledger/expired-entries-store.ts";
import { readNamedByMismatches } from "../../mismatches/expired-store.ts";
import { deleteRecords, lockRecords, textOfKey } from "../../sync/expired-records-store.ts";
import type { FlowContext } from "../context.ts";
import type { BetGroup, Deletable, DeleteUpTo } from "./decide-group.ts";
import type { VisitedRow } from "./load-groups.ts";
import { loadJudged } from "./load-judged.ts";

/** The numbers of deleted rows. */
export interface DroppedBets {
  readonly records: number;
  readonly entries: number;
}

/** Deletes the old groups of some rows, but no group of which another transaction has locked a row. */
export async function dropVisited(
  context: FlowContext,
  tx: Query,
  product: ProductConfig,
  visited: readonly VisitedRow[],
  upTo: DeleteUpTo,
): Promise<DroppedBets> {
  const { productId } = product;
  const now = context.clock.now();
  const usernames = [...new Set(visited.map(({ username }) => username))];
  const mismatches = await readNamedByMismatches(tx, productId, usernames);
  const { groups, decided } = await loadJudged(context, tx, product, visited, upTo, mismatches);
  const free = await lockAll(tx, productId, decided);
  const entries = free.flatMap((one) => one.entries);
  const lastAt = new Map<string, { username: string; ref: string; lastAt: Instant }>();
  for (const { username, txnId, occurredAt } of entries) {
    if (occurredAt < now - LONGEST_BET_MS) continue;
    const key = `${username}\0${txnId}`;
    const last = Math.max(occurredAt, lastAt.get(key)?.lastAt ?? occurredAt);
    lastAt.set(key, { username, ref: txnId, lastAt: last });
  }
  await rememberDeleted(tx, productId, [...lastAt.values()]);
  await forgetClosedBets(tx, productId, forgottenBets(free, decided, groups));
  return {
    records: await deleteRecords(
      tx,
      productId,
      free.flatMap((one) => one.records),
    ),
    entries: await deleteEntries(
      tx,
      productId,
      entries.map(({ entryId }) => entryId),
    ),
  };
}

/** Locks the rows of each group. @returns the groups whose rows are all locked now */
async function lockAll(tx: Query, productId: string, groups: readonly Deletable[]): Promise<Deletable[]> {
  const wanted = groups.filter(({ records, entries }) => records.length + entries.length > 0);
  const locked = await lockRecords(
    tx,
    productId,
    wanted.flatMap(({ records }) => records),
  );
  const records = new Set(locked.map(textOfKey));
  const entries = await lockEntries(
    tx,
    wanted.flatMap((one) => one.entries.map(({ entryId }) => entryId)),
  );
  return wanted.filter(
    (one) =>
      one.records.every((record) => records.has(textOfKey(record))) &&
      one.entries.every(({ entryId }) => entries.has(entryId)),
  );
}

/** What closed days need not know any more of the deleted groups. */
function forgottenBets(
  free: readonly Deletable[],
  decided: readonly Deletable[],
  groups: readonly BetGroup[],
): ForgottenBet[] {
  const isFree = new Set(free);
  return groups.flatMap((group, index) => {
    const one = decided[index];
    if (one === undefined || !isFree.has(one)) return [];
    const keys = keysOfGroup(group);
    if (group.records.length === one.records.length && group.entries.length === one.entries.length)
      return keys;
    // What only the entries name could not be found when the records go.
    if (one.records.length > 0) return [];
    const left = new Set(keysOfGroup({ ...group, entries: [] }).map(({ subject }) => subject));
    return keys.filter(({ subject }) => !left.has(subject));
  });
}

/** The keys under which closed days know a group. */
function keysOfGroup({ records, entries, session, isPart }: BetGroup): ForgottenBet[] {
  const username = records[0]?.username ?? entries[0]?.username ?? "";
  if (session !== undefined) {
    const { firstAt, currency } = session;
    return [{ username, subject: "sessions", betRef: formatInstant(firstAt), currency }];
  }
  const ids = [...records.flatMap(({ betId, id }) => [betId, id]), ...entries.map(({ txnId }) => txnId)];
  // The other bets of a large round may stay.
  const betRefs = isPart === true ? [...new Set(ids)] : [null];
  return subjectsOf(records, entries).flatMap((subject) =>
    betRefs.map((betRef) => ({ username, subject, betRef, currency: null })),
  );
}
