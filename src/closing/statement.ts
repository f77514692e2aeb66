/** The statement that is stored for a closed day, and its hash. Pure. */

import { createHash } from "node:crypto";
import { formatInstant, type Instant } from "../clock.ts";
import type { AcceptedGap, Correction } from "../closed.ts";
import type { ReportRow } from "../report.ts";
import type { TimeRange } from "../window.ts";
import { dayAfter, dayAt, dayOf, type ZonedDay } from "./day-bounds.ts";

/** A closed day and its time. */
export type ClosedBounds = TimeRange & { readonly day: string };

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

/** What is stored as JSON. */
export interface StatementBody {
  readonly rows: readonly ReportRow[];
  /** the corrections that arrived on the day */
  readonly corrections: readonly Correction[];
  /** the time that is missing; absent: none */
  readonly acceptedGaps?: readonly AcceptedGap[];
  /** sha-256 of the manifest of the day's sealed files; undefined: the day has no files */
  readonly archive?: string | undefined;
}

/** Everything that the hash covers. */
export interface Statement extends ZonedDay, StatementBody {
  readonly number: number;
  readonly closedAt: Instant;
  readonly previousHash: string | null;
}

/** sha-256 of a statement in canonical JSON, in hexadecimal. */
export function hashOf({
  from,
  to,
  closedAt,
  day,
  zone,
  number,
  previousHash,
  rows,
  corrections,
  acceptedGaps,
  archive,
}: Statement): string {
  const times = { from: formatInstant(from), to: formatInstant(to), closedAt: formatInstant(closedAt) };
  const text = canonicalJson({
    day,
    zone,
    ...times,
    number,
    previousHash,
    ...bodyOf({ rows, corrections, acceptedGaps, archive }),
  });
  return createHash("sha256").update(text).digest("hex");
}

/** What is stored as JSON, and hashed. A statement without gaps and files has the hash that it always had. */
export function bodyOf({
  rows,
  corrections,
  acceptedGaps,
  archive,
}: { readonly [Key in keyof StatementBody]: StatementBody[Key] | undefined } & Pick<
  StatementBody,
  "rows" | "corrections"
>): StatementBody {
  return {
    rows,
    corrections,
    ...(acceptedGaps === undefined ? {} : { acceptedGaps }),
    ...(archive === undefined ? {} : { archive }),
  };
}

/** JSON whose text depends only on the value: keys in the order of their code units, no spaces. Amounts are text. */
export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(",")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const fields = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${fields.map(([key, one]) => `${JSON.stringify(key)}:${canonicalJson(one)}`).join(",")}}`;
}

/** Whether a stored statement does not have its own hash. */
export function isAltered(statement: Statement & { readonly hash: string }): boolean {
  return hashOf(statement) !== statement.hash;
}

/**
 * Compares a stored day with its hash and with the day before.
 * @param before null: it is the first day
 * @returns what is wrong, as a part of a sentence; null: nothing
 */
export function findFlaw(
  statement: Statement & { readonly hash: string },
  before: (Statement & { readonly hash: string }) | null,
): string | null {
  const number = (before?.number ?? 0) + 1;
  if (statement.number !== number) return `has number ${statement.number} instead of ${number}`;
  if (statement.previousHash !== (before?.hash ?? null)) return "does not name the hash of the day before";
  if (before !== null && statement.from !== before.to) return "does not begin where the day before ends";
  if (isAltered(statement)) return "was altered: its statement does not have its hash";
  return null;
}
