/**
 * The records of postponed passes, in memory. Where the same process continues a pass, and no other process did so
 * meanwhile, the pass counts as one (decision 113).
 */

import type { Sql } from "../../db/client.ts";
import { beginReturned, type Returned } from "../../sync/absence-store.ts";
import type { LeasedWindow } from "../../sync/leased-window-store.ts";

/** The most records of all passes together; beyond that the oldest passes are forgotten. */
const MOST_KEYS = 200_000;
const MOST_PASSES = 1_000;

interface Postponed {
  /** the cursor of its last page */
  readonly cursor: string;
  readonly returned: Returned;
}

/** by window, per database */
const postponed = new WeakMap<Sql, Map<number, Postponed>>();

/** @param cursor the cursor of the last committed page; null: there is none */
export function keepReturned(
  sql: Sql,
  window: LeasedWindow,
  cursor: string | null,
  returned: Returned,
): void {
  if (cursor === null || !returned.isWhole) return;
  const kept = postponed.get(sql) ?? new Map<number, Postponed>();
  postponed.set(sql, kept);
  kept.set(window.id, { cursor, returned });
  let keys = [...kept.values()].reduce((sum, one) => sum + one.returned.keys.size, 0);
  for (const [id, one] of kept) {
    if (keys <= MOST_KEYS && kept.size <= MOST_PASSES) break;
    kept.delete(id);
    keys -= one.returned.keys.size;
  }
}

/** Takes the records of the pass that continues with the window. */
export function takeReturned(sql: Sql, window: LeasedWindow): Returned {
  const kept = postponed.get(sql);
  const found = kept?.get(window.id);
  kept?.delete(window.id);
  return found !== undefined && found.cursor === window.cursor ? found.returned : beginReturned(window);
}
