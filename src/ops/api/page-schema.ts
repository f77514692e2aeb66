/** The common schemas of all lists. */

import { DEFAULT_LIMIT, LARGEST_LIMIT, type PageQuery } from "../input/page-query.ts";
import { orNull, type Schema, TEXT } from "./schema.ts";

/** The fields of a query that choose the page. */
export const PAGE_FIELDS: Readonly<Record<keyof PageQuery, Schema>> = {
  limit: { type: "integer", minimum: 1, maximum: LARGEST_LIMIT, default: DEFAULT_LIMIT },
  after: {
    type: "string",
    pattern: String.raw`^\d{1,15}$`,
    description: "the `next` of the page before; without it the first page",
  },
};

export const NEXT: Schema = orNull({ ...TEXT, description: "`after` of the next page; null: there is none" });
