/**
 * What passes have returned that were given back to be tried again: where this process goes on with one, and nobody else
 * did meanwhile, the pass is one.
 */

import type { Sql } from "../db/client.ts";
import { beginReturned, type Returned } from "../sync/absence-store.ts";
import type { LeasedWindow } from "../sync/store.ts";

/** Of all passes together; beyond it the oldest are forgotten. */
const MOST_KEYS = 200_000;
const MOST_PASSES = 1_000;

interface Postponed {
  /** of its last page */
  readonly cursor: string;
  readonly returned: Returned;
}

/** by window, per database */
const postponed = new WeakMap<Sql, Map<number, Postponed>>();

/** @param cursor of the last page that was committed; null: none was */
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

/** What the pass that goes on with the window has returned so far. */
export function takeReturned(sql: Sql, window: LeasedWindow): Returned {
  const kept = postponed.get(sql);
  const found = kept?.get(window.id);
  kept?.delete(window.id);
  return found !== undefined && found.cursor === window.cursor ? found.returned : beginReturned(window);
}
