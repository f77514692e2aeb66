/** Finds what says nothing about a closed day, because rows of its bet were deleted (decision 156). */

import { LONGEST_BET_MS } from "../../bet.ts";
import { parseInstant } from "../../clock.ts";
import type { ChangedBet } from "../../closing/changed-bets.ts";
import {
  beganBefore,
  type LoadedBets,
  mayMissRecords,
  namesOfChange,
  namesWithoutEntries,
} from "../../closing/cut-bets.ts";
import type { ClosedBounds } from "../../closing/statement.ts";
import { type DeletedTime, keepDeleted } from "../../db/retention-store.ts";
import { deletedUpTo } from "../../diff/deleted.ts";
import { readTxnIds } from "../../ledger/store.ts";
import type { ComparisonContext } from "../compare/comparison-context.ts";
import type { CountedSessions } from "../reports/report-sessions.ts";

/** The neighbourhoods of which rows were deleted. */
export async function findCut<Loaded extends LoadedBets>(
  { tx, product: { productId } }: ComparisonContext,
  days: readonly ClosedBounds[],
  loaded: readonly Loaded[],
  deleted: DeletedTime,
): Promise<ReadonlySet<Loaded>> {
  const named = loaded.flatMap((one) => namesWithoutEntries(one).map((name) => ({ one, name })));
  return new Set([
    ...loaded.filter((one) => mayMissRecords(one, days, deleted)),
    ...(await keepDeleted(tx, productId, named)).map(({ one }) => one),
  ]);
}

/**
 * The changes in deleted time by which rows of a deleted bet that came again count: the day counts the bet already. A bet
 * that is so old that its name is forgotten counts as deleted too.
 */
export async function findCopied(
  { tx, now, product: { productId } }: ComparisonContext,
  days: readonly ClosedBounds[],
  found: readonly { readonly one: LoadedBets; readonly changes: readonly ChangedBet[] }[],
  deleted: DeletedTime,
): Promise<ReadonlySet<ChangedBet>> {
  const old = found.flatMap(({ one, changes }) =>
    one.txnIds.size === 0
      ? []
      : changes
          .filter(({ correction: { day } }) => beganBefore(days, day, deletedUpTo(deleted)))
          .map((change) => ({ one, change })),
  );
  const named = old.flatMap(({ one, change }) =>
    namesOfChange(one, change).map((name) => ({ change, name })),
  );
  return new Set([
    ...(await keepDeleted(tx, productId, named)).map(({ change }) => change),
    ...old
      .filter(({ change: { replaced, correction } }) => {
        return replaced.length === 0 && beganBefore(days, correction.day, now - LONGEST_BET_MS);
      })
      .map(({ change }) => change),
  ]);
}

/** Entries of one session that are looked at: a session is deleted whole, so one name says it of all. */
const MOST_ENTRIES = 1_000;

/** The same of a player's sessions, which are new if nothing of them is stored. */
export async function findCopiedSessions(
  { tx, now, product: { productId } }: ComparisonContext,
  days: readonly ClosedBounds[],
  { username, counted }: CountedSessions,
  changes: readonly ChangedBet[],
  deleted: DeletedTime,
): Promise<ReadonlySet<ChangedBet>> {
  const copied = new Set<ChangedBet>();
  for (const change of changes) {
    const { day } = change.correction;
    if (change.replaced.length > 0 || !beganBefore(days, day, deletedUpTo(deleted))) continue;
    const from = parseInstant(change.now?.betRef ?? "", "session");
    const to = Math.max(
      from,
      ...counted.filter(({ betRef }) => betRef === change.now?.betRef).map(({ at }) => at),
    );
    const txnIds = await readTxnIds(tx, productId, username, { from, to }, MOST_ENTRIES);
    const named = txnIds.map((ref) => ({ name: { username, ref } }));
    const gone = await keepDeleted(tx, productId, named);
    if (gone.length > 0 || beganBefore(days, day, now - LONGEST_BET_MS)) copied.add(change);
  }
  return copied;
}

/** Logs changes that correct nothing, with what the bet counted for before and counts for now. */
export function logCut({ context, product }: ComparisonContext, changed: readonly ChangedBet[]): void {
  for (const { correction } of changed) {
    const { day, username, betId, transactionId, currency, before, after } = correction;
    context.log.warn(
      { productId: product.productId, day, username, betId, transactionId, currency, before, after },
      "a bet of a closed day changed after rows of it were deleted (retain): its day is not corrected",
    );
  }
}
