/** The filters of the mismatch list, by the same names for HTTP and the command line. */

import type { ReconError } from "../errors.ts";
import { isMismatchKind, isMismatchStatus, MISMATCH_KINDS, MISMATCH_STATUSES } from "../mismatch.ts";
import type { MismatchFilter } from "../mismatches/store.ts";
import { type PageQuery, readPage } from "./page-query.ts";
import { checkFields, usage } from "./range-query.ts";

/** Filters as text, as they are typed; absent ones do not filter. */
export interface MismatchQuery extends PageQuery {
  readonly status?: string | undefined;
  readonly kind?: string | undefined;
  readonly product?: string | undefined;
  readonly username?: string | undefined;
}

const FILTERS = ["status", "kind", "product", "username", "limit", "after"];

/**
 * The filters of a query string.
 * @throws ReconError `usage` that names one there is not, or one that stands twice
 */
export function filtersOf(query: Readonly<Record<string, unknown>>): MismatchQuery {
  for (const [name, value] of Object.entries(checkFields(query, FILTERS))) {
    if (typeof value !== "string") throw usage(`${name} stands more than once`);
  }
  return query;
}

/**
 * Turns typed filters into the filter of the list.
 * @param products the products there are
 * @throws ReconError `usage` that names the filter and its value
 */
export function readMismatchQuery(query: MismatchQuery, products: readonly string[]): MismatchFilter {
  const statuses = query.status === undefined ? [] : query.status.split(",");
  for (const status of statuses) {
    if (!isMismatchStatus(status)) throw wrong("status", status, MISMATCH_STATUSES);
  }
  if (query.kind !== undefined && !isMismatchKind(query.kind))
    throw wrong("kind", query.kind, MISMATCH_KINDS);
  if (query.product !== undefined && !products.includes(query.product)) {
    throw wrong("product", query.product, products);
  }
  return {
    statuses: statuses.filter(isMismatchStatus),
    kind: query.kind === undefined ? null : (query.kind as MismatchFilter["kind"]),
    productId: query.product ?? null,
    username: query.username ?? null,
    ...readPage(query),
  };
}

function wrong(name: string, value: string, choices: readonly string[]): ReconError {
  return usage(`there is no ${name} "${value}"; it is one of ${choices.join(", ")}`);
}
