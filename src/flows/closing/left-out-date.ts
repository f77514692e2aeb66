/** Dates without a day of their own: when `closing.zone` changed, a longer day took their time (decision 154). */

import { readClosedBefore, readClosedDays, readLastClosed } from "../../closing/closed-day-store.ts";
import { dayAfter } from "../../closing/day-bounds.ts";
import type { Query } from "../../db/client.ts";
import { ReconError } from "../../errors.ts";

/** Whether one of these open days can still be closed: any while none is closed, and then one after the first closed day. */
export async function isAnyClosable(tx: Query, open: readonly { readonly day: string }[]): Promise<boolean> {
  const [first] = await readClosedDays(tx, 0, 1);
  return open.some(({ day }) => first === undefined || day > first.day);
}

/**
 * Refuses the statement of such a date: it would be a second statement of closed time.
 * @param date of `zone`, and not closed
 * @throws ReconError `not-found` that names the closed day
 */
export async function checkNotLeftOut(tx: Query, date: string, zone: string): Promise<void> {
  const last = await readLastClosed(tx);
  if (last === null || date >= dayAfter(last, zone).day) return;
  const taker = await readClosedBefore(tx, date);
  if (taker === null) return;
  throw new ReconError("not-found", `there is no statement of ${date}: ${describe(taker)}; ask for ${taker}`);
}

/**
 * Why a date that lies before the next day to close, and is not closed, never will be.
 * @returns a sentence without its full stop
 */
export async function sayLeftOut(tx: Query, date: string): Promise<string> {
  const taker = await readClosedBefore(tx, date);
  return taker === null ? "the first closed day is later, and days are closed in order" : describe(taker);
}

function describe(taker: string): string {
  return `it has no day of its own, because its time belongs to the closed day ${taker} (closing.zone changed)`;
}
