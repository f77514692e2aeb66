/** Which cursors the provider has thrown away: asking again with such a one helps nobody, beginning anew does. */

import type { BetQuery } from "./bet-query.ts";

export interface ExpiredCursors {
  /** Every cursor of the query is refused from now on, until its first page is asked for. */
  expire(query: BetQuery): void;
  /** Whether the query came with such a cursor; to be asked for each request. */
  isExpired(query: BetQuery): boolean;
}

/** What was thrown away longest ago is forgotten beyond so many. */
const MOST_QUERIES_KEPT = 10_000;

export function createExpiredCursors(): ExpiredCursors {
  const expired = new Set<string>();
  return {
    expire(query) {
      expired.add(keyOf(query));
      const [oldest] = expired;
      if (expired.size > MOST_QUERIES_KEPT && oldest !== undefined) expired.delete(oldest);
    },
    isExpired(query) {
      if (query.page === 1) expired.delete(keyOf(query));
      return expired.has(keyOf(query));
    },
  };
}

function keyOf({ productId, range }: BetQuery): string {
  return JSON.stringify([productId, range.from, range.to]);
}
