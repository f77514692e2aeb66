/** The filters of the incident list, with the same names for HTTP, the pages and the command line. */

import { z } from "zod";
import { type IncidentChoice, type IncidentRange, placeAtRisk } from "../../alerts/incident-list-store.ts";
import type { FlowContext } from "../../flows/context.ts";
import { CURRENCY, FILTER, orNull, PAGE, read, readPage, usage } from "./fields.ts";
import { show } from "./messages.ts";
import { checkProduct, isAmount } from "./mismatch-query.ts";

const STATES = ["open", "over", "all"] as const;

export const INCIDENT_QUERY = z.strictObject({
  state: z.enum(STATES).default("open"),
  product: orNull(FILTER),
  currency: orNull(CURRENCY).meta({ description: "those with money at risk in this currency" }),
  sort: orNull(z.enum(["at-risk"])).meta({
    description:
      "at-risk: the most money at risk in `currency` first. Without `currency` the list is grouped by currency, because amounts of two currencies cannot be compared; an incident with several is in the group of the one with the most mismatches. Default: the newest first",
  }),
  ...PAGE,
  after: orNull(FILTER).meta({
    description: "the `next` of the page before in the same order; without it the first page",
  }),
});

/** As typed. */
export type IncidentQuery = z.input<typeof INCIDENT_QUERY>;

export interface IncidentList {
  readonly choice: IncidentChoice;
  readonly page: Pick<IncidentRange, "limit" | "after" | "order">;
}

/** @throws ReconError `usage` that names the filter and its value */
export async function readIncidentQuery(context: FlowContext, typed: unknown): Promise<IncidentList> {
  const { state, product: productId, currency, sort, limit, after } = read(INCIDENT_QUERY, typed);
  await checkProduct(context, productId);
  if (after !== null && sort === null) readPage({ after });
  if (after !== null && sort !== null) checkPlace(after);
  return {
    choice: { isOpen: state === "all" ? null : state === "open", productId, currency },
    page: { limit, after, order: sort ?? "newest" },
  };
}

function checkPlace(after: string): void {
  const { amount, id } = placeAtRisk(after);
  if (isAmount(amount) && /^\d{1,15}$/.test(id)) return;
  throw usage(`after ${show(after)} is not a position in the list by at-risk`, "after");
}
