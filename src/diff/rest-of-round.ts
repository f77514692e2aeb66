/** Stand-ins for the bets of a wide round that agree by themselves and are not loaded (decision 122). */

import type { LedgerBet, StoredRecord } from "../bet.ts";
import { ZERO } from "../money.ts";
import type { Pair } from "./match.ts";
import type { EntryTimes } from "./sums.ts";

/** The unloaded bets of one wide round. */
export interface RestOfRound {
  readonly productId: string;
  readonly username: string;
  readonly roundId: string;
  readonly currency: string;
  /** 1: one bet is not loaded; 2: two or more are not loaded */
  readonly bets: number;
  readonly entryTimes: EntryTimes;
}

/** No real id begins with this code unit, because it is not a character. */
const NO_ID = "\uffff";
/** Later than any beginning of a ledger, so that the round is never skipped as older than the ledger. */
const ANY_DATE = "9999-12-31T00:00:00.000Z";

/**
 * The stand-ins have amounts of 0, because bets that agree do not change the difference of their round's sums. They
 * show only that the round has further bets and records, in which currency, and the times of their entries.
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
    largestStake: ZERO,
    payout: ZERO,
    payouts: 1,
    moved: ZERO,
    movements: 1,
    asked: ZERO,
    others: [],
    paidInParts: null,
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

/** Whether a record or bet is a stand-in. */
export function isOfRest(one: StoredRecord | LedgerBet): boolean {
  return ("betId" in one ? one.id : one.txnId).startsWith(NO_ID);
}

/** Whether a pair holds a stand-in of this round: a finding about the pair needs the bets that it stands for. */
export function holdsRest({ records, bets }: Pick<Pair, "records" | "bets">, roundId?: string): boolean {
  return [...records, ...bets].some((one) => isOfRest(one) && (roundId ?? one.roundId) === one.roundId);
}
