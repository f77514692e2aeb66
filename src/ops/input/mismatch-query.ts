/** Reads the filters of the mismatch list, with the same names for HTTP and the command line. */

import type { FlowContext } from "../../flows/context.ts";
import { MISMATCH_KINDS, MISMATCH_STATUSES } from "../../mismatch.ts";
import { hasMismatches, type MismatchChoice, type MismatchFilter } from "../../mismatches/store.ts";
import { formatAmount, parseAmount } from "../../money.ts";
import { reading, readOneOf, readTime, usage } from "./fields.ts";
import { type PageQuery, readPage } from "./page-query.ts";

/** The filters as typed; absent ones do not filter. */
export type ChoiceQuery = {
  /** several separated by commas */
  readonly status?: string | undefined;
  readonly kind?: string | undefined;
  readonly product?: string | undefined;
  readonly username?: string | undefined;
  /** first seen then or later */
  readonly from?: string | undefined;
  /** first seen before then */
  readonly to?: string | undefined;
  /** the least amount at risk */
  readonly minAmount?: string | undefined;
};

export type MismatchQuery = ChoiceQuery & PageQuery;

/** The names of the filters. */
export const CHOICES = ["status", "kind", "product", "username", "from", "to", "minAmount"] as const;
export const LIST_CHOICES: readonly string[] = [...CHOICES, "limit", "after"];

/**
 * Turns typed filters into the filter of the list.
 * @throws ReconError `usage` that names the filter and its value
 */
export async function readMismatchQuery(context: FlowContext, query: MismatchQuery): Promise<MismatchFilter> {
  return { ...(await readChoice(context, query)), ...readPage(query) };
}

/** @throws ReconError `usage` that names the filter and its value */
export async function readChoice(context: FlowContext, query: ChoiceQuery): Promise<MismatchChoice> {
  const given = query.status === undefined ? [] : query.status.split(",");
  const statuses = given.map((status) => readOneOf("status", status, MISMATCH_STATUSES));
  const kind = query.kind === undefined ? null : readOneOf("kind", query.kind, MISMATCH_KINDS);
  await checkProduct(context, query.product);
  const from = query.from === undefined ? null : readTime(query, "from");
  const to = query.to === undefined ? null : readTime(query, "to");
  const { minAmount } = query;
  if (from !== null && to !== null && from >= to) {
    throw usage(`from "${query.from}" is not before to "${query.to}"`);
  }
  return {
    statuses,
    kind,
    productId: query.product ?? null,
    username: query.username ?? null,
    from,
    to,
    minAmount:
      minAmount === undefined ? null : reading(() => formatAmount(parseAmount(minAmount, "minAmount"))),
  };
}

/** A product that has left the config may still have mismatches. */
async function checkProduct({ sql, config }: FlowContext, product: string | undefined): Promise<void> {
  const known = config.products.map(({ productId }) => productId);
  if (product === undefined || known.includes(product) || (await hasMismatches(sql, product))) return;
  readOneOf("product", product, known);
}
