/** Reads filters and notes of transfers as typed, with the same names for HTTP and the command line. */

import type { Config } from "../../config-file.ts";
import type { TransferChoice } from "../../flows/read-transfer.ts";
import { isTransferStatus, TRANSFER_STATUSES } from "../../transfer.ts";
import { VERIFY_KINDS, type VerifyKind } from "../../verify/row-store.ts";
import type { TransferFilter } from "../../verify/store.ts";
import { type PageQuery, readPage } from "./page-query.ts";
import { checkFields, usage } from "./range-query.ts";

/** The filters of transfers; absent ones do not filter. */
export interface TransferQuery extends PageQuery {
  /** several separated by commas */
  readonly status?: string | undefined;
  /** transfer, top-up; without it transfers */
  readonly kind?: string | undefined;
  readonly product?: string | undefined;
  readonly username?: string | undefined;
}

const CHOICES = ["kind", "product", "username"];
const FILTERS: readonly string[] = ["status", ...CHOICES, "limit", "after"];

/**
 * The filters of a query string.
 * @throws ReconError `usage` that names an unknown filter, or one that is not a single text
 */
export function transferQueryOf(
  query: Readonly<Record<string, unknown>>,
  fields: readonly string[] = FILTERS,
): TransferQuery {
  for (const [name, value] of Object.entries(checkFields(query, fields))) {
    if (typeof value !== "string") throw usage(`${name} stands more than once`);
    if (value.includes("\0")) throw usage(`${name} holds a character that nothing stored can hold`);
  }
  return query;
}

/**
 * Turns typed filters into the filter of the list.
 * @throws ReconError `usage` that names the filter and its value
 */
export function readTransferQuery(query: TransferQuery, { products }: Config): TransferFilter {
  const statuses = query.status === undefined ? [] : query.status.split(",");
  for (const status of statuses) {
    if (!isTransferStatus(status)) throw wrong("status", status, TRANSFER_STATUSES);
  }
  if (query.product !== undefined && !products.some(({ productId }) => productId === query.product)) {
    const known = products.map(({ productId }) => productId);
    throw wrong("product", query.product, known);
  }
  return {
    kind: readKind(query.kind) ?? "transfer",
    statuses: statuses.filter(isTransferStatus),
    productId: query.product ?? null,
    username: query.username ?? null,
    ...readPage(query),
  };
}

/** Reads a ref, with the fields that distinguish several top-ups of one ref. @throws ReconError `usage` */
export function readTransferChoice(ref: string, query: Readonly<Record<string, unknown>>): TransferChoice {
  const { kind, product, username } = transferQueryOf(query, CHOICES);
  // No stored text contains such a character, and PostgreSQL refuses to search for it.
  const known = ref.includes("\0") ? "" : ref.toWellFormed();
  return { ref: known, kind: readKind(kind), productId: product ?? null, username: username ?? null };
}

export const LONGEST_NOTE = 2_000;

/** @throws ReconError `usage` where the note is not text, empty, or too long */
export function readNote(note: unknown): string {
  if (note === undefined) throw usage("note is missing: say what you found out");
  if (typeof note !== "string")
    throw usage(`note must be a text, but is ${JSON.stringify(note).slice(0, 60)}`);
  if (note.trim() === "") throw usage("note is empty: say what you found out");
  if (note.length > LONGEST_NOTE)
    throw usage(`note has ${note.length} characters, more than ${LONGEST_NOTE}`);
  if (note.includes("\0")) throw usage("note holds a character that cannot be stored");
  return note.toWellFormed();
}

function readKind(kind: string | undefined): VerifyKind | null {
  if (kind === undefined) return null;
  const found = VERIFY_KINDS.find((one) => one === kind);
  if (found !== undefined) return found;
  throw wrong("kind", kind, VERIFY_KINDS);
}

function wrong(name: string, value: string, choices: readonly string[]) {
  return usage(`there is no ${name} "${value.slice(0, 60)}"; it is one of ${choices.join(", ")}`);
}
