/** Which records of some neighbourhoods the provider no longer returns, and which it must be asked for once more. */

import type { LedgerBet, StoredRecord } from "../bet.ts";
import { type AbsentRecord, readAbsent } from "../diff/link-store.ts";
import { untilNow } from "../diff/ripeness.ts";
import { hoursOfRecord, wasFetchedTwice } from "../diff/vanished.ts";
import { mergeRanges, type TimeRange } from "../window.ts";
import { loadPasses } from "./await-fetch.ts";
import type { Scene } from "./diff-scene.ts";

/** The records of a neighbourhood, and its bets. */
interface BothSides {
  readonly records: readonly StoredRecord[];
  readonly bets: readonly LedgerBet[];
}

export interface Vanished {
  /** they count as absent */
  readonly vanished: readonly StoredRecord[];
  /** must be fetched once more before others do */
  readonly fetch: readonly TimeRange[];
}

/** A record counts as absent when two complete fetches in a row of all its hours have not returned it. */
export async function findVanished(
  scene: Scene,
  sides: readonly BothSides[],
): Promise<(one: BothSides) => Vanished> {
  const all = sides.flatMap((one) => one.records);
  const absent = new Map<string, AbsentRecord>();
  for (const one of await readAbsent(scene.tx, scene.product.productId, all)) absent.set(keyOf(one), one);
  const missedOf = ({ records, bets }: BothSides) =>
    records.flatMap((record) => {
      const missed = absent.get(keyOf(record));
      if (missed === undefined) return [];
      const ranges = untilNow(mergeRanges(hoursOfRecord(record, bets, scene.graces)), scene.now);
      return [{ record, ranges, since: missed.missedSince }];
    });
  if (absent.size === 0) return () => ({ vanished: [], fetch: [] });
  const passes = await loadPasses(scene, sides.flatMap(missedOf));
  return (one) => {
    const missed = missedOf(one).map((of) => ({
      ...of,
      isGone: wasFetchedTwice(
        of.ranges,
        passes.filter(({ startedAt }) => startedAt >= of.since),
      ),
    }));
    return {
      vanished: missed.filter(({ isGone }) => isGone).map(({ record }) => record),
      fetch: missed.filter(({ isGone }) => !isGone).flatMap(({ ranges }) => ranges),
    };
  };
}

function keyOf({ username, betId, id }: Pick<AbsentRecord, "username" | "betId" | "id">): string {
  return JSON.stringify([username, betId, id]);
}
