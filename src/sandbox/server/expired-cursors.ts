/** The queries whose cursors the provider has dropped. The client must begin such a query again at its first page. */

import type { BetQuery } from "./bet-query.ts";

export interface ExpiredCursors {
  /** Drops every cursor of the query, until a client asks for its first page. */
  expire(query: BetQuery): void;
  /** Whether the request has a dropped cursor. Must be called for every request. */
  isExpired(query: BetQuery): boolean;
}

/** The most remembered queries; the oldest is forgotten first. */
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
