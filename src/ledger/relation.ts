/** The columns of the ledger, and the check that the operator's own relation has them. */

type Kind = "text" | "numeric" | "boolean" | "timestamptz";

interface Column {
  readonly name: string;
  readonly kind: Kind;
  readonly nullable: boolean;
  /** a relation may lack the column; its value is then null */
  readonly mayBeMissing?: true;
}

const text = (name: string): Column => ({ name, kind: "text", nullable: false });
const optional = (column: Column): Column => ({ ...column, nullable: true });
const numeric = (name: string): Column => ({ name, kind: "numeric", nullable: true });
const flag = (name: string): Column => ({ name, kind: "boolean", nullable: true, mayBeMissing: true });
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
  flag("single_state"),
  flag("end_round"),
];

/** A column as the database describes it. */
export interface FoundColumn {
  /** as in SQL: "character varying(64)" */
  readonly type: string;
  /** as pg_type names it: "varchar", "float8"; for a domain, the type that the domain is based on */
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

/** @returns one line for each column that is missing or has a wrong type; empty: the relation can be used */
export function findColumnProblems(found: ReadonlyMap<string, FoundColumn>): string[] {
  return LEDGER_COLUMNS.flatMap(({ name, kind, mayBeMissing }) => {
    const column = found.get(name);
    if (column === undefined && mayBeMissing) return [];
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
    return ": a floating point number cannot hold every amount exactly";
  }
  if (kind === "numeric" && baseType === "money")
    return ": the text of a money value depends on the locale; cast it to numeric";
  if (kind === "timestamptz" && baseType === "timestamp") {
    return `: without a time zone the instant is unknown. Find out the zone of the clock that writes the column, and name it in the view: ${name} at time zone '…'`;
  }
  if (kind === "timestamptz" && ["int8", "numeric", "float8"].includes(baseType)) {
    return "; convert milliseconds since 1970 with to_timestamp(ms / 1000.0)";
  }
  if (kind === "text" && /^int[248]$/.test(baseType)) return "; cast it with ::text";
  return "";
}
