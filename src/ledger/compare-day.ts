/** Decides whether the rows of a day differ from its account (decision 272). Pure. */

import type { Instant } from "../clock.ts";
import type { Account, ComparedDay, DayFacts } from "./entry-days-store.ts";

interface DayVerdict extends ComparedDay {
  /** the comparison found a new difference */
  readonly isNew: boolean;
}

/**
 * Compares the rows of a day with its account. A difference stays open until the same entries are there again, or the
 * operator accepts it (decision 273). After a difference the account starts again from the rows found, so entries that are
 * inserted again count like any other. More rows than accepted are a difference too: while the triggers were off, rows may
 * have been inserted and others deleted.
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
  // Entries accepted since the first difference count too.
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
