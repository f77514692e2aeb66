/** Pending differences that a deletion of old rows may have caused (decision 160). */

import { type Instant, parseInstant } from "../clock.ts";
import type { BetName, DeletedTime } from "../db/retention-store.ts";
import type { MismatchKind } from "../mismatch.ts";
import { includes } from "../window.ts";
import type { PendingDifference } from "./assess.ts";
import type { Pair } from "./match.ts";

/** Kinds of a missing entry, and kinds of a missing record. */
export const MISSING_ENTRIES: ReadonlySet<MismatchKind> = new Set([
  "missing-in-ledger",
  "missing-placement",
  "missing-settlement",
]);
export const MISSING_RECORDS: ReadonlySet<MismatchKind> = new Set([
  "missing-at-provider",
  "vanished-at-provider",
  "stuck-open",
]);

/**
 * Whether a difference may only be about deleted rows, judged by the times of what is left. An open bet is never
 * deleted, so a placed bet has all its entries, unless its name says that it was deleted.
 */
export function mayMissDeletedRows({ content, pair }: PendingDifference, deleted: DeletedTime): boolean {
  const { records, bets } = pair;
  const lacksEntries = () => records.some((record) => includes(deleted.entries, dateOf(record)));
  // The date of a missing record is unknown: it may be any time of the bet.
  if (MISSING_RECORDS.has(content.kind))
    return bets.some(
      (bet) => bet.firstEntryAt < deleted.records.to && bet.lastReceivedAt >= deleted.records.from,
    );
  if (MISSING_ENTRIES.has(content.kind) && bets.length === 0) return lacksEntries();
  if (bets.some((bet) => !bet.placed)) return lacksEntries();
  return isDueForDeletion(pair, deleted);
}

/**
 * Whether all of the pair is older than what is kept on both sides, and not all of it lies before deleted time. Its
 * decided mismatch may have been deleted before the pair itself.
 */
function isDueForDeletion({ records, bets }: Pair, deleted: DeletedTime): boolean {
  return (
    records.every((record) => record.versionSeenAt < deleted.records.to) &&
    bets.every((bet) => bet.lastReceivedAt < deleted.entries.to) &&
    (records.some((record) => dateOf(record) >= deleted.records.from) ||
      bets.some((bet) => bet.lastReceivedAt >= deleted.entries.from))
  );
}

function dateOf({ accountingDate }: { readonly accountingDate: string }): Instant {
  return parseInstant(accountingDate, "accountingDate");
}

/**
 * Whether some of a pair is dated after the deleted time. Then it is more than a late copy of deleted rows: it is
 * new money, with too little left to compare it with (decision 255).
 */
export function hasNewMoney({ pair: { records, bets } }: PendingDifference, deleted: DeletedTime): boolean {
  const upTo = deletedUpTo(deleted);
  return (
    bets.some(({ lastEntryAt }) => lastEntryAt >= upTo) ||
    (records.length > 0 && records.every((record) => dateOf(record) >= upTo && record.versionSeenAt >= upTo))
  );
}

/** The end of the time in which rows of either side were deleted; -Infinity: none were. */
export function deletedUpTo({ records, entries }: DeletedTime): Instant {
  return Math.max(records.to, entries.to);
}

/** The reason of a mismatch whose bet has lost its older rows. */
export function reasonAfterDeletion(reason: string): string {
  return `older rows of this bet were deleted (retain), so compare it by hand. The remaining rows say: ${reason}`;
}

/**
 * The names by which a deleted bet of the difference is recognised. If the bet has entries, only its own name
 * counts, because its entries may be late copies.
 */
export function namesOfPending({ pair: { records, bets } }: PendingDifference): BetName[] {
  if (bets.length > 0) return bets.map(({ username, txnId }) => ({ username, ref: txnId }));
  return records.flatMap(({ username, betId, id }) => [
    { username, ref: betId },
    { username, ref: id },
  ]);
}
