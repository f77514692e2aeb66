/** Reads the address of the mismatch list: filters by the API's names, order, and page. */

import { z } from "zod";
import { parseInstant } from "../../../clock.ts";
import {
  MISMATCH_SORTS,
  type MismatchOrder,
  type MismatchSort,
  type OrderedPage,
  type OrderPosition,
} from "../../../mismatches/order-store.ts";
import { formatAmount, parseAmount } from "../../../money.ts";
import { FILTER, read, readBy, usage } from "../../input/fields.ts";
import { CHOICES, type ChoiceQuery } from "../../input/mismatch-query.ts";

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
  if (from !== null) query.set(from.direction, `${from.place.value}~${from.place.id}`);
  return query.size === 0 ? "/mismatches" : `/mismatches?${query}`;
}

/** The address of one mismatch, which keeps the list from which the person came. */
export function pathOfMismatch(id: string, { filters, order }: Pick<ListQuery, "filters" | "order">): string {
  const list = pathOfList({ filters, order, from: null });
  return `/mismatches/${encodeURIComponent(id)}${list.slice("/mismatches".length)}`;
}

/** The order as in the address: "-amountAtRisk". */
export function nameOfOrder({ by, descending }: MismatchOrder): string {
  return `${descending ? "-" : ""}${by}`;
}

/** The order after a click on a column's head: first the largest or newest first, then reversed. */
export function orderAfterClick(order: MismatchOrder, by: MismatchSort): MismatchOrder {
  return { by, descending: order.by === by ? !order.descending : true };
}

export function isUsual({ by, descending }: MismatchOrder): boolean {
  return by === USUAL_ORDER.by && descending === USUAL_ORDER.descending;
}

function readOrder(sort: string): MismatchOrder {
  const descending = sort.startsWith("-");
  const by = MISMATCH_SORTS.find((one) => one === sort.slice(descending ? 1 : 0));
  if (by !== undefined) return { by, descending };
  throw usage(
    `sort must be one of ${MISMATCH_SORTS.join(", ")}, with a minus for the largest or newest first, but is "${sort}"`,
  );
}

function readFrom(
  order: MismatchOrder,
  after: string | undefined,
  before: string | undefined,
): OrderedPage["from"] {
  if (after !== undefined) return { direction: "after", place: readPosition("after", after, order) };
  if (before !== undefined) return { direction: "before", place: readPosition("before", before, order) };
  return null;
}

function readPosition(name: string, text: string, { by }: MismatchOrder): OrderPosition {
  const [, value = "", id = ""] = /^(.+)~(\d{1,15})$/.exec(text) ?? [];
  try {
    if (by !== "amountAtRisk") parseInstant(value, name);
    return { value: by === "amountAtRisk" ? formatAmount(parseAmount(value, name)) : value, id };
  } catch {
    throw usage(`${name} "${text}" is not a position in the list by ${by}`);
  }
}
