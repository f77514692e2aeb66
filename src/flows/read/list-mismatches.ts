/** Mismatches as commands and HTTP show them: a page of the list, and one of them, each with the day in whose statement it counts. */

import { readClosedBounds, withStatementDays } from "../../closing/closed-day-store.ts";
import { StatementDays } from "../../closing/statement.ts";
import { cursorAt, placeAfter, placeOfCursor, readChangesEnd } from "../../db/change-position.ts";
import type { Query } from "../../db/client.ts";
import type { Mismatch } from "../../mismatch.ts";
import {
  listChanged,
  listInOrder,
  type MismatchOrder,
  type OrderedPage,
  type OrderPosition,
} from "../../mismatches/order-store.ts";
import {
  listMismatches as listById,
  type MismatchChoice,
  readMismatch as readById,
  type StoredMismatch,
} from "../../mismatches/store.ts";
import type { FlowContext } from "../context.ts";

interface Context extends Pick<FlowContext, "config"> {
  readonly sql: Query;
}

/** What of the list is asked for. */
export interface MismatchFilter extends MismatchChoice {
  /** null: in the order of their discovery */
  readonly order: MismatchOrder | null;
  readonly limit: number;
  /** the `next` of the page before in the same order */
  readonly after: string | null;
  /** only those that changed after this cursor, in the order of their changes; of any status, if no status is chosen */
  readonly changedSince?: string | null;
}

/**
 * One page; `next` is null on the last page. All pages together have each mismatch that was in the list at the first page,
 * and still fits the filter, once, as long as the values of the order stay. With `cursor` the list continues with what changes
 * after this answer.
 */
export async function listMismatches(
  context: Context,
  { order, changedSince = null, ...filter }: MismatchFilter,
): Promise<{ mismatches: Mismatch[]; next: string | null; cursor: string | null }> {
  const end = await readChangesEnd(context.sql);
  if (changedSince !== null) {
    const from = placeOfCursor(filter.after ?? changedSince, end);
    const { mismatches, last } = await listChanged(context.sql, filter, filter.limit, from, end);
    const cursor = cursorAt(end, placeAfter(from, end, last));
    return {
      mismatches: await withDays(context, mismatches),
      next: last === null ? null : cursor,
      cursor,
    };
  }
  const page = await listPage(context, order, filter);
  // A later page does not know what changed since the first one.
  return { ...page, cursor: filter.after === null ? cursorAt(end, end) : null };
}

async function listPage(
  context: Context,
  order: MismatchOrder | null,
  filter: Omit<MismatchFilter, "order" | "changedSince">,
): Promise<{ mismatches: Mismatch[]; next: string | null }> {
  if (order === null) {
    const { mismatches, next } = await listById(context.sql, filter);
    return { mismatches: await withDays(context, mismatches), next };
  }
  const { limit, after } = filter;
  const from = after === null ? null : ({ place: placeOf(after), direction: "after" } as const);
  const page = await listOrdered(context, filter, order, { limit, from });
  return { mismatches: page.mismatches, next: page.after === null ? null : nameOfPlace(page.after) };
}

/** A position in an order as text, the value of a mismatch and its id: "3000~17". */
export function nameOfPlace({ value, id }: OrderPosition): string {
  return `${value}~${id}`;
}

export function placeOf(name: string): OrderPosition {
  const at = name.lastIndexOf("~");
  return { value: name.slice(0, Math.max(at, 0)), id: name.slice(at + 1) };
}

/** As `listInOrder`, with the days. */
export async function listOrdered(
  context: Context,
  choice: MismatchChoice,
  order: MismatchOrder,
  page: OrderedPage,
): Promise<Omit<Awaited<ReturnType<typeof listInOrder>>, "mismatches"> & { mismatches: Mismatch[] }> {
  const { mismatches, ...around } = await listInOrder(context.sql, choice, order, page);
  return { mismatches: await withDays(context, mismatches), ...around };
}

/** @returns null: there is none with this id */
export async function readMismatch(context: Context, id: string): Promise<Mismatch | null> {
  const found = await readById(context.sql, id);
  return found === null ? null : ((await withDays(context, [found]))[0] ?? null);
}

/** The days of statements, as they are closed now. */
export async function readStatementDays({ sql, config }: Context): Promise<StatementDays> {
  return new StatementDays(await readClosedBounds(sql), config.closing.zone);
}

async function withDays({ sql, config }: Context, found: readonly StoredMismatch[]): Promise<Mismatch[]> {
  return await withStatementDays(sql, config.closing.zone, found);
}
