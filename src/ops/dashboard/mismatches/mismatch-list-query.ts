/** Reads the address of the mismatch list: filters by the API's names, order, and page. */

import { z } from "zod";
import { nameOfPlace } from "../../../flows/read/list-mismatches.ts";
import type { MismatchOrder, MismatchSort, OrderedPage } from "../../../mismatches/order-store.ts";
import { FILTER, read, readBy, usage } from "../../input/fields.ts";
import {
  CHOICES,
  type ChoiceQuery,
  descendsUsually,
  readPlace,
  SORT_NAMES,
  SORTED_BY,
} from "../../input/mismatch-query.ts";

export interface ListQuery {
  /** as typed, without empty fields */
  readonly filters: ChoiceQuery;
  readonly order: MismatchOrder;
  /** null: the first page */
  readonly from: OrderedPage["from"];
}

type QueryFields = Readonly<Record<string, unknown>>;

const AS_TYPED = FILTER.optional();
/** The newest first. */
const USUAL_ORDER: MismatchOrder = { by: "firstSeenAt", descending: true };
/** The filters stay as typed: the page shows them again, and `readChoice` reads them. */
const ADDRESS = z.strictObject({
  ...(Object.fromEntries(CHOICES.map((name) => [name, AS_TYPED])) as Record<
    keyof ChoiceQuery,
    typeof AS_TYPED
  >),
  sort: readBy(readOrder, FILTER).default(USUAL_ORDER),
  after: AS_TYPED,
  before: AS_TYPED,
});
/** @throws ReconError `usage` that names the field and its value */
export function readListQuery(query: QueryFields): ListQuery {
  const { sort: order, after, before, ...filters } = read(ADDRESS, query);
  if (after !== undefined && before !== undefined) throw usage("give either after or before");
  return { filters, order, from: readFrom(order, after, before) };
}

/** The address of a list; without a position, of its first page. */
export function pathOfList({ filters, order, from }: ListQuery): string {
  const query = new URLSearchParams();
  for (const name of CHOICES) {
    const text = filters[name];
    if (text !== undefined) query.set(name, text);
  }
  if (!isUsual(order)) query.set("sort", nameOfOrder(order));
  if (from !== null) query.set(from.direction, nameOfPlace(from.place));
  return query.size === 0 ? "/mismatches" : `/mismatches?${query}`;
}

/** The address of one mismatch, which keeps the list from which the person came. */
export function pathOfMismatch(id: string, { filters, order }: Pick<ListQuery, "filters" | "order">): string {
  const list = pathOfList({ filters, order, from: null });
  return `/mismatches/${encodeURIComponent(id)}${list.slice("/mismatches".length)}`;
}

/** The order as in the address: "at-risk", the largest first, as the API names it; "-at-risk" the other way round. */
export function nameOfOrder({ by, descending }: MismatchOrder): string {
  return `${descending === descendsUsually(by) ? "" : "-"}${nameOfSort(by)}`;
}

function nameOfSort(by: MismatchSort): (typeof SORT_NAMES)[number] {
  return SORT_NAMES.find((name) => SORTED_BY[name] === by) ?? "first-seen";
}

/** The order after a click on a column's head: first the largest or newest first, then reversed. */
export function orderAfterClick(order: MismatchOrder, by: MismatchSort): MismatchOrder {
  return { by, descending: order.by === by ? !order.descending : descendsUsually(by) };
}

export function isUsual({ by, descending }: MismatchOrder): boolean {
  return by === USUAL_ORDER.by && descending === USUAL_ORDER.descending;
}

function readOrder(sort: string): MismatchOrder {
  const isReversed = sort.startsWith("-");
  const name = SORT_NAMES.find((one) => one === sort.slice(isReversed ? 1 : 0));
  if (name !== undefined)
    return { by: SORTED_BY[name], descending: descendsUsually(SORTED_BY[name]) !== isReversed };
  throw usage(
    `sort must be one of ${SORT_NAMES.join(", ")}, with a minus the other way round, but is "${sort}"`,
    "sort",
  );
}

function readFrom(
  order: MismatchOrder,
  after: string | undefined,
  before: string | undefined,
): OrderedPage["from"] {
  const sort = nameOfSort(order.by);
  if (after !== undefined) return { direction: "after", place: readPlace("after", after, sort) };
  if (before !== undefined) return { direction: "before", place: readPlace("before", before, sort) };
  return null;
}
