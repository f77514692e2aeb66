/** Reads entries of an import: JSON lines, or CSV rows, with the columns of the ledger. Pure. */

import { isLosslessNumber, parse } from "lossless-json";
import { spell } from "../callback.ts";
import { describeError, ReconError } from "../errors.ts";
import { readExtendedJson } from "../extended-json.ts";
import { parseAmount } from "../money.ts";
import { type LineContent, NO_NAMES, type RowNames, toLedgerTime } from "./ledger-row.ts";
import { LEDGER_COLUMNS } from "./relation.ts";

type Fields = Readonly<Record<string, unknown>>;
type Column = (typeof LEDGER_COLUMNS)[number];

const COLUMN_NAMES: ReadonlySet<string> = new Set(LEDGER_COLUMNS.map(({ name }) => name));
const SHOWN_CHARACTERS = 60;
const MOST_NAMED = 20;

/** Reads a line of JSON. */
export function readJsonEntry(text: string): LineContent {
  let given: unknown;
  try {
    given = parseExactly(text);
  } catch (error) {
    const reason = error instanceof ReconError ? describeError(error) : "the line is not JSON";
    return { kind: "rejected", reason, names: NO_NAMES };
  }
  if (typeof given !== "object" || given === null || Array.isArray(given) || isLosslessNumber(given)) {
    return {
      kind: "rejected",
      reason: "the line must be a JSON object with the columns of the ledger",
      names: NO_NAMES,
    };
  }
  const fields = given as Fields;
  return readEntry(FROM_MONGODB.test(text) ? fieldsOf(fields) : fields, "json");
}

/** Finds Extended JSON of MongoDB. Most lines have none, and copying every line would cost time. */
const FROM_MONGODB = /"(?:\$|_id")/;

/** Reads Extended JSON. mongoexport adds `_id`, which becomes the entry_id if the line has none. */
function fieldsOf(given: Fields): Fields {
  const { _id: id, ...fields } = readExtendedJson(given) as Fields;
  return id !== undefined && fields["entry_id"] === undefined ? { entry_id: id, ...fields } : fields;
}

/** Reads a row of CSV. @param fields by the names of the header */
export function readCsvEntry(fields: Readonly<Record<string, string | null>>): LineContent {
  return readEntry(fields, "csv");
}

/**
 * Checks the header of a CSV file.
 * @throws ReconError `usage` that names the unknown and the missing columns, at most 20
 */
export function checkCsvHeader(header: readonly string[]): void {
  const unknown = header.filter((name, index) => !COLUMN_NAMES.has(name) || header.indexOf(name) < index);
  const missing = LEDGER_COLUMNS.filter(({ name, nullable }) => !nullable && !header.includes(name));
  const problems = [
    ...unknown.map((name) => {
      const shown = `"${name.slice(0, SHOWN_CHARACTERS)}"`;
      return COLUMN_NAMES.has(name) ? `the column ${shown} appears twice` : sayUnknown(name);
    }),
    ...missing.map(({ name }) => `the column ${name} is missing`),
  ];
  if (problems.length === 0) return;
  throw new ReconError(
    "usage",
    `the first line must name the columns of the ledger: ${problems.slice(0, MOST_NAMED).join("; ")}. The columns are ${[...COLUMN_NAMES].join(", ")}.`,
  );
}

function readEntry(fields: Fields, format: "json" | "csv"): LineContent {
  try {
    const unknown = Object.keys(fields).filter((name) => !COLUMN_NAMES.has(name));
    const missing = REQUIRED_NAMES.filter((name) => fields[name] === undefined);
    if (unknown.length > 0 || missing.length > 0) throw bad(sayWrongColumns(unknown, missing));
    return {
      kind: "rows",
      rows: [LEDGER_COLUMNS.map((column) => readValue(column, fields[column.name], format))],
    };
  } catch (error) {
    if (!(error instanceof ReconError)) throw error;
    return { kind: "rejected", reason: describeError(error), names: namesIn(fields) };
  }
}

const REQUIRED_NAMES = LEDGER_COLUMNS.filter(({ nullable }) => !nullable).map(({ name }) => name);

/** One sentence for all columns. If a missing column is only spelled differently ("entryId"), it is reported as unknown. */
function sayWrongColumns(unknown: readonly string[], missing: readonly string[]): string {
  const meant = new Set(unknown.map(meantBy));
  const left = missing.filter((name) => !meant.has(name));
  const shown = unknown.slice(0, MOST_NAMED).map(sayUnknown);
  if (unknown.length > MOST_NAMED) shown.push(`${unknown.length - MOST_NAMED} more unknown columns`);
  if (left.length > 0) {
    const all = [left.slice(0, -1).join(", "), left.at(-1)].filter((part) => part !== "").join(" and ");
    shown.push(`${all} ${left.length === 1 ? "is" : "are"} missing`);
  }
  return shown.join("; ");
}

function sayUnknown(name: string): string {
  const meant = meantBy(name);
  const hint = meant === undefined ? "" : ` (did you mean ${meant}?)`;
  return `unknown column "${name.slice(0, SHOWN_CHARACTERS)}"${hint}`;
}

