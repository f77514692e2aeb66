/** Reads filters and notes of transfers as typed, with the same names for HTTP and the command line. */

import type { Config } from "../../config-file.ts";
import type { TransferChoice } from "../../flows/read/read-transfer.ts";
import { TRANSFER_STATUSES } from "../../transfer.ts";
import { VERIFY_KINDS, type VerifyKind } from "../../verify/row-store.ts";
import type { TransferFilter } from "../../verify/store.ts";
import { readFilters, readOneOf, readWords, type Typed } from "./fields.ts";
import { type PageQuery, readPage } from "./page-query.ts";

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
export const FILTERS: readonly string[] = ["status", ...CHOICES, "limit", "after"];

/**
 * Turns typed filters into the filter of the list.
 * @throws ReconError `usage` that names the filter and its value
 */
export function readTransferQuery(query: TransferQuery, { products }: Config): TransferFilter {
  const given = query.status === undefined ? [] : query.status.split(",");
  const statuses = given.map((status) => readOneOf("status", status, TRANSFER_STATUSES));
  const known = products.map(({ productId }) => productId);
  if (query.product !== undefined) readOneOf("product", query.product, known);
  return {
    kind: readKind(query.kind) ?? "transfer",
    statuses,
    productId: query.product ?? null,
    username: query.username ?? null,
    ...readPage(query),
  };
}

/** Reads a ref, with the fields that distinguish several top-ups of one ref. @throws ReconError `usage` */
export function readTransferChoice(ref: string, query: Typed): TransferChoice {
  const { kind, product, username }: TransferQuery = readFilters(query, CHOICES);
  // No stored text contains such a character, and PostgreSQL refuses to search for it.
  const known = ref.includes("\0") ? "" : ref.toWellFormed();
  return { ref: known, kind: readKind(kind), productId: product ?? null, username: username ?? null };
}

export const LONGEST_NOTE = 2_000;

const HINT = ": say what you found out";

/** @throws ReconError `usage` where the note is not text, empty, or too long */
export function readNote(typed: Typed): string {
  return readWords(typed, "note", LONGEST_NOTE, HINT);
}

function readKind(kind: string | undefined): VerifyKind | null {
  return kind === undefined ? null : readOneOf("kind", kind, VERIFY_KINDS);
}
