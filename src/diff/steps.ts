/** Providers that list a record for each step of a bet: one that runs, and a later one, under another `id`, that has ended. */

import type { LedgerBet, StoredRecord } from "../bet.ts";
import { type Instant, parseInstant } from "../clock.ts";
import { sumAmounts, ZERO } from "../money.ts";
import { isRunning } from "./sums.ts";

/**
 * Removes the records of steps that a later record of the same bet replaces (docs/mismatches.md#several-records-of-one-bet).
 * Records are steps of one bet if they have its betId, player, currency and stake, and some run while others have ended. The
 * one with the later updatedDate counts; of the same moment, the one that has ended. Several that run, or that have ended,
 * are parts of the bet, and are added up: OPEN, SETTLED, UNSETTLED, SETTLED count as the last SETTLED one.
 * @param bets of the player: records whose stakes add up to those of the bets that they name are parts, too
 * @returns the same objects, in the same order
 */
export function withoutEarlierSteps(
  records: readonly StoredRecord[],
  bets: readonly LedgerBet[],
): readonly StoredRecord[] {
  // Most providers list no running bets, or change the record itself.
  if (records.length < 2 || !records.some(isRunning)) return records;
  const stakes = new Map(bets.map(({ txnId, stake }) => [txnId, stake]));
  const earlier = new Set<StoredRecord>();
  const keyOf = ({ username, currency, betId }: StoredRecord) => JSON.stringify([username, currency, betId]);
  for (const ofBet of Map.groupBy(records, keyOf).values()) {
    const ids = new Set(ofBet.flatMap(({ betId, id }) => [betId, id]));
    const held = sumAmounts([...ids].flatMap((id) => stakes.get(id) ?? []));
    const areParts = !held.eq(ZERO) && held.eq(sumAmounts(ofBet.map(({ stake }) => stake)));
    // Records of a ticket, of which each has a bet of its own.
    const ownBets = new Set(
      ofBet.filter(({ betId, id }) => id !== betId && stakes.has(id)).map(({ id }) => id),
    );
    if (areParts || ownBets.size > 1) continue;
    for (const steps of Map.groupBy(ofBet, ({ stake }) => stake.toFixed()).values()) {
      const endedAt = lastUpdate(steps.filter((one) => !isRunning(one)));
      const ranAt = lastUpdate(steps.filter(isRunning));
      for (const one of steps)
        if (isRunning(one) ? updatedAt(one) <= endedAt : updatedAt(one) < ranAt) earlier.add(one);
    }
  }
  return earlier.size === 0 ? records : records.filter((record) => !earlier.has(record));
}

function updatedAt({ updatedDate }: StoredRecord): Instant {
  return parseInstant(updatedDate, "updatedDate");
}

function lastUpdate(records: readonly StoredRecord[]): Instant {
  return records.map(updatedAt).reduce((a, b) => Math.max(a, b), Number.NEGATIVE_INFINITY);
}
