/** The filters and orders of the mismatch list, with the same names for HTTP and the command line. */

import { z } from "zod";
import type { Instant } from "../../clock.ts";
import type { CaseChoice } from "../../db/case-condition.ts";
import { checkNotLeftOut } from "../../flows/closing/why-open.ts";
import type { FlowContext } from "../../flows/context.ts";
import { type MismatchFilter, placeOf, readStatementDays } from "../../flows/read/list-mismatches.ts";
import { MISMATCH_KINDS, MISMATCH_STATUSES, NOBODY } from "../../mismatch.ts";
import type { MismatchSort, OrderPosition } from "../../mismatches/order-store.ts";
import { hasMismatches, type MismatchChoice } from "../../mismatches/store.ts";
import type { TimeRange } from "../../window.ts";
import {
  AFTER,
  amountIn,
  CHANGED_SINCE,
  CURRENCY,
  checkAfter,
  FILTER,
  orNull,
  PAGE,
  type PageQuery,
  read,
  readOneOf,
  severalOf,
  type Typed,
  timeIn,
  usage,
  withFieldsOf,
} from "./fields.ts";
import { must, show } from "./messages.ts";
import { checkOrder } from "./range-query.ts";
import { parseDay } from "./report-query.ts";

const YES_OR_NO = ["true", "false"] as const;

/** The word for the person who asks. */
const ME = "me";

/** The filters of mismatches and of incidents by owner, reminder and provider. */
export const CASE_FILTERS = {
  owner: orNull(FILTER.trim().min(1, must("be a name"))).meta({
    description: `a name; ${ME}: the caller's; ${NOBODY}: without an owner`,
  }),
  due: orNull(z.enum(YES_OR_NO)).meta({ description: "whether the time of the reminder has passed" }),
  withProvider: orNull(z.enum(YES_OR_NO)).meta({
    description: "whether an answer of the provider is awaited",
  }),
};
type ReadCaseFilters = {
  readonly [Name in keyof typeof CASE_FILTERS]: z.output<(typeof CASE_FILTERS)[Name]>;
};

/** @param me the name of the person who asks */
export function readCaseFilters(
  { owner, due, withProvider }: ReadCaseFilters,
  me: string,
  now: Instant,
): CaseChoice {
  return {
    owner: owner === null ? null : nameOf(owner, me),
    isWithProvider: withProvider === null ? null : withProvider === "true",
    isDue: due === null ? null : { at: now, due: due === "true" },
  };
}

/** "me" as a name. */
export function nameOf(owner: string, me: string): string {
  return owner === ME ? me : owner;
}

/** The filters of mismatches and of incidents by the time of the bet. */
export const HAPPENED_FILTERS = {
  happenedFrom: orNull(timeIn(FILTER)).meta({
    description: "`occurredAt`, the time of the bet, is this time or later",
  }),
  happenedTo: orNull(timeIn(FILTER)).meta({ description: "`occurredAt` is before this time" }),
};

/** @throws ReconError `usage` if the range of the time of the bet ends before it begins */
export function checkHappened(
  typed: Typed,
  { happenedFrom: from, happenedTo: to }: Pick<z.output<typeof CHOICE>, keyof typeof HAPPENED_FILTERS>,
): void {
  checkOrder(typed, { from, to }, { from: "happenedFrom", to: "happenedTo" });
}

/** The choice of mismatches; absent filters do not filter. */
export const CHOICE = z.strictObject({
  status: severalOf(MISMATCH_STATUSES)
    .default([])
    .meta({ description: "several separated by commas; default: open and acknowledged" }),
  kind: orNull(z.enum(MISMATCH_KINDS)),
  product: orNull(FILTER),
  username: orNull(FILTER),
  currency: orNull(CURRENCY),
  day: orNull(FILTER).meta({
    format: "date",
    description: "those that count in the statement of this day (`countsOn`)",
  }),
  from: orNull(timeIn(FILTER)).meta({ description: "first seen at this time or later" }),
  to: orNull(timeIn(FILTER)).meta({ description: "first seen before this time" }),
  ...HAPPENED_FILTERS,
  minAmount: orNull(amountIn(FILTER)).meta({ description: "the least amount at risk" }),
  incident: orNull(
    FILTER.regex(/^[1-9]\d{0,14}$/, {
      error: ({ input }) => `incident ${show(input)} is not the id of an incident`,
    }),
  ).meta({ description: "only mismatches of this incident" }),
  ...CASE_FILTERS,
});

/** The names of the orders. */
export const SORT_NAMES = ["first-seen", "at-risk", "happened", "remind-at"] as const;
export const SORTED_BY: Readonly<Record<(typeof SORT_NAMES)[number], MismatchSort>> = {
  "first-seen": "firstSeenAt",
  "at-risk": "amountAtRisk",
  happened: "occurredAt",
  "remind-at": "remindAt",
};

