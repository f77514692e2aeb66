/** The filters of the incident list, with the same names for HTTP, the pages and the command line. */

import { z } from "zod";
import type { FlowContext } from "../../flows/context.ts";
import type { AskedIncidents } from "../../flows/read/incident-document.ts";
import { AFTER, CHANGED_SINCE, checkAfter, FILTER, orNull, PAGE, read } from "./fields.ts";
import { checkProduct } from "./mismatch-query.ts";

const STATES = ["open", "over", "all"] as const;

export const INCIDENT_QUERY = z.strictObject({
  state: orNull(z.enum(STATES)).meta({ description: "default: open; with changedSince: all" }),
  product: orNull(FILTER),
  changedSince: CHANGED_SINCE,
  limit: PAGE.limit,
  after: AFTER,
});

/** As typed. */
export type IncidentQuery = z.input<typeof INCIDENT_QUERY>;

/** @throws ReconError `usage` that names the filter and its value */
export async function readIncidentQuery(context: FlowContext, typed: unknown): Promise<AskedIncidents> {
  const { state: asked, product: productId, changedSince, limit, after } = read(INCIDENT_QUERY, typed);
  checkAfter(after, changedSince);
  const state = asked ?? (changedSince === null ? "open" : "all");
  await checkProduct(context, productId);
  return {
    choice: { isOpen: state === "all" ? null : state === "open", productId },
    page: { limit, after },
    changedSince,
  };
}
