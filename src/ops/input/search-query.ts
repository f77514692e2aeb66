/** What is searched for, with the same name for pages, HTTP and the command line. */

import { z } from "zod";
import { FILTER, read, type Typed, usage } from "./fields.ts";

/** No stored id is longer. */
const LONGEST = 700;
export const SEARCH_QUERY = z.strictObject({
  q: FILTER.max(LONGEST).trim().default("").meta({
    description: "a whole id, a player, a player and a round, or the number of a mismatch or an incident",
  }),
});

export const EMPTY_SEARCH = "q is empty: type the id of a bet, a round, a transfer or a request, or a player";

/** @throws ReconError `usage` if it is empty or too long */
export function readSearch(query: Typed): string {
  const { q } = read(SEARCH_QUERY, query);
  if (q === "") throw usage(EMPTY_SEARCH, "q");
  return q.toWellFormed();
}
