/** Which lines of a statement are asked for, with the same names for HTTP and the command line. */

import { z } from "zod";
import { CURRENCY_CODE } from "../../config-file.ts";
import { findOtherProducts } from "../../diff/outside-store.ts";
import type { ItemFilter } from "../../flows/closing/read-items.ts";
import type { FlowContext } from "../../flows/context.ts";
import { EXPLAINED_BY } from "../../report-item.ts";
import { FILTER, orNull, PAGE, read, readOneOf, type Typed } from "./fields.ts";
import { show } from "./messages.ts";
import { type AskedDay, type AskedMonth, REPORT_QUERY, readReportAsk } from "./report-query.ts";

export const ITEMS_QUERY = REPORT_QUERY.extend({
  productId: orNull(FILTER),
  currency: orNull(
    FILTER.regex(CURRENCY_CODE, {
      error: ({ input }) => `currency must be a code in capital letters such as THB, but is ${show(input)}`,
    }),
  ),
  explainedBy: orNull(z.enum([...EXPLAINED_BY, "nothing"])).meta({
    description: "what explains the line; nothing: it is in the rest",
  }),
  ...PAGE,
  after: orNull(FILTER).meta({ description: "the `next` of the page before; without it the first page" }),
});

export interface AskedLines {
  readonly asked: AskedDay | AskedMonth;
  readonly filter: ItemFilter;
  readonly page: { readonly limit: number; readonly after: string | null };
}

/** @throws ReconError `usage` that names the field and its value */
export async function readItemsAsk({ sql, config }: FlowContext, typed: Typed): Promise<AskedLines> {
  const { limit, after, productId, currency, explainedBy, ...when } = read(ITEMS_QUERY, typed);
  const asked = readReportAsk(when, config.closing.zone);
  const known = config.products.map((product) => product.productId);
  if (productId !== null && !known.includes(productId))
    readOneOf("productId", productId, [...known, ...(await findOtherProducts(sql, known))]);
  return { asked, filter: { productId, currency, explainedBy }, page: { limit, after } };
}
