/** The wanted page of a list, with the same names for HTTP and the command line. */

import { z } from "zod";
import { FILTER, orNull, read, readBy, usage } from "./fields.ts";
import { show } from "./messages.ts";

export interface PageRange {
  readonly limit: number;
  /** the `next` of the page before; null: the first page */
  readonly after: string | null;
}

const DEFAULT_LIMIT = 100;
const LARGEST_LIMIT = 1000;

/** The fields of a query that choose the page. */
export const PAGE = {
  limit: readBy(readLimit, FILTER)
    .default(DEFAULT_LIMIT)
    .meta({ type: "integer", minimum: 1, maximum: LARGEST_LIMIT, default: DEFAULT_LIMIT }),
  after: orNull(
    FILTER.regex(/^\d{1,15}$/, { error: ({ input }) => `after ${show(input)} is not the "next" of a page` }),
  ).meta({ description: "the `next` of the page before; without it the first page" }),
};

export const PAGE_QUERY = z.strictObject(PAGE);

/** As typed; without a limit a page has a hundred. */
export type PageQuery = z.input<typeof PAGE_QUERY>;

/** @throws ReconError `usage` that names the field and its value */
export function readPage(typed: unknown): PageRange {
  return read(PAGE_QUERY, typed);
}

function readLimit(text: string): number {
  const limit = /^\d{1,4}$/.test(text) ? Number(text) : 0;
  if (limit >= 1 && limit <= LARGEST_LIMIT) return limit;
  throw usage(`limit "${text}" is not a number from 1 to ${LARGEST_LIMIT}`);
}
