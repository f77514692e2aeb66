/** Large rounds: which bets agree by themselves, and the stand-ins for bets that are not loaded. */

import { type LedgerBet, realRound, type StoredRecord } from "../bet.ts";
import { ZERO } from "../money.ts";
import { type IdRule, idRulesOf, type MatchRule, type Pair } from "./match.ts";
import { askedByState } from "./money-moved.ts";
import { type EntryTimes, entryTimesOf, sumBets, sumRecords } from "./sums.ts";

/** The loaded part of a large round, with everything in its neighbourhood. */
export interface LoadedRound {
  readonly roundId: string;
  readonly currency: string;
  readonly records: readonly StoredRecord[];
  readonly bets: readonly LedgerBet[];
}

export interface SeparatedRound {
  /** ids of the bets that do not agree by themselves: the next comparison loads them again */
  readonly apart: readonly string[];
  /** every id of the bets that agree by themselves */
  readonly agreeing: ReadonlySet<string>;
  /** the times of the entries of the agreeing bets; null: no bet agrees */
  readonly entryTimes: EntryTimes | null;
}

/**
 * Separates the bets that agree by themselves from all others. Such a bet has ended on both sides with the same
 * amounts to the last digit, its wallet moved what the bet asks for, its ids belong to no other bet or record, and
 * all its records lie in the same round. So no change of another bet can make it differ.
 * @param rules the id rules in their order; all records of a bet must name it by the same rule
 * @param isDisturbed whether a bet or record has a difference, or is in doubt
 */
export function separateAgreeing(
  { roundId, currency, records, bets }: LoadedRound,
  rules: readonly IdRule[],
  isDisturbed: (one: LedgerBet | StoredRecord) => boolean,
): SeparatedRound {
  const txnIds = new Set(bets.map((bet) => bet.txnId));
  const byBetId = Map.groupBy(records, (record) => record.betId);
  const byId = Map.groupBy(records, (record) => record.id);
  const sharing = (id: string) => new Set([...(byBetId.get(id) ?? []), ...(byId.get(id) ?? [])]);
  const isHere = (one: LedgerBet | StoredRecord) =>
    realRound(one.roundId) === roundId && one.currency === currency && !isDisturbed(one);

  const standsAlone = (bet: LedgerBet, own: ReadonlySet<StoredRecord>): boolean => {
    if (own.size === 0 || !isHere(bet) || bet.tip || bet.waiting || bet.settledByRound) return false;
    if (bet.others.length > 0) return false;
    if (bet.status === "open" || (bet.status === "settled" && !bet.placed && !bet.rewardOnly)) return false;
    const rule = rules.find((one) => [...own].some((record) => record[one] === bet.txnId));
    if (rule === undefined) return false;
    for (const record of own) {
      if (!isHere(record) || record[rule] !== bet.txnId) return false;
      for (const id of [record.betId, record.id]) {
        if (id !== bet.txnId && txnIds.has(id)) return false;
        for (const another of sharing(id)) if (!own.has(another)) return false;
      }
    }
    const provider = sumRecords([...own]);
    if (bet.status === "void") return provider.status === "VOID" && bet.moved.eq(ZERO);
    const ledger = sumBets([bet]);
    const isEqual = provider.stake.eq(ledger.stake) && provider.payout.eq(ledger.payout);
    return (
      provider.status === "SETTLED" &&
      isEqual &&
      bet.moved.eq(askedByState({ ...PAIR, records: [...own], bets: [bet] }))
    );
  };

  const agreeing = new Set<string>();
  const ended: LedgerBet[] = [];
  const apart = new Set<string>();
  for (const bet of bets) {
    const own = sharing(bet.txnId);
    if (standsAlone(bet, own)) {
      ended.push(bet);
      for (const id of [bet.txnId, ...[...own].flatMap((record) => [record.betId, record.id])])
        agreeing.add(id);
    } else apart.add(bet.txnId);
  }
  for (const record of records) if (!agreeing.has(record.betId)) apart.add(record.betId);
  return { apart: [...apart], agreeing, entryTimes: entryTimesOf(ended) };
}

/**
 * The id rules that say which bet a record belongs to. The first rule by which any record names the bet decides, and
 * all records of the bet must name it by that rule, as in matching. A product that matches by round alone may use
 * either id.
 */
export function namingRulesOf(matchBy: readonly MatchRule[]): readonly IdRule[] {
  const rules = idRulesOf(matchBy);
  return rules.length === 0 ? ["betId", "id"] : rules;
}

const PAIR = { matchedBy: null, agrees: false } as const;

/** The bets of one large round that are not loaded. */
export interface UnloadedBets {
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
/** Later than any beginning of a ledger: the round is never skipped as older than the ledger. */
const ANY_DATE = "9999-12-31T00:00:00.000Z";

/**
 * The stand-ins have amounts of 0, because bets that agree do not change the difference of their round's sums. They
 * show only that the round has further bets and records, their currency, and the times of their entries.
 */
export function standInBets({
  productId,
  username,
  roundId,
  currency,
  bets,
  entryTimes,
}: UnloadedBets): LedgerBet[] {
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
    reward: ZERO,
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

/** The stand-ins on the provider's side, as `standInBets`. */
export function standInRecords({
  productId,
  username,
  roundId,
  currency,
  bets,
}: UnloadedBets): StoredRecord[] {
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
function isStandIn(one: StoredRecord | LedgerBet): boolean {
  return ("betId" in one ? one.id : one.txnId).startsWith(NO_ID);
}

/** Whether a pair holds a stand-in of this round. A difference of such a pair needs the bets behind the stand-in. */
export function hasStandIn({ records, bets }: Pick<Pair, "records" | "bets">, roundId?: string): boolean {
  return [...records, ...bets].some((one) => isStandIn(one) && (roundId ?? one.roundId) === one.roundId);
}

/** Removes the stand-ins for bets that are not loaded, because the database adds these up. */
export function withoutRest<One extends { readonly pair: Pair }>(one: One): One {
  if (!hasStandIn(one.pair)) return one;
  const { records, bets } = one.pair;
  const isLoaded = (side: StoredRecord | LedgerBet) => !isStandIn(side);
  return { ...one, pair: { ...one.pair, records: records.filter(isLoaded), bets: bets.filter(isLoaded) } };
}
