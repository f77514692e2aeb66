/** What a relation of the operator's own must look like to be a ledger, and how its rows become entries. */

import { CALLBACKS, type CallbackEntry, type CallbackName } from "../callback.ts";
import type { Instant } from "../clock.ts";
import { describeError } from "../errors.ts";
import { type Amount, parseAmount } from "../money.ts";

type Kind = "text" | "numeric" | "boolean" | "timestamptz";

interface Column {
  readonly name: string;
  readonly kind: Kind;
  readonly nullable: boolean;
}

const text = (name: string): Column => ({ name, kind: "text", nullable: false });
const optional = (column: Column): Column => ({ ...column, nullable: true });
const numeric = (name: string): Column => ({ name, kind: "numeric", nullable: true });
const time = (name: string): Column => ({ name, kind: "timestamptz", nullable: false });

/** The columns of the ledger. */
export const LEDGER_COLUMNS: readonly Column[] = [
  text("entry_id"),
  text("callback"),
  text("request_id"),
  text("product_id"),
  text("username"),
  text("currency"),
  text("txn_id"),
  optional(text("round_id")),
  text("status"),
  numeric("bet_amount"),
  numeric("payout_amount"),
  optional(text("transaction_type")),
  { name: "skip_balance_update", kind: "boolean", nullable: false },
  numeric("moved"),
  numeric("balance_before"),
  numeric("balance_after"),
  time("occurred_at"),
  time("received_at"),
];

/** A column as the database describes it. */
export interface FoundColumn {
  /** as people write it: "character varying(64)" */
  readonly type: string;
  /** what it is made of, where the type is a domain: "varchar", "float8"; as pg_type names it */
  readonly baseType: string;
  readonly isEnum: boolean;
}

const ACCEPTED: Readonly<Record<Kind, ReadonlySet<string>>> = {
  text: new Set(["text", "varchar", "bpchar", "name", "citext", "uuid"]),
  numeric: new Set(["numeric", "int2", "int4", "int8"]),
  boolean: new Set(["bool"]),
  timestamptz: new Set(["timestamptz"]),
};
const WANTED: Readonly<Record<Kind, string>> = {
  text: "text",
  numeric: "numeric",
  boolean: "boolean",
  timestamptz: "timestamp with time zone",
};

/** Every column that is missing or has another type, each as one line; empty: the relation is a ledger. */
export function findColumnProblems(found: ReadonlyMap<string, FoundColumn>): string[] {
  return LEDGER_COLUMNS.flatMap(({ name, kind }) => {
    const column = found.get(name);
    if (column === undefined) return [`the column ${name} is missing; it must be ${WANTED[kind]}`];
    const fits = ACCEPTED[kind].has(column.baseType) || (kind === "text" && column.isEnum);
    if (fits) return [];
    return [
      `the column ${name} is ${column.type}, but must be ${WANTED[kind]}${whyNot(name, kind, column.baseType)}`,
    ];
  });
}

function whyNot(name: string, kind: Kind, baseType: string): string {
  if (kind === "numeric" && /^float[48]$/.test(baseType)) {
    return ": a floating point number does not hold every amount exactly";
  }
  if (kind === "numeric" && baseType === "money") return ": money is shown by the locale; cast it to numeric";
  if (kind === "timestamptz" && baseType === "timestamp") {
    return `: without a zone it is not known which moment is meant; say it, as in ${name} at time zone 'UTC'`;
  }
  if (kind === "timestamptz" && ["int8", "numeric", "float8"].includes(baseType)) {
    return "; milliseconds since 1970 become one by to_timestamp(ms / 1000.0)";
  }
  if (kind === "text" && /^int[248]$/.test(baseType)) return "; cast it by ::text";
  return "";
}

/** A row of the relation, each column as PostgreSQL writes it; the two times also in whole milliseconds. */
export type RelationRow = Readonly<Record<string, string | null>>;

/** A row that cannot be used, kept for people. */
export interface RejectedEntry {
  readonly entryId: string | null;
  readonly productId: string | null;
  readonly username: string | null;
  readonly txnId: string | null;
  readonly roundId: string | null;
  /** the row as JSON text */
  readonly raw: string;
  /** names the column and the value */
  readonly reason: string;
}

export type ReadRow = { readonly entry: CallbackEntry } | { readonly rejected: RejectedEntry };

/** Makes an entry of a row, or says why it cannot be used. */
export function readRelationRow(row: RelationRow): ReadRow {
  try {
    return { entry: toEntry(row) };
  } catch (error) {
    const column = (name: string) => row[name] ?? null;
    const columns = LEDGER_COLUMNS.map(({ name }) => [name, column(name)]);
    const rejected: RejectedEntry = {
      entryId: column("entry_id"),
      productId: column("product_id"),
      username: column("username"),
      txnId: column("txn_id"),
      roundId: column("round_id"),
      raw: JSON.stringify(Object.fromEntries(columns)),
      reason: describeError(error),
    };
    return { rejected };
  }
}

function toEntry(row: RelationRow): CallbackEntry {
  for (const { name, nullable } of LEDGER_COLUMNS) {
    if (!nullable && (row[name] ?? null) === null) throw new Error(`${name} is null`);
  }
  return {
    entryId: readKey(row, "entry_id"),
    callback: readCallback(row),
    requestId: row["request_id"] ?? "",
    productId: readKey(row, "product_id"),
    username: readKey(row, "username"),
    currency: row["currency"] ?? "",
    txnId: readKey(row, "txn_id"),
    roundId: row["round_id"] == null ? null : readKey(row, "round_id"),
    status: row["status"] ?? "",
    betAmount: readAmount(row, "bet_amount"),
    payoutAmount: readAmount(row, "payout_amount"),
    transactionType: row["transaction_type"] ?? null,
    skipBalanceUpdate: row["skip_balance_update"] === "true",
    moved: readAmount(row, "moved"),
    balanceBefore: readAmount(row, "balance_before"),
    balanceAfter: readAmount(row, "balance_after"),
    occurredAt: readTime(row, "occurred_at"),
    receivedAt: readTime(row, "received_at"),
  };
}

/** Three of them share an index, whose entries are at most 2,704 bytes long. */
const LONGEST_KEY_BYTES = 600;

function readKey(row: RelationRow, name: string): string {
  const key = row[name] ?? "";
  if (Buffer.byteLength(key) <= LONGEST_KEY_BYTES) return key;
  throw new Error(`${name} is longer than ${LONGEST_KEY_BYTES} bytes: "${key.slice(0, 60)}…"`);
}

function readCallback(row: RelationRow): CallbackName {
  const found = CALLBACKS.find((callback) => callback === row["callback"]);
  if (found !== undefined) return found;
  const shown = (row["callback"] ?? "").slice(0, 60);
  throw new Error(`callback is "${shown}", which is none of ${CALLBACKS.join(", ")}`);
}

function readAmount(row: RelationRow, name: string): Amount | null {
  const given = row[name] ?? null;
  return given === null ? null : parseAmount(given, name);
}

/** Years of four digits: what lies beyond them cannot be written as ISO 8601 text. */
const FIRST_MS = Date.parse("0001-01-01T00:00:00Z");
const LAST_MS = Date.parse("9999-12-31T23:59:59.999Z");

function readTime(row: RelationRow, name: string): Instant {
  const instant = Number(row[`${name}_ms`]);
  if (instant >= FIRST_MS && instant <= LAST_MS) return instant;
  throw new Error(`${name} is ${row[name]}, which is no moment between the years 1 and 9999`);
}
