/** Reads the filters of the mismatch list, with the same names for HTTP and the command line. */

import { parseInstant } from "../../clock.ts";
import { describeError, type ReconError } from "../../errors.ts";
import type { FlowContext } from "../../flows/context.ts";
import { isMismatchKind, isMismatchStatus, MISMATCH_KINDS, MISMATCH_STATUSES } from "../../mismatch.ts";
import { hasMismatches, type MismatchChoice, type MismatchFilter } from "../../mismatches/store.ts";
import { formatAmount, parseAmount } from "../../money.ts";
import { type PageQuery, readPage } from "./page-query.ts";
import { checkFields, usage } from "./range-query.ts";

/** The filters as typed; absent ones do not filter. */
export interface ChoiceQuery {
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
}

export type MismatchQuery = ChoiceQuery & PageQuery;

export const CHOICES = ["status", "kind", "product", "username", "from", "to", "minAmount"] as const;

/**
 * The filters of a query string, or of a JSON object.
 * @param fields the known names
 * @throws ReconError `usage` that names an unknown filter, a repeated one, or one that is not text
 */
export function filtersOf(
  query: Readonly<Record<string, unknown>>,
  fields: readonly string[] = [...CHOICES, "limit", "after"],
): MismatchQuery {
  for (const [name, value] of Object.entries(checkFields(query, fields))) {
    if (Array.isArray(value)) throw usage(`${name} stands more than once`);
    if (typeof value !== "string")
      throw usage(`${name} must be a text, but is ${JSON.stringify(value).slice(0, 60)}`);
    if (value.includes("\0")) throw usage(`${name} holds a character that nothing stored can hold`);
  }
  return query;
}

/**
 * Turns typed filters into the filter of the list.
 * @throws ReconError `usage` that names the filter and its value
 */
export async function readMismatchQuery(context: FlowContext, query: MismatchQuery): Promise<MismatchFilter> {
  return { ...(await readChoice(context, query)), ...readPage(query) };
}

/** @throws ReconError `usage` that names the filter and its value */
export async function readChoice(context: FlowContext, query: ChoiceQuery): Promise<MismatchChoice> {
  const statuses = query.status === undefined ? [] : query.status.split(",");
  for (const status of statuses) {
    if (!isMismatchStatus(status)) throw wrong("status", status, MISMATCH_STATUSES);
  }
  if (query.kind !== undefined && !isMismatchKind(query.kind))
    throw wrong("kind", query.kind, MISMATCH_KINDS);
  await checkProduct(context, query.product);
  const [from, to] = [readTime("from", query.from), readTime("to", query.to)];
  if (from !== null && to !== null && from >= to) {
    throw usage(`from "${query.from}" is not before to "${query.to}"`);
  }
  return {
    statuses: statuses.filter(isMismatchStatus),
    kind: query.kind === undefined ? null : (query.kind as MismatchChoice["kind"]),
    productId: query.product ?? null,
    username: query.username ?? null,
    from,
    to,
    minAmount: readLeast(query.minAmount),
  };
}

/** A product that has left the config may still have mismatches. */
async function checkProduct({ sql, config }: FlowContext, product: string | undefined): Promise<void> {
  const known = config.products.map(({ productId }) => productId);
  if (product === undefined || known.includes(product) || (await hasMismatches(sql, product))) return;
  throw wrong("product", product, known);
}

function readTime(name: string, text: string | undefined): number | null {
  try {
    return text === undefined ? null : parseInstant(text, name);
  } catch (error) {
    throw usage(describeError(error));
  }
}

function readLeast(text: string | undefined): string | null {
  try {
    return text === undefined ? null : formatAmount(parseAmount(text, "minAmount"));
  } catch (error) {
    throw usage(describeError(error));
  }
}

function wrong(name: string, value: string, choices: readonly string[]): ReconError {
  return usage(`there is no ${name} "${value}"; it is one of ${choices.join(", ")}`);
}
