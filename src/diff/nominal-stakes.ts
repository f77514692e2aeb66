/** Free games that the provider reports with a stake that no player paid (`nominalStakes`). */

import { type LedgerBet, realRound, type StoredRecord } from "../bet.ts";
import { type Amount, sumAmounts, ZERO } from "../money.ts";
import { idRulesOf, type MatchSettings } from "./match.ts";

/**
 * Counts the stake of a record as 0 if the ledger has its bet with a stake of 0: a placement of 0, one that is skipped (the
 * fold gives it a stake of 0), or a reward alone. A bet without a placement has no known stake. A record that names no bet
 * counts so if all bets of its round are free and no record of the round names one: beside one that does, it is a bet
 * that the ledger lacks. Beside paid bets without a record of their own, a stake is none of a free game if it is theirs: one
 * record of 20 under the id of a free spin reports the paid bet of 20 beside it.
 */
export function countNominalStakes(
  records: readonly StoredRecord[],
  bets: readonly LedgerBet[],
  { nominalStakes, matchBy }: MatchSettings,
): readonly StoredRecord[] {
  if (!nominalStakes || !bets.some(isFree)) return records;
  const byId = new Map(bets.map((bet) => [bet.txnId, bet]));
  const listed = Map.groupBy(records, ({ roundId }) => realRound(roundId));
  const held = Map.groupBy(
    bets.filter(({ tip }) => !tip),
    ({ roundId }) => roundId,
  );
  const rules = idRulesOf(matchBy);
  const betOf = (record: StoredRecord) =>
    rules.map((rule) => byId.get(record[rule])).find((bet) => bet !== undefined);
  /** Whether the paid bets of a round have the stakes of their records, and the others the stakes of all other records. */
  const isAsListed = (round: string | null) => {
    const counted = (listed.get(round) ?? []).filter(({ betStatus }) => betStatus !== "VOID");
    const ofPaid = Map.groupBy(counted, (record) => {
      const bet = betOf(record);
      return bet === undefined || isFree(bet) ? null : bet;
    });
    const others = (held.get(round) ?? []).filter((bet) => bet.status !== "void" && !ofPaid.has(bet));
    return (
      round !== null &&
      stakeOf(ofPaid.get(null) ?? []).eq(stakeOf(others)) &&
      [...ofPaid].every(([bet, own]) => bet === null || stakeOf(own).eq(bet.stake))
    );
  };
  const paid = new Set([...listed.keys()].filter(isAsListed));
  const byIds = new Set(
    records.filter((record) => betOf(record) !== undefined).map(({ roundId }) => realRound(roundId)),
  );
  return records.map((record) => {
    const round = realRound(record.roundId);
    if (record.stake.eq(ZERO) || paid.has(round)) return record;
    const named = betOf(record);
    const inRound = round === null || byIds.has(round) ? [] : (held.get(round) ?? []);
    const own = named === undefined ? inRound : [named];
    if (own.length === 0 || !own.every(isFree)) return record;
    return { ...record, stake: ZERO, listedStake: record.stake };
  });
}

/** A bet that was placed with 20 and adjusted to 0 is not free: the player paid for it. */
function isFree({ largestStake, placed, rewardOnly, tip }: LedgerBet): boolean {
  return largestStake.eq(ZERO) && (placed || rewardOnly) && !tip;
}

function stakeOf(sides: readonly (StoredRecord | LedgerBet)[]): Amount {
  return sumAmounts(sides.map(({ stake }) => stake));
}
