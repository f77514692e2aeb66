/** Which bets of a wide round agree by themselves, so that the next comparison of the round need not load them. */

import { type LedgerBet, realRound, type StoredRecord } from "../bet.ts";
import { ZERO } from "../money.ts";
import { type IdRule, idRulesOf, type MatchRule } from "./match.ts";
import { askedByState } from "./money-moved.ts";
import { type EntryTimes, entryTimesOf, sumBets, sumRecords } from "./sums.ts";

/** What is loaded of a wide round, with whatever hangs together with it. */
export interface LoadedRound {
  readonly roundId: string;
  readonly currency: string;
  readonly records: readonly StoredRecord[];
  readonly bets: readonly LedgerBet[];
}

export interface SeparatedRound {
  /** ids of what does not stand alone, and has to be loaded again */
  readonly apart: readonly string[];
  /** every id of the bets that do */
  readonly agreeing: ReadonlySet<string>;
  /** when those were heard of; null: there are none */
  readonly entryTimes: EntryTimes | null;
}

/**
 * Parts what is loaded into bets that agree by themselves and all others. A bet does that where it has ended on both
 * sides with the same amounts to the last digit, moved what it asks for, shares no id with anything else, and lies in
 * the round with all that is known of it: whatever becomes of the others, nothing can be found wrong with it.
 * @param rules that may name it by an id, in their order; all of its records name it by the same one
 * @param isDisturbed of a bet or record: something is wrong with it, or it is in doubt
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

/** The rules that say whose a record is. Where only rounds are matched, it changes nothing which id does. */
export function namingRulesOf(matchBy: readonly MatchRule[]): readonly IdRule[] {
  const rules = idRulesOf(matchBy);
  return rules.length === 0 ? ["betId", "id"] : rules;
}

const PAIR = { matchedBy: null, agrees: false } as const;
