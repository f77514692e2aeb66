/**
 * Finds parts of a payout that the provider lists as records of their own, in the round that their callback named.
 */

import { realRound, type StoredRecord } from "../bet.ts";
import { formatMoney, sumAmounts, ZERO } from "../money.ts";
import { type AssessSettings, comparePair, type Difference } from "./compare.ts";
import type { Pair } from "./match.ts";

/** A pair with the result of its comparison. */
export interface ComparedPair {
  readonly pair: Pair;
  /** null: the pair agrees, or there is nothing to compare yet */
  readonly difference: Difference | null;
}

/**
 * Joins a bet that was paid too much with the record that is exactly the excess. A reward of 50.00 with the id of
 * bet-1, but another round, counts for bet-1 in the ledger. A provider that lists it under its round has a record
 * zz-1 with a stake of 0 and a payout of 50.00. The two become one pair, so one mismatch, and the statement counts
 * them together. If the excess could be one of several records, or the record that of several bets, they stay apart.
 * A reward with an id of its own shares neither id nor round with its record: to find it, every reward without a
 * record would have to search all records of the player by amount.
 * @param compared all pairs of a neighbourhood: only the round of an entry leads from a bet to a record in a round
 * without bets
 */
export function joinPaidElsewhere(
  compared: readonly ComparedPair[],
  settings: AssessSettings,
): readonly ComparedPair[] {
  const overpaid = compared.filter(isOverpaid);
  if (overpaid.length === 0) return compared;
  const inRounds = new Set(compared.flatMap(({ pair }) => pair.bets.map(roundOf)));
  const alone = compared.filter(({ pair: { bets, records } }) => {
    const [record] = records;
    if (bets.length > 0 || records.length !== 1 || record === undefined) return false;
    const round = roundOf(record);
    return record.betStatus === "SETTLED" && record.stake.eq(ZERO) && round !== null && !inRounds.has(round);
  });
  const claims = overpaid.flatMap((bet) =>
    alone.filter((other) => isExcess(bet, other, settings)).map((other) => ({ bet, other })),
  );
  const isOnly = ({ bet, other }: (typeof claims)[number]) =>
    claims.filter((claim) => claim.bet === bet || claim.other === other).length === 1;
  const joined = new Map(claims.filter(isOnly).map((claim) => [claim.bet, claim.other]));
  const gone = new Set(joined.values());
  return compared.flatMap((one) => {
    const other = joined.get(one);
    if (other !== undefined) return [join(one, other)];
    return gone.has(one) ? [] : [one];
  });
}

function isOverpaid({ pair: { matchedBy, bets }, difference }: ComparedPair): boolean {
  if (difference?.kind !== "payout-differs" || matchedBy === "round" || bets.length !== 1) return false;
  return (bets[0]?.payouts ?? 0) > 1;
}

/** Whether a bet agrees with its own record and the other one together. */
function isExcess({ pair }: ComparedPair, other: ComparedPair, settings: AssessSettings): boolean {
  const records = [...pair.records, ...other.pair.records];
  if (!sumPayouts(records).eq(pair.bets[0]?.payout ?? ZERO)) return false;
  return comparePair({ ...pair, records }, settings) === null;
}

function join({ pair, difference }: ComparedPair, other: ComparedPair): ComparedPair {
  const [record] = other.pair.records;
  if (record === undefined || difference === null) return { pair, difference };
  const { betId, payout, currency, roundId } = record;
  const reason = `${difference.reason}; the provider has the other ${formatMoney(payout, currency)} as bet ${betId} of round ${roundId}, which a callback of this bet names, so the money is right`;
  return { pair: { ...pair, records: [...pair.records, record] }, difference: { ...difference, reason } };
}

function sumPayouts(records: readonly StoredRecord[]) {
  return sumAmounts(records.map(({ payout }) => payout));
}

function roundOf({ roundId }: { readonly roundId: string | null }): string | null {
  return realRound(roundId);
}
