/** The filters of the incident list, with the same names for HTTP, the pages and the command line. */

import { z } from "zod";
import { placeAtRisk } from "../../alerts/incident-list-store.ts";
import type { FlowContext } from "../../flows/context.ts";
import type { AskedIncidents } from "../../flows/read/incident-document.ts";
import { AFTER, CHANGED_SINCE, CURRENCY, checkAfter, FILTER, orNull, PAGE, read, usage } from "./fields.ts";
import { show } from "./messages.ts";
import { CASE_FILTERS, checkProduct, checkUnsorted, isAmount, readCaseFilters } from "./mismatch-query.ts";

const STATES = ["open", "over", "all"] as const;

export const INCIDENT_QUERY = z.strictObject({
  state: orNull(z.enum(STATES)).meta({ description: "default: open; with changedSince: all" }),
  product: orNull(FILTER),
  ...CASE_FILTERS,
  currency: orNull(CURRENCY).meta({ description: "those with money at risk in this currency" }),
  sort: orNull(z.enum(["at-risk"])).meta({
    description:
      "at-risk: the most money at risk in `currency` first. Without `currency` the list is grouped by currency, because amounts of two currencies cannot be compared; an incident with several is in the group of the one with the most mismatches. Default: the newest first",
  }),
  changedSince: CHANGED_SINCE,
  limit: PAGE.limit,
  after: AFTER,
});

/** As typed. */
export type IncidentQuery = z.input<typeof INCIDENT_QUERY>;

/** @param me the name of the person who asks @throws ReconError `usage` that names the filter and its value */
export async function readIncidentQuery(
  context: FlowContext,
  typed: unknown,
  me: string,
): Promise<AskedIncidents> {
  const {
    product: productId,
    currency,
    sort,
    owner,
    due,
    changedSince,
    limit,
    after,
    ...asked
  } = read(INCIDENT_QUERY, typed);
  checkUnsorted(sort, changedSince);
  const state = asked.state ?? (changedSince === null ? "open" : "all");
  await checkProduct(context, productId);
  if (sort === null) checkAfter(after, changedSince);
  else if (after !== null) checkPlace(after);
  return {
    choice: {
      isOpen: state === "all" ? null : state === "open",
      productId,
      currency,
      ...readCaseFilters({ owner, due }, me, context.clock.now()),
    },
    page: { limit, after, order: sort ?? "newest" },
    changedSince,
  };
}

function checkPlace(after: string): void {
  const { amount, id } = placeAtRisk(after);
  if (isAmount(amount) && /^\d{1,15}$/.test(id)) return;
  throw usage(`after ${show(after)} is not a position in the list by at-risk`, "after");
}
