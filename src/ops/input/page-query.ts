/** Reads the wanted page of a list, with the same names for HTTP and the command line. */

import { ReconError } from "../../errors.ts";

/** As typed; without a limit a page has a hundred. */
export interface PageQuery {
  readonly limit?: string | undefined;
  readonly after?: string | undefined;
}

export interface PageRange {
  readonly limit: number;
  /** the `next` of the page before; null: the first page */
  readonly after: string | null;
}

export const DEFAULT_LIMIT = 100;
export const LARGEST_LIMIT = 1000;

/** @throws ReconError `usage` that names the field and its value */
export function readPage({ limit = String(DEFAULT_LIMIT), after }: PageQuery): PageRange {
  if (!/^\d{1,4}$/.test(limit) || Number(limit) < 1 || Number(limit) > LARGEST_LIMIT) {
    throw new ReconError("usage", `limit "${limit}" is not a number from 1 to ${LARGEST_LIMIT}`);
  }
  if (after !== undefined && !/^\d{1,15}$/.test(after)) {
    throw new ReconError("usage", `after "${after}" is not the "next" of a page`);
  }
  return { limit: Number(limit), after: after ?? null };
}
