/** How a page of records becomes parameters of statements. */

import type { ColumnArray } from "../db/column-array.ts";

/**
 * Limits of one part, so that turning it into parameters never blocks the process for long. Most pages are one part.
 */
const MOST_IN_PART = 2_000;
const MOST_TEXT_IN_PART = 256 * 1024;

/**
 * Several parts follow each other in key order, so that two pages cannot deadlock.
 * @param sizeOf the length of an item's longest text
 */
export function cutIntoParts<Item>(
  items: readonly Item[],
  keyOf: (item: Item) => string,
  sizeOf: (item: Item) => number,
): Item[][] {
  const whole = items.reduce((sum, item) => sum + sizeOf(item), 0);
  if (items.length === 0) return [];
  if (items.length <= MOST_IN_PART && whole <= MOST_TEXT_IN_PART) return [[...items]];
  const parts: Item[][] = [];
  let part: Item[] = [];
  let size = 0;
  for (const item of items.toSorted((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1))) {
    if (part.length === MOST_IN_PART || (part.length > 0 && size + sizeOf(item) > MOST_TEXT_IN_PART)) {
      parts.push(part);
      part = [];
      size = 0;
    }
    part.push(item);
    size += sizeOf(item);
  }
  return [...parts, part];
}

/** The columns of a page, as parameters. */
export type ColumnArrays = readonly ColumnArray[];
