/** Free games that the provider reports with a stake that no player paid (`nominalStakes`). */

import { type LedgerBet, realRound, type StoredRecord } from "../bet.ts";
import { sumAmounts, ZERO } from "../money.ts";
import { idRulesOf, type MatchSettings } from "./match.ts";

/**
 * Counts the stake of a record as 0 if the ledger has its bet with a stake of 0: a placement of 0, one that is skipped (the
 * fold gives it a stake of 0), or a reward alone. A bet without a placement has no known stake. A record that names no bet
 * counts so if all bets of its round are free and no record of the round names one: beside one that does, it is a bet
 * that the ledger lacks. If the stakes of a round are equal as listed, none of them is nominal: one
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
  const isAsListed = (round: string | null) =>
    round !== null &&
    sumAmounts(stakesOf(listed.get(round), ({ betStatus }) => betStatus !== "VOID")).eq(
      sumAmounts(stakesOf(held.get(round), ({ status }) => status !== "void")),
    );
  const paid = new Set([...listed.keys()].filter(isAsListed));
  const rules = idRulesOf(matchBy);
  const betOf = (record: StoredRecord) =>
    rules.map((rule) => byId.get(record[rule])).find((bet) => bet !== undefined);
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

function isFree({ stake, placed, rewardOnly, tip }: LedgerBet): boolean {
  return stake.eq(ZERO) && (placed || rewardOnly) && !tip;
}

function stakesOf<Side extends StoredRecord | LedgerBet>(
  sides: readonly Side[] = [],
  counts: (side: Side) => boolean,
) {
  return sides.filter(counts).map(({ stake }) => stake);
}
