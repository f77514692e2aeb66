/** Rows that an import or the tap writes to `callback_entries`. */

import { formatInstant, type Instant, parseInstant } from "../clock.ts";
import { LEDGER_COLUMNS } from "./relation.ts";

/** The values of `LEDGER_COLUMNS`, in that order, as PostgreSQL reads them from text. */
export type LedgerRow = readonly (string | null)[];

/** The ids in a rejected line, as far as they can be read. Their bets are not reported as missing in the ledger. */
export interface RowNames {
  readonly entryId: string | null;
  readonly productId: string | null;
  readonly username: string | null;
  readonly txnId: string | null;
  readonly roundId: string | null;
}

export const NO_NAMES: RowNames = {
  entryId: null,
  productId: null,
  username: null,
  txnId: null,
  roundId: null,
};

/** One line of an import, after reading it. */
export type ReadLine = {
  /** counted from 1 */
  readonly line: number;
  /** the text to keep if the line is rejected, without session tokens */
  readonly raw: string;
} & LineContent;

export type LineContent =
  | { readonly kind: "rows"; readonly rows: readonly LedgerRow[] }
  /** a callback that is not an entry */
  | { readonly kind: "skipped" }
  /** `reason` names field and value */
  | { readonly kind: "rejected"; readonly reason: string; readonly names: RowNames };

/** @param values by column; a column that is missing is null */
export function toLedgerRow(values: Readonly<Partial<Record<string, string | null>>>): LedgerRow {
  return LEDGER_COLUMNS.map(({ name }) => values[name] ?? null);
}

const POSITIONS: ReadonlyMap<string, number> = new Map(
  LEDGER_COLUMNS.map(({ name }, position) => [name, position]),
);

/** @returns the value of a column of `LEDGER_COLUMNS` */
export function columnOf(row: LedgerRow, column: string): string | null {
  return row[POSITIONS.get(column) ?? -1] ?? null;
}

export function namesOfRow(row: LedgerRow): RowNames {
  return {
    entryId: columnOf(row, "entry_id"),
    productId: columnOf(row, "product_id"),
    username: columnOf(row, "username"),
    txnId: columnOf(row, "txn_id"),
    roundId: columnOf(row, "round_id"),
  };
}

export interface LedgerTime {
  readonly instant: Instant;
  /** with the digits below a millisecond, which PostgreSQL keeps */
  readonly text: string;
}

/** The first instant that PostgreSQL reads in ISO 8601. */
const FIRST_INSTANT = Date.parse("0001-01-01T00:00:00Z");
const BELOW_MS = /\.\d{3}(\d{1,3})/;

/** A time as most programs write it, on a day (1 to 28) that every month has: no further check is necessary. */
const PLAIN_TIME =
  /^20[1-9]\d-(?:0[1-9]|1[0-2])-(?:0[1-9]|1\d|2[0-8])T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d{1,6})?Z$/;

/** @returns a time of a row as PostgreSQL reads it, to the microsecond @throws ReconError `bad-time` */
export function toLedgerTime(text: string, field: string): string {
  return PLAIN_TIME.test(text) ? text : readLedgerTime(text, field).text;
}

/**
 * Reads a time of a row.
 * @param field names the time in the error
 * @throws ReconError `bad-time`
 */
export function readLedgerTime(text: string, field: string): LedgerTime {
  const instant = parseInstant(text, field);
  const utc = formatInstant(Math.max(instant, FIRST_INSTANT));
  const below = BELOW_MS.exec(text)?.[1] ?? "";
  return { instant, text: `${utc.slice(0, -1)}${below}Z` };
}
