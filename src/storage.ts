/** The space that the database takes, how fast it grows, and how long the disk lasts. Pure. */

import { showBytes } from "./bytes.ts";
import { formatInstant, type Instant, parseInstant, showDuration } from "./clock.ts";

/** The JSON of `storage` in a status. An unknown value is null. */
export interface Storage {
  readonly measuredAt: string;
  /** of the whole database */
  readonly bytes: number;
  /** the growth of the last days; null: no whole day was measured yet */
  readonly bytesPerDay: number | null;
  /** what the database may take (`DATABASE_DISK`); null: unknown */
  readonly diskBytes: number | null;
  /** the days until the disk is full; null: unknown, or the database does not grow */
  readonly daysLeft: number | null;
  /** each with its indexes and long values; the largest first */
  readonly tables: readonly {
    readonly table: string;
    readonly bytes: number;
    /** rows that may be deleted and were not visited yet, counted up to 100,000; null: no setting deletes rows of this table */
    readonly due: number | null;
  }[];
}

/** The last measurement, as it is stored. */
export interface StorageFacts extends Pick<Storage, "bytes" | "diskBytes" | "tables"> {
  readonly measuredAt: Instant;
  /** the first measurement of the days from which the growth is computed; null: there is none yet */
  readonly before: { readonly at: Instant; readonly bytes: number } | null;
}

/** Counting the due rows of a table stops here. */
export const MOST_DUE = 100_000;

const DAY_MS = 86_400_000;

export function judgeStorage({ measuredAt, bytes, diskBytes, tables, before }: StorageFacts): Storage {
  const days = before === null ? 0 : (measuredAt - before.at) / DAY_MS;
  const bytesPerDay = before === null || days < 1 ? null : Math.round((bytes - before.bytes) / days);
  const free = diskBytes === null ? null : Math.max(0, diskBytes - bytes);
  const daysLeft =
    free === null || bytesPerDay === null || bytesPerDay <= 0 ? null : Math.floor(free / bytesPerDay);
  return { measuredAt: formatInstant(measuredAt), bytes, bytesPerDay, diskBytes, daysLeft, tables };
}

/** Whether the database takes all that it may take. False if unknown. */
export function isFull({ diskBytes, bytes }: Storage): boolean {
  return diskBytes !== null && bytes >= diskBytes;
}

/** "grows by 410.0 MB a day" */
export function sayGrowth({ bytesPerDay }: Storage): string {
  if (bytesPerDay === null) return "its growth is known after a day";
  return bytesPerDay <= 0 ? "does not grow" : `grows by ${showBytes(bytesPerDay)} a day`;
}

/** How long the disk lasts, or which setting is missing to know it. */
export function sayDisk({ bytes, bytesPerDay, diskBytes, daysLeft }: Storage): string {
  if (diskBytes === null) return "days of disk unknown: set DATABASE_DISK";
  // PostgreSQL does not say how large its disk is.
  const of = `of the ${showBytes(diskBytes)} that DATABASE_DISK allows`;
  if (bytes >= diskBytes) return `no space left ${of}`;
  if (daysLeft !== null) return `${daysLeft} days of disk left at this rate, ${of}`;
  const left = `${showBytes(diskBytes - bytes)} left ${of}`;
  return bytesPerDay === null ? left : `${left}, and it does not grow`;
}

/** "measured 4 min ago" */
export function sayMeasured({ measuredAt }: Storage, now: Instant): string {
  return `measured ${showDuration(Math.max(0, now - parseInstant(measuredAt, "measuredAt")))} ago`;
}

/** "1,200", or "over 100,000" if the count stopped there */
export function sayDue(due: number): string {
  return due >= MOST_DUE ? `over ${MOST_DUE.toLocaleString("en")}` : due.toLocaleString("en");
}

/** The rows of all tables that are due for deletion. Settings may have changed since they were counted. */
export function sayAllDue({ tables }: Storage): string {
  const counts = tables.flatMap(({ due }) => due ?? []);
  if (counts.length === 0) return "no setting deleted rows by age when this was measured";
  const sum = counts.reduce((all, one) => all + one, 0);
  const over = counts.some((one) => one >= MOST_DUE) ? "over " : "";
  return `${over}${sum.toLocaleString("en")} rows due for deletion`;
}

/** Smaller tables are shown together. */
const SMALL_BYTES = 1e6;

/** The tables that get a line of their own, and the size of all others together. */
export function largeTables({ tables }: Storage): { large: Storage["tables"]; otherBytes: number } {
  const large = tables.filter(({ bytes, due }) => bytes >= SMALL_BYTES || (due ?? 0) > 0);
  const otherBytes = tables.filter((one) => !large.includes(one)).reduce((sum, { bytes }) => sum + bytes, 0);
  return { large, otherBytes };
}
