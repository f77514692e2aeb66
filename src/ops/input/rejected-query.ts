/** Filters and ids of rejected records and entries, with the same names for HTTP and the command line. */

import { z } from "zod";
import type { Config } from "../../config-file.ts";
import type { Query } from "../../db/client.ts";
import { countRejectedRows } from "../../db/rejected-rows.ts";
import { TABLES } from "../../flows/rejected/retry-rejected.ts";
import {
  parseRejectedId,
  REJECTED_ID,
  REJECTED_KINDS,
  REJECTED_SIDES,
  type RejectedChoice,
  type RejectedRef,
} from "../../rejected.ts";
import { FILTER, orNull, PAGE, read, readBy, TEXT, timeIn, usage } from "./fields.ts";
import { must, show } from "./messages.ts";

const NEXT = { description: "the `next` of the page before; without it the first page" };

/** The filters of the list; absent ones do not filter. */
export const LIST_QUERY = z.strictObject({
  side: orNull(z.enum(REJECTED_SIDES)),
  kind: orNull(z.enum(REJECTED_KINDS)),
  product: orNull(FILTER),
  reason: orNull(FILTER).meta({ description: "a part of the reason" }),
  since: orNull(timeIn(FILTER)).meta({ description: "first seen at this time or later" }),
  limit: PAGE.limit,
  after: orNull(refIn(FILTER)).meta(NEXT),
});

/** As typed. */
export type RejectedQuery = { readonly [Name in keyof typeof LIST_QUERY.shape]?: string | undefined };

/** Which part of a list to read. */
export interface RejectedPage {
  readonly after: RejectedRef | null;
  readonly limit: number;
}

/**
 * Turns typed filters into a choice and a page.
 * @throws ReconError `usage` that names the filter and its value
 */
export async function readRejectedQuery(
  { sql, config }: { readonly sql: Query; readonly config: Config },
  typed: unknown,
): Promise<{ readonly choice: RejectedChoice; readonly page: RejectedPage }> {
  const { limit, after, product: productId, ...rest } = read(LIST_QUERY, typed);
  if (productId !== null) await checkProduct(sql, productId, config);
  return { choice: { productId, ...rest }, page: { limit, after } };
}

/** A rejected record or entry may name a product that is not in the config, maybe for that very reason. */
async function checkProduct(sql: Query, product: string, { products }: Config): Promise<void> {
  if (products.some(({ productId }) => productId === product)) return;
  const choice = { side: null, kind: null, productId: product, reason: null, since: null };
  for (const table of Object.values(TABLES)) {
    if ((await countRejectedRows(sql, table, choice)) > 0) return;
  }
  const known = products.map(({ productId }) => productId).join(", ");
  throw usage(
    `there is no product "${product.slice(0, 60)}", and nothing rejected names it; the config has ${known}`,
    "product",
  );
}

const MOST_RETRIED = 1_000;
const DEFAULT_LIMIT = 100;
const LIMIT = {
  error: ({ input }: { readonly input?: unknown }) =>
    input === undefined ? undefined : `limit ${show(input)} is not a number from 1 to ${MOST_RETRIED}`,
};
const IDS = must(`be a list of 1 to ${MOST_RETRIED} ids`);
const ID = z.string({ error: ({ input }) => `ids must be text, but one is ${show(input)}` });

/** The body of a retry: `{ "ids" }`, or `{ "limit", "after" }`. An empty object chooses the first ones. */
export const RETRY_FORM = z.strictObject(
  {
    ids: z.array(refIn(ID), IDS).min(1, IDS).max(MOST_RETRIED, IDS).optional(),
    limit: z.int(LIMIT).min(1, LIMIT).max(MOST_RETRIED, LIMIT).optional().meta({ default: DEFAULT_LIMIT }),
    after: refIn(TEXT).optional().meta(NEXT),
  },
  {
    error: ({ code }) => (code === "invalid_type" ? "the body must be a JSON object" : undefined),
  },
);

/** What is to be read again: these, or the next ones. */
export type RetryRequest = { readonly ids: readonly RejectedRef[] } | RejectedPage;

/** @throws ReconError `usage` that names the field and its value */
export function readRetry(body: unknown): RetryRequest {
  const { ids, limit, after } = read(RETRY_FORM, body ?? {});
  if (ids === undefined) return { limit: limit ?? DEFAULT_LIMIT, after: after ?? null };
  if (limit !== undefined || after !== undefined) throw usage("give either ids, or limit and after");
  return { ids };
}

function refIn(text: z.ZodString) {
  return readBy((typed, field) => readRef(field, typed), text.meta({ pattern: REJECTED_ID.source }));
}

/** @throws ReconError `usage` that names the field and its value */
export function readRef(field: string, text: string): RejectedRef {
  const ref = parseRejectedId(text);
  if (ref !== null) return ref;
  throw usage(
    `${field} "${text.slice(0, 60)}" is not the id of a rejected row (for example record-12 or entry-7)`,
  );
}
