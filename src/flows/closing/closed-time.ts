/** Which date a moment has, in closed time and after it. */

import type { ClosedBet } from "../../closing/changed-bets.ts";
import type { ClosedBounds } from "../../closing/closed-day-store.ts";
import { dayAfter, dayAt } from "../../closing/day-bounds.ts";
import type { Counted } from "../../report.ts";
import type { ComparisonContext } from "../compare/comparison-context.ts";

/** In every zone a date with a date after it: providers write the last date of all for "never". */
const LATEST_DAY = Date.UTC(9999, 11, 30);

/** The end of the closed time; 0: nothing is closed. */
export function endOf(days: readonly ClosedBounds[]): number {
  return days.at(-1)?.to ?? 0;
}

/** The date of a moment that is not in closed time. */
export function openDayAt(at: number, days: readonly ClosedBounds[], { context }: ComparisonContext): string {
  const { zone } = context.config.closing;
  const last = days.at(-1);
  const next = last === undefined || at < last.to ? null : dayAfter({ ...last, zone }, zone);
  return next !== null && at < next.to ? next.day : dayAt(Math.min(at, LATEST_DAY), zone).day;
}

/** The closed day on which something counts. */
export function onDay<One extends Counted>(
  one: One,
  days: readonly ClosedBounds[],
): One & Pick<ClosedBet, "day"> {
  let [low, high] = [0, days.length - 1];
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if ((days[middle]?.from ?? 0) <= one.at) low = middle;
    else high = middle - 1;
  }
  return { ...one, day: days[low]?.day ?? "" };
}
