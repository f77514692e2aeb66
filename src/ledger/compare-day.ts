/** Decides what the rows of a day say beside its account (decision 272). Pure. */

import type { Instant } from "../clock.ts";
import type { Account, ComparedDay, DayFacts } from "./entry-days-store.ts";

export interface DayVerdict extends ComparedDay {
  /** the comparison found a difference that was not known */
  readonly isNew: boolean;
}

/**
 * Compares the rows of a day with its account. A difference is kept until the same entries are there again, or the operator
 * accepts it; the account then starts from the rows that were found, so that entries that are written again count as others do.
 * More rows than were accepted are a difference too: while the triggers were off, some may have taken the place of others.
 */
export function compareDay(facts: DayFacts, now: Instant): DayVerdict {
  const { account, rows, isUncounted, unwatchedAt, goneAt, accepted, acceptedDigest, found } = facts;
  const isRepaired =
    accepted !== null &&
    acceptedDigest !== null &&
    isSame(rows, { entries: accepted, digest: acceptedDigest });
  const known =
    isRepaired || goneAt === null
      ? { unwatchedAt: null, goneAt: null, accepted: null, acceptedDigest: null, found: null }
      : { unwatchedAt, goneAt, accepted, acceptedDigest, found };
  const isMore = rows.entries > account.entries;
  if (isRepaired || isSame(rows, account) || (isUncounted && isMore))
    return { ...known, account: rows, isNew: false };
  if (goneAt === null || accepted === null || found === null) {
    return {
      account: rows,
      unwatchedAt,
      goneAt: now,
      accepted: account.entries,
      acceptedDigest: account.digest,
      found: rows.entries,
      isNew: true,
    };
  }
  // Entries that came since the first difference were accepted too.
  const total = accepted + account.entries - found;
  return {
    account: rows,
    unwatchedAt,
    goneAt,
    accepted: total,
    acceptedDigest: null,
    found: rows.entries,
    isNew: true,
  };
}

function isSame(one: Account, other: Account): boolean {
  return one.entries === other.entries && one.digest === other.digest;
}
