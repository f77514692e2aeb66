/** Providers that list a record for each step of a bet: one that runs, and a later one, under another `id`, that has ended. */

import type { LedgerBet, StoredRecord } from "../bet.ts";
import { type Instant, parseInstant } from "../clock.ts";
import { type Amount, sumAmounts, ZERO } from "../money.ts";
import { isRunning, lastEntryOf } from "./sums.ts";

/**
 * Removes the records of steps that a later record of the same bet replaces (docs/mismatches.md#several-records-of-one-bet).
 * Records are steps of one bet if they have its betId, player and currency, some run while others have ended, and their stakes
 * are equal, or the later ones alone have the ledger's stake. The one with the later updatedDate counts; of the same moment,
 * the one that has ended. Several that run, or that have ended, are parts of the bet, and are added up: OPEN, SETTLED,
 * UNSETTLED, SETTLED count as the last SETTLED one.
 * @param bets of the player: records whose stakes add up to those of the bets that they name are parts, too. A part that is
 * void while another runs counts as running until the ledger gives its stake back.
 * @returns the same objects but for such a part, in the same order
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
    // Records of a ticket, of which each is a bet of its own, even if the ledger lacks some of them.
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

/** The void parts of a bet that the ledger still has with the stake of all parts. */
function voidPartsOf(records: readonly StoredRecord[], held: readonly LedgerBet[]): readonly StoredRecord[] {
  if (!records.some(isRunning) || held.some(({ status }) => status !== "open")) return [];
  return records.filter(({ betStatus }) => betStatus === "VOID");
}

/**
 * Whether some records are void parts whose stake the ledger gave back by an adjustment, while the others run. The adjustment is
 * then nearer to the void part than to those that run: after an adjustment to half, a void step follows a running one of its time.
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

function stakeOf(records: readonly StoredRecord[]): Amount {
  return sumAmounts(records.map(({ stake }) => stake));
}

function updatedAt({ updatedDate }: StoredRecord): Instant {
  return parseInstant(updatedDate, "updatedDate");
}

function lastUpdate(records: readonly StoredRecord[]): Instant {
  return records.map(updatedAt).reduce((a, b) => Math.max(a, b), Number.NEGATIVE_INFINITY);
}
