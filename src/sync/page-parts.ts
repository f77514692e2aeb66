/** How a page of records becomes parameters of statements. */

/** To turn a page into parameters nothing else may wait for long; most pages are one part. */
const MOST_IN_PART = 2_000;
const MOST_TEXT_IN_PART = 256 * 1024;

/**
 * Several parts are in the order of their keys, so that two pages cannot deadlock.
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
export type ColumnArrays = readonly (string | readonly (string | null)[])[];

/** What JSON writes with a letter behind a backslash. */
const ESCAPED_LETTER = /\\[a-z]/;

/** A quoted quote or backslash PostgreSQL reads as JSON does, all but the brackets; the rest is left to the driver. */
export function toArray(values: readonly (string | null)[]): ColumnArrays[number] {
  const json = JSON.stringify(values);
  return ESCAPED_LETTER.test(json) ? values : `{${json.slice(1, -1)}}`;
}
