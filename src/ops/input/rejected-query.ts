/** Reads filters and ids of rejected records and entries as typed, with the same names for HTTP and the command line. */

import type { Config } from "../../config-file.ts";
import type { Query } from "../../db/client.ts";
import { countRejectedRows } from "../../db/rejected-rows.ts";
import { TABLES } from "../../flows/rejected/retry-rejected.ts";
import {
  parseRejectedId,
  REJECTED_KINDS,
  REJECTED_SIDES,
  type RejectedChoice,
  type RejectedRef,
} from "../../rejected.ts";
import {
  checkFields,
  isObject,
  readFilters,
  readOneOf,
  readTime,
  show,
  type Typed,
  usage,
} from "./fields.ts";
import { type PageQuery, readPage } from "./page-query.ts";

/** As typed; absent filters do not filter. */
export interface RejectedQuery extends PageQuery {
  /** record, entry */
  readonly side?: string | undefined;
  /** unusable, changed */
  readonly kind?: string | undefined;
  readonly product?: string | undefined;
  /** a part of the reason */
  readonly reason?: string | undefined;
  /** ISO 8601 */
  readonly since?: string | undefined;
}

const FILTERS: readonly (keyof RejectedQuery)[] = [
  "side",
  "kind",
  "product",
  "reason",
  "since",
  "limit",
  "after",
];

/**
 * The filters of a query string.
 * @throws ReconError `usage` that names an unknown filter, or one that is not a single text
 */
export function rejectedQueryOf(query: Typed): RejectedQuery {
  return readFilters(query, FILTERS);
}

/** Which part of a list to read. */
export interface RejectedPage {
  readonly after: RejectedRef | null;
  readonly limit: number;
}

/** @throws ReconError `usage` that names the field and its value */
export function readRejectedPage({ limit, after }: PageQuery): RejectedPage {
  const page = readPage({ limit });
  return { limit: page.limit, after: after === undefined ? null : readRef("after", after) };
}

/** @throws ReconError `usage` that names the filter and its value */
export async function readRejectedChoice(
  { sql, config }: { readonly sql: Query; readonly config: Config },
  { side, kind, product, reason, since }: RejectedQuery,
): Promise<RejectedChoice> {
  if (product !== undefined) await checkProduct(sql, product, config);
  return {
    side: side === undefined ? null : readOneOf("side", side, REJECTED_SIDES),
    kind: kind === undefined ? null : readOneOf("kind", kind, REJECTED_KINDS),
    productId: product ?? null,
    reason: reason ?? null,
    since: since === undefined ? null : readTime({ since }, "since"),
  };
}

/** What is rejected may name a product that is not in the config, maybe for that very reason. */
async function checkProduct(sql: Query, product: string, { products }: Config): Promise<void> {
  if (products.some(({ productId }) => productId === product)) return;
  const choice = { side: null, kind: null, productId: product, reason: null, since: null };
  for (const table of Object.values(TABLES)) {
    if ((await countRejectedRows(sql, table, choice)) > 0) return;
  }
  const known = products.map(({ productId }) => productId).join(", ");
  throw usage(
    `there is no product "${product.slice(0, 60)}", and nothing rejected names it; the config has ${known}`,
  );
}

export const MOST_RETRIED = 1_000;

/** What is to be read again: these, or the next ones. */
export type RetryRequest = { readonly ids: readonly RejectedRef[] } | RejectedPage;

/**
 * The body of a retry: `{ "ids" }`, or `{ "limit", "after" }`; nothing: the first ones.
 * @throws ReconError `usage` that names the field and its value
 */
export function readRetry(body: unknown): RetryRequest {
  const given = body ?? {};
  if (!isObject(given)) throw usage("the body must be a JSON object");
  const { ids, limit, after } = checkFields(given, ["ids", "limit", "after"]);
  if (ids !== undefined) {
    if (limit !== undefined || after !== undefined) throw usage("give either ids, or limit and after");
    return { ids: readIds(ids) };
  }
  if (limit !== undefined && typeof limit !== "number")
    throw usage(`limit must be a number, but is ${show(limit)}`);
  if (after !== undefined && typeof after !== "string")
    throw usage(`after must be a text, but is ${show(after)}`);
  return readRejectedPage({ limit: limit === undefined ? undefined : String(limit), after });
}

function readIds(ids: unknown): RejectedRef[] {
  if (!Array.isArray(ids) || ids.length === 0 || ids.length > MOST_RETRIED) {
    throw usage(`ids must be a list of 1 to ${MOST_RETRIED} ids, but is ${show(ids)}`);
  }
  return ids.map((id: unknown) => {
    if (typeof id === "string") return readRef("ids", id);
    throw usage(`ids must be texts, but one is ${show(id)}`);
  });
}

/** @throws ReconError `usage` that names the field and its value */
export function readRef(field: string, text: string): RejectedRef {
  const ref = parseRejectedId(text);
  if (ref !== null) return ref;
  throw usage(`${field} "${text.slice(0, 60)}" is no id of a rejected one, such as record-12 or entry-7`);
}