/** The column with the same letters: "entryId" → entry_id. */
function meantBy(name: string): string | undefined {
  const lettersOf = (text: string) => text.toLowerCase().replace(/[^a-z]/g, "");
  return LEDGER_COLUMNS.find((column) => lettersOf(column.name) === lettersOf(name))?.name;
}

function readValue({ name, kind, nullable }: Column, given: unknown, format: "json" | "csv"): string | null {
  // Some programs quote every field, so an empty number comes as "".
  const value = format === "csv" && given === "" && kind !== "text" ? null : given;
  if (value === undefined || value === null) {
    if (nullable) return null;
    throw bad(`${name} is empty`);
  }
  if (kind === "text") {
    const read = readText(name, value);
    if (format === "csv" && SHORTENED_NUMBER.test(read))
      throw bad(
        `${name} is ${excerpt(read)}, a number that a spreadsheet has rounded: export the column as text`,
      );
    return WORD_COLUMNS.has(name) ? spell(read) : read;
  }
  if (kind === "numeric") return readAmount(name, value);
  if (kind === "boolean") return format === "csv" ? readCsvFlag(name, value) : readFlag(name, value);
  if (typeof value === "string") return toLedgerTime(value, name);
  throw bad(
    `${name} must be a date-time with an offset such as 2026-11-20T10:00:00Z, but is ${excerpt(value)}`,
  );
}

/** Excel writes the id 1230000000000001 as 1.23E+15, so different ids become the same text. */
const SHORTENED_NUMBER = /^\d(?:[.,]\d+)?E\+\d{2,}$/;

const WORD_COLUMNS: ReadonlySet<string> = new Set(["callback", "transaction_type"]);

/** PostgreSQL cannot store NUL or half of a surrogate pair. */
function readText(name: string, value: unknown): string {
  if (typeof value !== "string") throw bad(`${name} must be text, but is ${excerpt(value)}`);
  if (value.isWellFormed() && !value.includes("\0")) return value;
  throw bad(`${name} has a character that cannot be stored: ${excerpt(value)}`);
}

const PLAIN_AMOUNT = /^-?\d{1,40}(?:\.\d{1,40})?$/;

/** @returns the exact amount as text; a JSON number may come in another notation ("10" for 10.0) */
function readAmount(name: string, value: unknown): string {
  const isNumber = typeof value === "number" || isLosslessNumber(value);
  if (!isNumber && typeof value !== "string") {
    throw bad(`${name} must be a number or decimal text, but is ${excerpt(value)}`);
  }
  const text = String(value);
  if (!PLAIN_AMOUNT.test(text)) parseAmount(text, name);
  return text;
}

function readFlag(name: string, value: unknown): string {
  if (typeof value === "boolean") return String(value);
  throw bad(`${name} must be true or false, but is ${excerpt(value)}`);
}

const CSV_FLAGS: ReadonlyMap<unknown, string> = new Map([
  ["true", "true"],
  ["t", "true"],
  ["1", "true"],
  ["false", "false"],
  ["f", "false"],
  ["0", "false"],
]);

function readCsvFlag(name: string, value: unknown): string {
  const flag = CSV_FLAGS.get(typeof value === "string" ? value.toLowerCase() : value);
  if (flag === undefined) throw bad(`${name} must be true or false, but is ${excerpt(value)}`);
  return flag;
}

/**
 * Finds numbers that a float might not hold exactly, and escapes, which could hide a name. A match inside a text is
 * harmless: the line is only parsed more slowly.
 */
const NEEDS_EXACT = /\\|__proto__|:\s*-?(?:\d[\d.]{14}|\d[\d.]*[eE])/;
/** The end of a name. Without escapes, no text can contain a quote. */
const NAME_END = /"\s*:/g;

/**
 * Parses JSON without losing digits. The native parser is six times as fast, and exact if no number is long or has an
 * exponent. If a name appears twice, the exact parser reports it; the native one would keep the last value.
 */
function parseExactly(text: string): unknown {
  if (!NEEDS_EXACT.test(text)) {
    const value: unknown = JSON.parse(text);
    const names = typeof value === "object" && value !== null ? Object.keys(value) : [];
    if ((text.match(NAME_END)?.length ?? 0) === names.length) return value;
  }
  return parse(text, null, {
    onDuplicateKey: ({ key }) => {
      throw bad(`the column "${key.slice(0, SHOWN_CHARACTERS)}" appears twice, with different values`);
    },
  });
}

function namesIn(fields: Fields): RowNames {
  const nameOf = (column: string) => {
    const value = fields[column];
    return typeof value === "string" && value !== "" ? value : null;
  };
  return {
    entryId: nameOf("entry_id"),
    productId: nameOf("product_id"),
    username: nameOf("username"),
    txnId: nameOf("txn_id"),
    roundId: nameOf("round_id"),
  };
}

function excerpt(value: unknown): string {
  if (isLosslessNumber(value)) return value.toString().slice(0, SHOWN_CHARACTERS);
  const text = JSON.stringify(value);
  return text.length > SHOWN_CHARACTERS ? `${text.slice(0, SHOWN_CHARACTERS)}…` : text;
}

function bad(reason: string): ReconError {
  return new ReconError("bad-request", reason);
}
