/** The sums of what entries moved, from the entries alone. */

import type { CallbackEntry } from "../callback.ts";
import type { Query } from "../db/client.ts";
import { type Amount, parseAmount } from "../money.ts";
import { readEntriesOfPlayers } from "./store.ts";

/** The entries of a product that are there, and those that were deleted. */
export interface MovedSums {
  /** by currency, of the entries that say what they moved */
  readonly moved: Map<string, Amount>;
  /** the number of deleted entries that did not say it */
  readonly unstated: number;
}

/** Reads all entries of the product. */
export async function sumMoved(tx: Query, productId: string): Promise<MovedSums> {
  const rows = await tx<{ currency: string; moved: string; unstated: number }[]>`
    select currency, coalesce(sum(moved), 0)::text as moved, coalesce(sum(unstated), 0)::bigint as unstated from (
      select currency, moved, 0 as unstated from callback_entries where product_id = ${productId}
      union all
      select currency, moved, unstated from moved_deleted where product_id = ${productId}
    ) found
    group by currency order by currency`;
  return {
    moved: new Map(rows.map(({ currency, moved }) => [currency, parseAmount(moved, "moved")])),
    unstated: rows.reduce((sum, row) => sum + row.unstated, 0),
  };
}

const PLAYERS_AT_ONCE = 50;
/** The most entries in memory at once. */
const MOST_ENTRIES = 200_000;

/** All entries of each player who has entries without `moved`; null: a player has too many. */
export async function* readPlayersWithoutMoved(
  tx: Query,
  productId: string,
): AsyncGenerator<CallbackEntry[] | null> {
  const rows = await tx<{ username: string }[]>`
    select distinct username from callback_entries where product_id = ${productId} and moved is null order by 1`;
  for (let from = 0; from < rows.length; from += PLAYERS_AT_ONCE) {
    const names = rows.slice(from, from + PLAYERS_AT_ONCE).map(({ username }) => username);
    const entries = await readEntriesOfPlayers(tx, productId, names, MOST_ENTRIES + 1);
    if (entries.length <= MOST_ENTRIES) {
      yield* Map.groupBy(entries, ({ username }) => username).values();
      continue;
    }
    for (const name of names) {
      const own = await readEntriesOfPlayers(tx, productId, [name], MOST_ENTRIES + 1);
      yield own.length > MOST_ENTRIES ? null : own;
    }
  }
}