/** The largest or newest first, but the reminder that is due first. */
export function descendsUsually(by: MismatchSort): boolean {
  return by !== "remindAt";
}

export const LIST_QUERY = CHOICE.extend({
  ...PAGE,
  after: AFTER,
  changedSince: CHANGED_SINCE,
  sort: orNull(z.enum(SORT_NAMES)).meta({
    description:
      "the newest or largest first; remind-at: only those with a reminder, the earliest first; default: in the order of their discovery",
  }),
});

/** As typed. */
export type ChoiceQuery = { readonly [Name in keyof typeof CHOICE.shape]?: string | undefined };
export type MismatchQuery = ChoiceQuery &
  PageQuery & { readonly sort?: string | undefined; readonly changedSince?: string | undefined };

/** The names of the filters. */
export const CHOICES = Object.keys(CHOICE.shape) as readonly (keyof ChoiceQuery)[];

/**
 * Turns typed filters into the filter of the list.
 * @param me the name of the person who asks
 * @throws ReconError `usage` that names the filter and its value
 */
export async function readMismatchQuery(
  context: FlowContext,
  typed: Typed,
  me: string,
): Promise<MismatchFilter> {
  const { limit, after, sort, changedSince, ...asked } = read(LIST_QUERY, typed);
  const order = sort === null ? null : { by: SORTED_BY[sort], descending: descendsUsually(SORTED_BY[sort]) };
  checkUnsorted(sort, changedSince);
  if (sort === null) checkAfter(after, changedSince);
  else if (after !== null) readPlace("after", after, sort);
  return { ...(await checkChoice(context, typed, asked, me)), order, limit, after, changedSince };
}

/** Changes have an order of their own. @throws ReconError `usage` */
export function checkUnsorted(sort: string | null, changedSince: string | null): void {
  if (sort === null || changedSince === null) return;
  const words = `sort ${show(sort)} is not possible with changedSince, which has the order of the changes`;
  throw usage(words, "sort");
}

/**
 * Reads a position in an order.
 * @throws ReconError `usage` that names the field and its value
 */
export function readPlace(name: string, text: string, sort: (typeof SORT_NAMES)[number]): OrderPosition {
  const place = placeOf(text);
  const isValue = sort === "at-risk" ? isAmount : isTime;
  if (isValue(place.value) && /^\d{1,15}$/.test(place.id)) return place;
  throw usage(`${name} ${show(text)} is not a position in the list by ${sort}`, name);
}

/** Whether it is an amount at risk: decimal text, never negative. */
export function isAmount(text: string): boolean {
  return /^\d{1,1000}(\.\d{1,1000})?$/.test(text);
}

function isTime(text: string): boolean {
  return /^(?!0000)\d{4}-[\d:.T-]+Z$/.test(text) && z.iso.datetime().safeParse(text).success;
}

/** @param me the name of the person who asks @throws ReconError `usage` that names the filter and its value */
export async function readChoice(context: FlowContext, typed: Typed, me: string): Promise<MismatchChoice> {
  let asked: z.output<typeof CHOICE>;
  try {
    asked = read(CHOICE, typed);
  } catch (error) {
    const { product } = typed;
    throw await withFieldsOf(error, () =>
      checkProduct(context, typeof product === "string" ? product : null),
    );
  }
  return await checkChoice(context, typed, asked, me);
}

/** @param typed the filters as typed; `asked`: as read; `me`: the name of the person who asks @throws ReconError `usage` */
export async function checkChoice(
  context: FlowContext,
  typed: Typed,
  asked: z.output<typeof CHOICE>,
  me: string,
): Promise<MismatchChoice> {
  const { status: statuses, product: productId, incident, day, owner, due, withProvider, ...rest } = asked;
  await checkProduct(context, productId);
  checkOrder(typed, rest);
  checkHappened(typed, rest);
  const countsIn = day === null ? null : await readDay(context, day);
  return {
    statuses,
    productId,
    incidentId: incident === null ? null : Number(incident),
    countsIn,
    ...readCaseFilters({ owner, due, withProvider }, me, context.clock.now()),
    ...rest,
  };
}

/** @throws ReconError `usage`; `not-found` if the time of this date belongs to a closed day of another date */
async function readDay(context: FlowContext, day: string): Promise<TimeRange> {
  const { zone } = context.config.closing;
  parseDay(day, zone);
  const time = (await readStatementDays(context)).timeOf(day);
  if (time !== null) return time;
  await checkNotLeftOut(context.sql, day, zone);
  throw usage(`day "${day}" has no time of its own in ${zone}`, "day");
}

/** A product that has left the config may still have mismatches. @throws ReconError `usage` */
export async function checkProduct({ sql, config }: FlowContext, product: string | null): Promise<void> {
  const known = config.products.map(({ productId }) => productId);
  if (product === null || known.includes(product) || (await hasMismatches(sql, product))) return;
  readOneOf("product", product, known);
}
