/** Filters and notes of transfers, with the same names for HTTP and the command line. */

import { z } from "zod";
import type { Config } from "../../config-file.ts";
import type { TransferChoice } from "../../flows/read/read-transfer.ts";
import { TRANSFER_STATUSES } from "../../transfer.ts";
import { VERIFY_KINDS } from "../../verify/row-store.ts";
import type { TransferFilter } from "../../verify/store.ts";
import { FILTER, orNull, PAGE, read, readOneOf, severalOf, words } from "./fields.ts";
import { bodyWith } from "./messages.ts";

/** The fields that distinguish several top-ups of one ref. */
export const ONE_OF_REF = z.strictObject({
  kind: orNull(z.enum(VERIFY_KINDS)),
  product: orNull(FILTER),
  username: orNull(FILTER),
});

/** The filters of transfers; absent ones do not filter, and without a kind they choose transfers. */
export const LIST_QUERY = z.strictObject({
  status: severalOf(TRANSFER_STATUSES).default([]).meta({ description: "several separated by commas" }),
  ...ONE_OF_REF.shape,
  ...PAGE,
});

/** As typed. */
export type TransferQuery = { readonly [Name in keyof typeof LIST_QUERY.shape]?: string | undefined };

export const LONGEST_NOTE = 2_000;

/** Ops' decision on an inconclusive one. */
export const CLOSE_FORM = z.strictObject(
  { note: words(LONGEST_NOTE, ": say what you found out") },
  bodyWith("a note"),
);

/**
 * Turns typed filters into the filter of the list.
 * @throws ReconError `usage` that names the filter and its value
 */
export function readTransferQuery(typed: unknown, { products }: Config): TransferFilter {
  const { status: statuses, kind, product: productId, ...rest } = read(LIST_QUERY, typed);
  const known = products.map((one) => one.productId);
  if (productId !== null) readOneOf("product", productId, known);
  return { kind: kind ?? "transfer", statuses, productId, ...rest };
}

/** Reads a ref, with the fields that distinguish several top-ups of one ref. @throws ReconError `usage` */
export function readTransferChoice(ref: string, typed: unknown): TransferChoice {
  const { product: productId, ...rest } = read(ONE_OF_REF, typed);
  // No stored text contains such a character, and PostgreSQL refuses to search for it.
  return { ref: ref.includes("\0") ? "" : ref.toWellFormed(), productId, ...rest };
}

/** @throws ReconError `usage` if the note is not text, empty, or too long */
export function readNote(typed: unknown): string {
  return read(CLOSE_FORM, typed).note;
}
