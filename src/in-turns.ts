/** Long loops in pieces, so other work of the process gets its turn between them. */

import { setImmediate as nextTurn } from "node:timers/promises";

/** How many bets, rounds or lines to handle in one piece: a few milliseconds. */
const AT_ONCE = 50;

export async function* inTurns<Item>(items: readonly Item[]): AsyncGenerator<Item> {
  for (const [index, item] of items.entries()) {
    if (index % AT_ONCE === AT_ONCE - 1) await nextTurn();
    yield item;
  }
}

/** As `items.map(map)`. */
export async function mapInTurns<Item, Result>(
  items: readonly Item[],
  map: (item: Item) => Result,
): Promise<Result[]> {
  const results: Result[] = [];
  for await (const item of inTurns(items)) results.push(map(item));
  return results;
}
