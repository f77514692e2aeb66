/** When a record that the provider had once counts as gone: two complete fetches in a row did not return it. */

import { type LedgerBet, realRound, type StoredRecord } from "../bet.ts";
import { parseInstant } from "../clock.ts";
import { subtractRanges, type TimeRange } from "../window.ts";
import { fetchable, type Graces, type Pass } from "./ripeness.ts";

/**
 * Where the provider could list a record, whichever of its times it goes by: around the record's own dates, and all the
 * time of the bets that share an id or the round with it.
 */
export function hoursOfRecord(record: StoredRecord, bets: readonly LedgerBet[], graces: Graces): TimeRange[] {
  const round = realRound(record.roundId);
  const around = [record.accountingDate, record.updatedDate].map((date) => {
    const at = parseInstant(date, "date");
    return { from: at - graces.overlapMs, to: at + graces.overlapMs };
  });
  const ofBets = bets
    .filter(
      (bet) =>
        bet.txnId === record.betId || bet.txnId === record.id || (round !== null && bet.roundId === round),
    )
    .map((bet) => ({ from: bet.firstEntryAt - graces.overlapMs, to: bet.lastEntryAt + graces.overlapMs }));
  return fetchable([...around, ...ofBets], graces);
}

/**
 * Whether some time was fetched whole twice, the second time after the first had ended.
 * @param passes those that began when the record was first missed, or later
 */
export function wasFetchedTwice(ranges: readonly TimeRange[], passes: readonly Pass[]): boolean {
  const inOrder = [...passes].sort((a, b) => a.fetchedAt - b.fetchedAt);
  const first = inOrder.findIndex((_, index) => areCovered(ranges, inOrder.slice(0, index + 1)));
  const firstEndedAt = inOrder[first]?.fetchedAt;
  if (firstEndedAt === undefined) return false;
  return areCovered(
    ranges,
    passes.filter(({ startedAt, fetchedAt }) => startedAt >= firstEndedAt && fetchedAt !== firstEndedAt),
  );
}

function areCovered(ranges: readonly TimeRange[], passes: readonly Pass[]): boolean {
  return ranges.every((range) => subtractRanges(range, passes).length === 0);
}
