/** What a record counts for, decided before anything is matched: which step of a bet counts, and whether its stake is nominal. */

import { type LedgerBet, realRound, type StoredRecord } from "../bet.ts";
import { type Instant, parseInstant } from "../clock.ts";
import { type Amount, sumAmounts, ZERO } from "../money.ts";
import { idRulesOf, type MatchSettings } from "./match.ts";
import { isRunning, lastEntryOf } from "./sums.ts";

/**
 * Removes the records of steps that a later record of the same bet replaces
 * (docs/mismatches.md#several-records-of-one-bet). Records are steps of one bet if they share its betId, player and
 * currency, some run while others have ended, and their stakes are equal or the later ones alone have the ledger's
 * stake. The record with the later updatedDate counts; at the same moment, the one that has ended. Several running
 * records, or several ended ones, are parts of the bet and are added up: OPEN, SETTLED, UNSETTLED, SETTLED count as
 * the last SETTLED one. No later step needs a rule of its own, and no SQL has one: the screening drops only bets
 * with a single record that equals their entries.
 * @param bets of the player: records whose stakes add up to those of the bets that they name are parts, too. A part
 * that is void while another runs counts as running until the ledger gives its stake back.
 * @returns the same objects except for such a part, in the same order
 */
export function withoutEarlierSteps(
  records: readonly StoredRecord[],
  bets: readonly LedgerBet[],
): readonly StoredRecord[] {
  // Most providers list no running bets, or change the record itself.
  if (records.length < 2 || !records.some(isRunning)) return records;
  const byTxnId = new Map(bets.map((bet) => [bet.txnId, bet]));
  const changed = new Map<StoredRecord, StoredRecord | null>();
  const keyOf = ({ username, currency, betId }: StoredRecord) => JSON.stringify([username, currency, betId]);
  for (const ofBet of Map.groupBy(records, keyOf).values()) {
    const [{ betId } = { betId: "" }, another] = ofBet;
    if (another === undefined) continue;
    const ids = new Set(ofBet.flatMap((one) => [one.betId, one.id]));
    const held = [...ids].flatMap((id) => byTxnId.get(id) ?? []);
    const ownBets = new Set(ofBet.filter(({ id }) => id !== betId && byTxnId.has(id)).map(({ id }) => id));
    // Records of a ticket: each is a bet of its own, even if the ledger lacks some of them.
    if (ownBets.size > 1 || (ownBets.size === 1 && !byTxnId.has(betId))) continue;
    if (addUpTo(ofBet, held)) {
      for (const part of voidPartsOf(ofBet, held)) changed.set(part, { ...part, betStatus: "OPEN" });
    } else if (!hasVoidPart(ofBet, held)) {
      for (const step of earlierOf(ofBet, held)) changed.set(step, null);
    }
  }
  if (changed.size === 0) return records;
  return records.flatMap((record) => {
    const after = changed.get(record);
    return after === null ? [] : [after ?? record];
  });
}

/** Whether the stakes of some records add up to those that the ledger's bets have now. */
function addUpTo(records: readonly StoredRecord[], held: readonly LedgerBet[]): boolean {
  const stake = sumAmounts(held.map((bet) => bet.stake));
  return !stake.eq(ZERO) && stake.eq(stakeOf(records));
}

/** The void parts of a bet whose ledger side still has the stake of all parts. */
function voidPartsOf(records: readonly StoredRecord[], held: readonly LedgerBet[]): readonly StoredRecord[] {
  if (!records.some(isRunning) || held.some(({ status }) => status !== "open")) return [];
  return records.filter(({ betStatus }) => betStatus === "VOID");
}

/**
 * Whether some records are void parts whose stake the ledger gave back by an adjustment, while the others run. The
 * adjustment is then nearer in time to the void part than to those that run. After an adjustment to half, by
 * contrast, a void step follows a running one of its time.
 */
function hasVoidPart(records: readonly StoredRecord[], held: readonly LedgerBet[]): boolean {
  const { gone = [], left = [] } = Object.groupBy(records, ({ betStatus }) =>
    betStatus === "VOID" ? "gone" : "left",
  );
  const before = sumAmounts(held.map(({ largestStake }) => largestStake));
  const isWhole = gone.length > 0 && before.eq(stakeOf(records)) && addUpTo(left, held);
  if (!isWhole || held.some(({ status }) => status !== "open")) return false;
  const farFrom = (some: readonly StoredRecord[]) => Math.abs(lastUpdate(some) - lastEntryOf(held));
  return farFrom(gone) < farFrom(left.filter(isRunning));
}

function earlierOf(records: readonly StoredRecord[], held: readonly LedgerBet[]): StoredRecord[] {
  const ended = records.filter((one) => !isRunning(one));
  const [last, others] =
    lastUpdate(records.filter(isRunning)) <= lastUpdate(ended)
      ? [ended, records.filter(isRunning)]
      : [records.filter(isRunning), ended];
  const isPlaced = held.length > 0 && held.every(({ placed }) => placed);
  const isWhole = isPlaced && stakeOf(last).eq(sumAmounts(held.map(({ stake }) => stake)));
  if (isWhole && others.length > 0) return others;
  return [...Map.groupBy(records, ({ stake }) => stake.toFixed()).values()].flatMap((steps) => {
    const endedAt = lastUpdate(steps.filter((one) => !isRunning(one)));
    const ranAt = lastUpdate(steps.filter(isRunning));
    return steps.filter((one) => (isRunning(one) ? updatedAt(one) <= endedAt : updatedAt(one) < ranAt));
  });
}

function updatedAt({ updatedDate }: StoredRecord): Instant {
  return parseInstant(updatedDate, "updatedDate");
}

function lastUpdate(records: readonly StoredRecord[]): Instant {
  return records.map(updatedAt).reduce((a, b) => Math.max(a, b), Number.NEGATIVE_INFINITY);
}

/**
 * Counts the stake of a record as 0 if the ledger has its bet with a stake of 0 (`nominalStakes`): a placement of 0,
 * one that skips the balance, or a reward alone. A bet without a placement has no known stake.
 * A record that names no bet counts so if all bets of its round are free and no record of the round names one;
 * beside a record that does, it is a bet that the ledger lacks. If the round has paid bets without a record and the
 * stake is theirs, it is not the stake of a free game: one record of 20 under the id of a free spin reports the paid
 * bet of 20 beside it.
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
  /**
   * Whether each paid bet of a round has the stake of its records, and all other bets together that of the other
   * records.
   */
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
