/** Which bets of a wide round agree by themselves, so that the next comparison of the round need not load them. */

import { type LedgerBet, realRound, type StoredRecord } from "../bet.ts";
import { ZERO } from "../money.ts";
import { type IdRule, idRulesOf, type MatchRule } from "./match.ts";
import { askedByState } from "./money-moved.ts";
import { type EntryTimes, entryTimesOf, sumBets, sumRecords } from "./sums.ts";

/** The loaded part of a wide round, with everything in its neighbourhood. */
export interface LoadedRound {
  readonly roundId: string;
  readonly currency: string;
  readonly records: readonly StoredRecord[];
  readonly bets: readonly LedgerBet[];
}

export interface SeparatedRound {
  /** ids of the bets that do not agree by themselves; the next comparison loads them again */
  readonly apart: readonly string[];
  /** every id of the bets that agree by themselves */
  readonly agreeing: ReadonlySet<string>;
  /** the times of the entries of the agreeing bets; null: no bet agrees */
  readonly entryTimes: EntryTimes | null;
}

/**
 * Separates the bets that agree by themselves from all others. Such a bet has ended on both sides with the same
 * amounts to the last digit. Its wallet moved what the bet asks for. Its ids belong to no other bet or record. All
 * its records lie in the same round. No change of another bet can make it differ (decision 122).
 * @param rules the id rules in their order; all records of a bet must name it by the same rule
 * @param isDisturbed whether a bet or record has a finding, or is in doubt
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
 * The id rules that say which bet a record belongs to. A product that matches by round alone may use either id
 * (decision 137).
 */
export function namingRulesOf(matchBy: readonly MatchRule[]): readonly IdRule[] {
  const rules = idRulesOf(matchBy);
  return rules.length === 0 ? ["betId", "id"] : rules;
}

const PAIR = { matchedBy: null, agrees: false } as const;
