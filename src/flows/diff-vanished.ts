/** Which records of some neighbourhoods the provider no longer returns, and which it must be asked for once more. */

import type { LedgerBet, StoredRecord } from "../bet.ts";
import type { Instant } from "../clock.ts";
import { type AbsentRecord, readAbsent } from "../diff/link-store.ts";
import type { Neighbourhood } from "../diff/neighbourhood.ts";
import { hoursOfRecord, wasFetchedTwice } from "../diff/vanished.ts";
import { readPasses } from "../sync/store.ts";
import { mergeRanges } from "../window.ts";
import { fetchAgain } from "./await-fetch.ts";
import type { Scene } from "./diff-scene.ts";

export interface Vanished {
  /** they count as absent */
  readonly vanished: readonly StoredRecord[];
  /** null: nothing of it is waited for */
  readonly lookAgainAt: Instant | null;
  readonly wantsFetch: boolean;
}

const NONE: Vanished = { vanished: [], lookAgainAt: null, wantsFetch: false };

export async function findVanished(scene: Scene, neighbourhoods: readonly Neighbourhood[]) {
  const records = neighbourhoods.flatMap((one) => one.records);
  const absent = new Map<string, AbsentRecord>();
  for (const one of await readAbsent(scene.tx, scene.product.productId, records)) absent.set(keyOf(one), one);
  return {
    of: async ({ records }: Neighbourhood, bets: readonly LedgerBet[]): Promise<Vanished> => {
      let { vanished, lookAgainAt, wantsFetch } = NONE;
      for (const record of absent.size === 0 ? [] : records) {
        const missing = absent.get(keyOf(record));
        if (missing === undefined) continue;
        const wait = await awaitTwoFetches(scene, record, bets, missing.missedSince);
        if (wait === null) vanished = [...vanished, record];
        else ({ until: lookAgainAt, wantsFetch } = wait);
      }
      return { vanished, lookAgainAt, wantsFetch };
    },
  };
}

/** @returns null where two complete fetches in a row have not returned it */
async function awaitTwoFetches(
  scene: Scene,
  record: StoredRecord,
  bets: readonly LedgerBet[],
  missedSince: Instant,
) {
  const { tx, product, now, graces } = scene;
  const ranges = mergeRanges(hoursOfRecord(record, bets, graces))
    .map(({ from, to }) => ({ from, to: Math.min(to, now) }))
    .filter(({ from, to }) => from < to);
  const passes = [];
  for (const range of ranges) passes.push(...(await readPasses(tx, product.productId, range, missedSince)));
  return wasFetchedTwice(ranges, passes) ? null : await fetchAgain(scene, ranges);
}

function keyOf({ username, betId, id }: Pick<AbsentRecord, "username" | "betId" | "id">): string {
  return JSON.stringify([username, betId, id]);
}
