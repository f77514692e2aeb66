/** Dates without a day of their own: when `closing.zone` changed, a longer day took their time (decision 154). */

import { readClosedBefore } from "../../closing/closed-day-store.ts";
import type { Query } from "../../db/client.ts";

/**
 * Why a date that lies before the next day to close, and is not closed, never will be.
 * @returns a sentence without its full stop
 */
export async function sayLeftOut(tx: Query, date: string): Promise<string> {
  const taker = await readClosedBefore(tx, date);
  return taker === null
    ? "the first closed day is later, and days are closed in order"
    : `it has no day of its own, because its time belongs to the closed day ${taker} (closing.zone changed)`;
}
