/** Verdicts that a deletion of old rows may have caused (decision 160). */

import { type Instant, parseInstant } from "../clock.ts";
import type { BetName, DeletedTime } from "../db/retention-store.ts";
import type { MismatchKind } from "../mismatch.ts";
import { includes } from "../window.ts";
import type { Verdict } from "./assess.ts";
import type { Pair } from "./match.ts";

/** Kinds that say that an entry is missing, and kinds that say that a record is missing. */
const LACKS_ENTRIES: ReadonlySet<MismatchKind> = new Set([
  "missing-in-ledger",
  "missing-placement",
  "missing-settlement",
]);
const LACKS_RECORDS: ReadonlySet<MismatchKind> = new Set([
  "missing-at-provider",
  "vanished-at-provider",
  "stuck-open",
]);

/**
 * Whether a verdict may only be about deleted rows, by the times of what is left. An open bet is never deleted, so a
 * placed bet has all its entries, unless its name says that it was deleted.
 */
export function mayLackOldRows({ finding, pair }: Verdict, deleted: DeletedTime): boolean {
  const { records, bets } = pair;
  const lacksEntries = () => records.some((record) => includes(deleted.entries, dateOf(record)));
  // Nobody knows the date of a missing record: it may be any time of the bet.
  if (LACKS_RECORDS.has(finding.kind))
    return bets.some(
      (bet) => bet.firstEntryAt < deleted.records.to && bet.lastReceivedAt >= deleted.records.from,
    );
  if (LACKS_ENTRIES.has(finding.kind) && bets.length === 0) return lacksEntries();
  if (bets.some((bet) => !bet.placed)) return lacksEntries();
  return isDueForDeletion(pair, deleted);
}

/**
 * All of the pair is older than what is kept on both sides, and not all of it lies before deleted time: its decided
 * mismatch may have been deleted before it.
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
 * Whether some of a pair is dated after the deleted time: then it is more than a late copy of deleted rows. It is new money,
 * with too little left to compare it with (decision 255).
 */
export function hasNewMoney({ pair: { records, bets } }: Verdict, deleted: DeletedTime): boolean {
  const upTo = deletedUpTo(deleted);
  return (
    bets.some(({ lastEntryAt }) => lastEntryAt >= upTo) ||
    (records.length > 0 && records.every((record) => dateOf(record) >= upTo && record.versionSeenAt >= upTo))
  );
}

/** The end of the time of which rows of either side were deleted; -Infinity: none were. */
export function deletedUpTo({ records, entries }: DeletedTime): Instant {
  return Math.max(records.to, entries.to);
}

/** The reason of a mismatch of a bet whose older rows were deleted. */
export function reasonAfterDeletion(reason: string): string {
  return `older rows of this bet were deleted (retain), so a person must compare it. The rows that remain say: ${reason}`;
}

/**
 * The names of a verdict's bets, by which a deleted bet is recognised. Of a bet with entries its own name says it, because
 * its entries may be late copies.
 */
export function namesOfVerdict({ pair: { records, bets } }: Verdict): BetName[] {
  if (bets.length > 0) return bets.map(({ username, txnId }) => ({ username, ref: txnId }));
  return records.flatMap(({ username, betId, id }) => [
    { username, ref: betId },
    { username, ref: id },
  ]);
}
