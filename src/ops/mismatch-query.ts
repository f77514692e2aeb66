/** The filters of the mismatch list, by the same names for HTTP and the command line. */

import { ReconError } from "../errors.ts";
import { isMismatchKind, isMismatchStatus, MISMATCH_KINDS, MISMATCH_STATUSES } from "../mismatch.ts";
import type { MismatchFilter } from "../mismatches/store.ts";

/** Filters as text, as they are typed; absent ones do not filter. */
export interface MismatchQuery {
  readonly status?: string | undefined;
  readonly kind?: string | undefined;
  readonly product?: string | undefined;
  readonly username?: string | undefined;
  readonly limit?: string | undefined;
  readonly after?: string | undefined;
}

const DEFAULT_LIMIT = 100;
const LARGEST_LIMIT = 1000;

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
  if (query.kind !== undefined && !isMismatchKind(query.kind)) throw wrong("kind", query.kind, MISMATCH_KINDS);
  if (query.product !== undefined && !products.includes(query.product)) {
    throw wrong("product", query.product, products);
  }
  const limit = query.limit ?? String(DEFAULT_LIMIT);
  if (!/^\d{1,4}$/.test(limit) || Number(limit) < 1 || Number(limit) > LARGEST_LIMIT) {
    throw new ReconError("usage", `limit "${limit}" is not a number from 1 to ${LARGEST_LIMIT}`);
  }
  if (query.after !== undefined && !/^\d{1,15}$/.test(query.after)) {
    throw new ReconError("usage", `after "${query.after}" is not the "next" of a page`);
  }
  return {
    statuses: statuses.filter(isMismatchStatus),
    kind: query.kind === undefined ? null : (query.kind as MismatchFilter["kind"]),
    productId: query.product ?? null,
    username: query.username ?? null,
    limit: Number(limit),
    after: query.after ?? null,
  };
}

function wrong(name: string, value: string, choices: readonly string[]): ReconError {
  return new ReconError("usage", `there is no ${name} "${value}"; it is one of ${choices.join(", ")}`);
}
