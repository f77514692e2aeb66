/** The filters of the mismatch list, with the same names for HTTP and the command line. */

import { z } from "zod";
import type { FlowContext } from "../../flows/context.ts";
import { MISMATCH_KINDS, MISMATCH_STATUSES } from "../../mismatch.ts";
import { hasMismatches, type MismatchChoice, type MismatchFilter } from "../../mismatches/store.ts";
import {
  amountIn,
  FILTER,
  orNull,
  read,
  readOneOf,
  severalOf,
  type Typed,
  timeIn,
  withFieldsOf,
} from "./fields.ts";
import { show } from "./messages.ts";
import { PAGE, type PageQuery } from "./page-query.ts";
import { checkOrder } from "./range-query.ts";

/** The choice of mismatches; absent filters do not filter. */
export const CHOICE = z.strictObject({
  status: severalOf(MISMATCH_STATUSES)
    .default([])
    .meta({ description: "several separated by commas; default: open and acknowledged" }),
  kind: orNull(z.enum(MISMATCH_KINDS)),
  product: orNull(FILTER),
  username: orNull(FILTER),
  from: orNull(timeIn(FILTER)).meta({ description: "first seen at this time or later" }),
  to: orNull(timeIn(FILTER)).meta({ description: "first seen before this time" }),
  minAmount: orNull(amountIn(FILTER)).meta({ description: "the least amount at risk" }),
  incident: orNull(
    FILTER.regex(/^[1-9]\d{0,14}$/, {
      error: ({ input }) => `incident ${show(input)} is not the id of an incident`,
    }),
  ).meta({ description: "only mismatches of this incident" }),
});

export const LIST_QUERY = CHOICE.extend(PAGE);

/** As typed. */
export type ChoiceQuery = { readonly [Name in keyof typeof CHOICE.shape]?: string | undefined };
export type MismatchQuery = ChoiceQuery & PageQuery;

/** The names of the filters. */
export const CHOICES = Object.keys(CHOICE.shape) as readonly (keyof ChoiceQuery)[];

/**
 * Turns typed filters into the filter of the list.
 * @throws ReconError `usage` that names the filter and its value
 */
export async function readMismatchQuery(context: FlowContext, typed: Typed): Promise<MismatchFilter> {
  const { limit, after, ...asked } = read(LIST_QUERY, typed);
  return { ...(await checkChoice(context, typed, asked)), limit, after };
}

/** @throws ReconError `usage` that names the filter and its value */
export async function readChoice(context: FlowContext, typed: Typed): Promise<MismatchChoice> {
  let asked: z.output<typeof CHOICE>;
  try {
    asked = read(CHOICE, typed);
  } catch (error) {
    const { product } = typed;
    throw await withFieldsOf(error, () =>
      checkProduct(context, typeof product === "string" ? product : null),
    );
  }
  return await checkChoice(context, typed, asked);
}

/** @param typed the filters as typed; `asked`: as read @throws ReconError `usage` */
export async function checkChoice(
  context: FlowContext,
  typed: Typed,
  { status: statuses, product: productId, incident, ...rest }: z.output<typeof CHOICE>,
): Promise<MismatchChoice> {
  await checkProduct(context, productId);
  checkOrder(typed, rest);
  return { statuses, productId, incidentId: incident === null ? null : Number(incident), ...rest };
}

/** A product that has left the config may still have mismatches. @throws ReconError `usage` */
export async function checkProduct({ sql, config }: FlowContext, product: string | null): Promise<void> {
  const known = config.products.map(({ productId }) => productId);
  if (product === null || known.includes(product) || (await hasMismatches(sql, product))) return;
  readOneOf("product", product, known);
}
