/** The filters of the incident list, with the same names for HTTP, the pages and the command line. */

import { z } from "zod";
import { type IncidentChoice, placeAtRisk } from "../../alerts/incident-list-store.ts";
import type { FlowContext } from "../../flows/context.ts";
import type { AskedIncidents } from "../../flows/read/incident-document.ts";
import {
  AFTER,
  CHANGED_SINCE,
  CURRENCY,
  checkAfter,
  FILTER,
  orNull,
  PAGE,
  read,
  type Typed,
  usage,
} from "./fields.ts";
import { show } from "./messages.ts";
import {
  CASE_FILTERS,
  checkHappened,
  checkProduct,
  checkUnsorted,
  HAPPENED_FILTERS,
  isAmount,
  readCaseFilters,
  readPlace,
} from "./mismatch-query.ts";

const STATES = ["open", "over", "all"] as const;

/** The choice of incidents; absent filters do not filter. */
export const INCIDENT_CHOICE = z.strictObject({
  state: orNull(z.enum(STATES)).meta({ description: "default: open; with changedSince: all" }),
  product: orNull(FILTER),
  ...CASE_FILTERS,
  currency: orNull(CURRENCY).meta({ description: "those with money at risk in this currency" }),
  happenedFrom: HAPPENED_FILTERS.happenedFrom.meta({
    description:
      "those with a mismatch whose bet happened at this time or later; with `currency` or `happenedTo`, a mismatch that has all of them",
  }),
  happenedTo: HAPPENED_FILTERS.happenedTo.meta({
    description: "those with a mismatch whose bet happened before this time",
  }),
});

export const INCIDENT_QUERY = INCIDENT_CHOICE.extend({
  sort: orNull(z.enum(["at-risk", "remind-at"])).meta({
    description:
      "at-risk: the most money at risk in `currency` first. Without `currency` the list is grouped by currency, because amounts of two currencies cannot be compared; an incident with several is in the group of the one with the most mismatches. remind-at: only those with a reminder, the earliest first. Default: the newest first",
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
  typed: Typed,
  me: string,
): Promise<AskedIncidents> {
  const { sort, changedSince, limit, after, ...asked } = read(INCIDENT_QUERY, typed);
  checkUnsorted(sort, changedSince);
  const state = asked.state ?? (changedSince === null ? "open" : "all");
  const choice = await checkIncidentChoice(context, typed, { ...asked, state }, me);
  if (sort === null) checkAfter(after, changedSince);
  else if (after !== null && sort === "remind-at") readPlace("after", after, sort);
  else if (after !== null) checkPlaceAtRisk(after);
  return { choice, page: { limit, after, order: sort ?? "newest" }, changedSince };
}

/** @param typed the filters as typed; `asked`: as read; `me`: the name of the person who asks @throws ReconError `usage` */
export async function checkIncidentChoice(
  context: FlowContext,
  typed: Typed,
  asked: z.output<typeof INCIDENT_CHOICE>,
  me: string,
): Promise<IncidentChoice> {
  const { state, product: productId, owner, due, withProvider, ...rest } = asked;
  await checkProduct(context, productId);
  checkHappened(typed, rest);
  return {
    isOpen: state === "all" ? null : state !== "over",
    productId,
    ...readCaseFilters({ owner, due, withProvider }, me, context.clock.now()),
    ...rest,
  };
}

function checkPlaceAtRisk(after: string): void {
  const { amount, id } = placeAtRisk(after);
  if (isAmount(amount) && /^\d{1,15}$/.test(id)) return;
  throw usage(`after ${show(after)} is not a position in the list by at-risk`, "after");
}
