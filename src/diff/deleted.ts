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
 * placed bet has all its entries.
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

/** The names of a verdict's bets, by which a deleted bet is recognised. */
export function namesOfVerdict({ pair: { records, bets } }: Verdict): BetName[] {
  return [
    // The deleted part of a bet is missing only where there is no entry, or no placement.
    ...(bets.length > 0
      ? []
      : records.flatMap(({ username, betId, id }) => [
          { username, ref: betId },
          { username, ref: id },
        ])),
    ...bets.filter(({ placed }) => !placed).map(({ username, txnId }) => ({ username, ref: txnId })),
  ];
}
