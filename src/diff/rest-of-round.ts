/** What stands for the bets of a wide round that agree by themselves and are not loaded. */

import type { LedgerBet, StoredRecord } from "../bet.ts";
import { ZERO } from "../money.ts";
import type { Pair } from "./match.ts";
import type { EntryTimes } from "./sums.ts";

/** A round of a neighbourhood of which not all bets are loaded. */
export interface RestOfRound {
  readonly productId: string;
  readonly username: string;
  readonly roundId: string;
  readonly currency: string;
  /** 1 or 2: whether there is one more bet, or more than one */
  readonly bets: number;
  readonly entryTimes: EntryTimes;
}

/** No id of the outside begins with this: it stands for no character. */
const NO_ID = "\uffff";
/** Later than any beginning of a ledger: a round that holds such a bet may have to be compared. */
const ANY_DATE = "9999-12-31T00:00:00.000Z";

/**
 * Bets that agree leave the sums of their round as far apart as they are, so they are left out of them. What else they
 * decide is here: that the round has bets and records, in which currency, and when it was heard of.
 */
export function betsOfRest({
  productId,
  username,
  roundId,
  currency,
  bets,
  entryTimes,
}: RestOfRound): LedgerBet[] {
  return namesOf(bets).map((txnId) => ({
    productId,
    username,
    currency,
    txnId,
    roundId,
    status: "settled",
    stake: ZERO,
    payout: ZERO,
    payouts: 1,
    moved: ZERO,
    movements: 1,
    asked: ZERO,
    waiting: false,
    placed: true,
    rewardOnly: false,
    tip: false,
    settledByRound: false,
    ...entryTimes,
  }));
}

export function recordsOfRest({ productId, username, roundId, currency, bets }: RestOfRound): StoredRecord[] {
  return namesOf(bets).map((id) => ({
    productId,
    username,
    id,
    betId: id,
    roundId,
    currency,
    stake: ZERO,
    payout: ZERO,
    betStatus: "SETTLED",
    payoutStatus: "UNKNOWN",
    accountingDate: ANY_DATE,
    updatedDate: ANY_DATE,
    versionSeenAt: 0,
    requestedAt: 0,
  }));
}

function namesOf(bets: number): string[] {
  return Array.from({ length: bets }, (_, index) => `${NO_ID}${index}`);
}

/** Whether something stands for others. */
export function isOfRest(one: StoredRecord | LedgerBet): boolean {
  return ("betId" in one ? one.id : one.txnId).startsWith(NO_ID);
}

/** Whether a pair of this round holds a row that stands for other bets: a finding about the pair needs all of them. */
export function holdsRest({ records, bets }: Pick<Pair, "records" | "bets">, roundId?: string): boolean {
  return [...records, ...bets].some((one) => isOfRest(one) && (roundId ?? one.roundId) === one.roundId);
}
