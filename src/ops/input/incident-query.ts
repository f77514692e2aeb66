/** The filters of the incident list, with the same names for HTTP, the pages and the command line. */

import { z } from "zod";
import type { IncidentChoice } from "../../alerts/incident-list-store.ts";
import type { FlowContext } from "../../flows/context.ts";
import { FILTER, orNull, PAGE, read } from "./fields.ts";
import { CASE_FILTERS, checkProduct, readCaseFilters } from "./mismatch-query.ts";

const STATES = ["open", "over", "all"] as const;

export const INCIDENT_QUERY = z.strictObject({
  state: z.enum(STATES).default("open"),
  product: orNull(FILTER),
  ...CASE_FILTERS,
  ...PAGE,
});

/** As typed. */
export type IncidentQuery = z.input<typeof INCIDENT_QUERY>;

export interface IncidentList {
  readonly choice: IncidentChoice;
  readonly page: { readonly limit: number; readonly after: number | null };
}

/** @param me the name of the person who asks @throws ReconError `usage` that names the filter and its value */
export async function readIncidentQuery(
  context: FlowContext,
  typed: unknown,
  me: string,
): Promise<IncidentList> {
  const { state, product: productId, owner, due, limit, after } = read(INCIDENT_QUERY, typed);
  await checkProduct(context, productId);
  return {
    choice: {
      isOpen: state === "all" ? null : state === "open",
      productId,
      ...readCaseFilters({ owner, due }, me, context.clock.now()),
    },
    page: { limit, after: after === null ? null : Number(after) },
  };
}
