/** Which day's statement has a moment: that of its closed day, otherwise that of its day in `closing.zone`. Pure. */

import type { Instant } from "../clock.ts";
import type { TimeRange } from "../window.ts";
import type { ClosedBounds } from "./closed-day-store.ts";
import { dayAfter, dayAt, dayOf } from "./day-bounds.ts";

/** Dates outside, such as 9999-12-31 for "no date", are in no statement. */
const DATED: TimeRange = { from: Date.parse("0001-01-03T00:00:00Z"), to: Date.parse("9999-12-29T00:00:00Z") };

export class StatementDays {
  readonly #zone: string;
  /** the beginning of the first closed day, and the end of the day to close next; null: no day is closed */
  readonly #closed: TimeRange | null;
  /** the closed days, the day to close next, and days that were found: the moments of a list lie on few days */
  readonly #known: ClosedBounds[];

  /** @param closed all closed days, in their order @param zone `closing.zone` */
  constructor(closed: readonly ClosedBounds[], zone: string) {
    const [first, last] = [closed[0], closed.at(-1)];
    const next = last === undefined ? null : dayAfter({ ...last, zone }, zone);
    this.#zone = zone;
    this.#closed = first === undefined || next === null ? null : { from: first.from, to: next.to };
    this.#known = next === null ? [] : [...closed, next];
  }

  /** @returns YYYY-MM-DD; null: no statement has this moment */
  dayAt(at: Instant): string | null {
    const known = this.#known.find(({ from, to }) => from <= at && at < to);
    if (known !== undefined) return known.day;
    if (at < DATED.from || at >= DATED.to) return null;
    const { day } = dayAt(at, this.#zone);
    const time = this.timeOf(day);
    // A day that was closed in another zone has this date, and begins later.
    if (time === null || at < time.from || at >= time.to) return null;
    this.#known.push({ day, ...time });
    return day;
  }

  /** The time of a day; null: there is no such date, or its time belongs to a closed day of another date. */
  timeOf(day: string): TimeRange | null {
    const known = this.#known.find((one) => one.day === day);
    if (known !== undefined) return { from: known.from, to: known.to };
    const own = dayOf(day, this.#zone);
    if (own === null || this.#closed === null) return own;
    const { from, to } = this.#closed;
    const left =
      own.from < from
        ? { from: own.from, to: Math.min(own.to, from) }
        : { from: Math.max(own.from, to), to: own.to };
    return left.from < left.to ? left : null;
  }
}
