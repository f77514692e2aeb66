/** Which windows fetch some time again before something is called a mismatch. */

import type { Instant } from "../clock.ts";
import { cutIntoPieces, hoursOf, type TimeRange } from "../window.ts";

/**
 * The hours that the ranges touch, each once however many ask for it, in windows of at most the learned length.
 * What lies ahead of `now` cannot be fetched.
 */
export function planConfirm(ranges: readonly TimeRange[], now: Instant, windowMs: number): TimeRange[] {
  const hours = new Map<Instant, TimeRange>();
  for (const hour of ranges.flatMap((range) => hoursOf(range, now))) hours.set(hour.from, hour);
  return [...hours.values()].sort((a, b) => a.from - b.from).flatMap((hour) => cutIntoPieces(hour, windowMs));
}
