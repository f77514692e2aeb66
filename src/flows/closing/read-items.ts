/** The lines of statements: of a day, closed or open, and of the closed days of a month. */

import { z } from "zod";
import { readClosedLines } from "../../closing/closed-bet-store.ts";
import { type ClosedDay, readClosedDay, readClosedDaysOf } from "../../closing/closed-day-store.ts";
import type { ZonedDay } from "../../closing/day-bounds.ts";
import { isAltered, type Statement } from "../../closing/statement.ts";
import { findUnequalLines } from "../../closing/sums-check-store.ts";
import type { Query } from "../../db/client.ts";
import { readDeletedTime } from "../../db/retention-store.ts";
import { cancelledBy, inSnapshot } from "../../db/transactions.ts";
import { findOtherProducts, sumEntries } from "../../diff/outside-store.ts";
import { ReconError } from "../../errors.ts";
import { type ExplainedBy, itemsOf, type ReportItem } from "../../report-item.ts";
import { overlaps } from "../../window.ts";
import { REPORT_LIMITS } from "../compare/comparison-context.ts";
import type { FlowContext } from "../context.ts";
import type { Making } from "../reports/read-report.ts";
import { type ItemPlace, itemsOutside, openItems, type PlacedItem } from "../reports/report-items.ts";
import { sayAltered } from "./closed-facts.ts";
import { checkNotLeftOut } from "./why-open.ts";

/** The day or the month whose lines are asked for. */
export type AskedItems =
  /** @see readStatement */
  (ZonedDay & { readonly isZoneAsked: boolean }) | { readonly month: string };

/** Which lines; null: all. */
export interface ItemFilter {
  readonly productId: string | null;
  readonly currency: string | null;
  readonly explainedBy: ExplainedBy | "nothing" | null;
}

/** A line's place among all that were asked for. */
interface FullPlace extends ItemPlace {
  readonly day: string;
  readonly isClosed: boolean;
  readonly productId: string;
}

export interface ItemPage {
  readonly items: readonly ReportItem[];
  /** null: the last page */
  readonly next: string | null;
}

const MAKING: Making = {
  signal: new AbortController().signal,
  limits: REPORT_LIMITS,
  rest: async () => {},
};

/**
 * One page of lines.
 * @param after the `next` of the page before; null: the first page
 * @throws ReconError `usage` if `after` is no `next`; `conflict` if a day was altered, or was closed since the page before;
 * `bets-deleted` if the lines are not kept
 */
export async function readItemPage(
  context: FlowContext,
  asked: AskedItems,
  filter: ItemFilter,
  { limit, after }: { readonly limit: number; readonly after: string | null },
  making: Making = MAKING,
): Promise<ItemPage> {
  const items: ReportItem[] = [];
  let last: FullPlace | null = null;
  let isMore = false;
  const from = after === null ? null : placeOf(after);
  await walk(context, asked, filter, from, making, async ({ item, place }) => {
    isMore = items.length === limit;
    if (isMore) return false;
    items.push(item);
    last = place;
    return true;
  });
  return { items, next: isMore && last !== null ? nameOfPlace(last) : null };
}

const ITEMS_AT_ONCE = 500;

/**
 * All lines, in pieces. Those of a product and a day come from one snapshot, so that they add up to its rows.
 * @throws ReconError as `readItemPage`
 */
export async function eachItems(
  context: FlowContext,
  asked: AskedItems,
  filter: ItemFilter,
  take: (items: readonly ReportItem[]) => Promise<void>,
  making: Making = MAKING,
): Promise<void> {
  let held: ReportItem[] = [];
  await walk(context, asked, filter, null, making, async ({ item }) => {
    held.push(item);
    if (held.length < ITEMS_AT_ONCE) return true;
    await take(held);
    held = [];
    return true;
  });
  if (held.length > 0) await take(held);
}

/** @param take returns false to end */
async function walk(
  context: FlowContext,
  asked: AskedItems,
  filter: ItemFilter,
  after: FullPlace | null,
  making: Making,
  take: (line: { readonly item: ReportItem; readonly place: FullPlace }) => Promise<boolean>,
): Promise<void> {
  const days = await findDays(context, asked);
  if (after !== null && !days.some(({ day }) => day.day === after.day)) throw noNext(nameOfPlace(after));
  for (const { day, closed } of days) {
    if (after !== null && day.day < after.day) continue;
    const own = after?.day === day.day ? after : null;
    if (own !== null && own.isClosed !== (closed !== null)) {
      const what = closed === null ? "is not closed" : "was closed";
      throw new ReconError(
        "conflict",
        `${day.day} ${what} since the page before: begin again without "after"`,
      );
    }
    for (const productId of await productsOf(context, closed)) {
      const isWanted = filter.productId === null || filter.productId === productId;
      if (!isWanted || (own !== null && productId < own.productId)) continue;
      const place = own?.productId === productId ? own : null;
      const isDone = await inSnapshot(context.sql, async (tx) =>
        cancelledBy(context.sql, tx, making.signal, async () => {
          const lines =
            closed === null
              ? openLines(context, tx, productId, day, place, making)
              : closedLines(tx, productId, closed, place);
          for await (const { item, place: at } of lines) {
            if (!fits(item, filter)) continue;
            const isClosed = closed !== null;
            if (!(await take({ item, place: { ...at, day: day.day, isClosed, productId } }))) return true;
          }
          return false;
        }),
      );
      if (isDone) return;
    }
  }
}

function fits({ currency, explainedBy }: ReportItem, filter: ItemFilter): boolean {
  if (filter.currency !== null && filter.currency !== currency) return false;
  return filter.explainedBy === null || filter.explainedBy === (explainedBy ?? "nothing");
}

type AskedDay = Exclude<AskedItems, { readonly month: string }>;

/** Whether the lines of a day are those that it was closed with. */
export async function isStored({ sql }: FlowContext, asked: AskedDay): Promise<boolean> {
  return isAskedFor(await readClosedDay(sql, asked.day), asked);
}

function isAskedFor(closed: ClosedDay | null, { zone, isZoneAsked }: AskedDay): closed is ClosedDay {
  return closed !== null && (!isZoneAsked || closed.zone === zone);
}

/** @throws ReconError `conflict` if a closed day was altered */
async function findDays(
  { sql, config }: FlowContext,
  asked: AskedItems,
): Promise<{ readonly day: ZonedDay; readonly closed: ClosedDay | null }[]> {
  if ("month" in asked) return (await readClosedDaysOf(sql, asked.month)).map(unaltered);
  const closed = await readClosedDay(sql, asked.day);
  if (isAskedFor(closed, asked)) return [unaltered(closed)];
  if (closed === null && asked.zone === config.closing.zone)
    await checkNotLeftOut(sql, asked.day, asked.zone);
  return [{ day: asked, closed: null }];
}

function unaltered(closed: ClosedDay) {
  const altered = sayAltered([{ ...closed, isAltered: isAltered(closed) }]);
  if (altered !== null) throw new ReconError("conflict", altered);
  return { day: closed, closed };
}

/** In the order of their names. */
async function productsOf({ sql, config }: FlowContext, closed: ClosedDay | null): Promise<string[]> {
  if (closed !== null) return [...new Set(closed.rows.map(({ productId }) => productId))].sort();
  const compared = comparedOf(config);
  return [...compared, ...(await findOtherProducts(sql, compared))].sort();
}

function comparedOf({ products }: FlowContext["config"]): string[] {
  return products.filter(({ walletMode }) => walletMode === "seamless").map(({ productId }) => productId);
}

function openLines(
  context: FlowContext,
  tx: Query,
  productId: string,
  day: ZonedDay,
  after: ItemPlace | null,
  making: Making,
): AsyncGenerator<PlacedItem> {
  const product = context.config.products.find((one) => one.productId === productId);
  return product === undefined || product.walletMode === "transfer"
    ? itemsOutside(tx, productId, day, after)
    : openItems(context, tx, product, day, after, making);
}

const BETS_AT_ONCE = 1_000;

/** The lines as the day was closed. */
async function* closedLines(
  tx: Query,
  productId: string,
  closed: ClosedDay,
  after: ItemPlace | null,
): AsyncGenerator<PlacedItem> {
  if (after === null || (await isDeleting(tx, productId, closed))) await checkComplete(tx, productId, closed);
  yield* linesAsClosed(tx, productId, closed, after);
}

/** The lines that are stored of a day that is closed or, in the transaction that closes it, has all of its bets. */
export async function* linesAsClosed(
  tx: Query,
  productId: string,
  closed: Statement,
  after: ItemPlace | null,
): AsyncGenerator<PlacedItem> {
  if (await isOutsideAsClosed(tx, productId, closed)) {
    yield* itemsOutside(tx, productId, closed, after);
    return;
  }
  let last = after;
  for (;;) {
    // A page of lines may have ended within the last bet, so it is read again.
    const bets = await readClosedLines(tx, closed.day, productId, last, BETS_AT_ONCE + 1);
    for (const bet of bets) {
      const { username, subject, betRef, currency } = bet;
      for (const [part, item] of itemsOf(closed.day, productId, bet).entries()) {
        const place = { phase: 0, username, subject, betRef, currency, part };
        if (last === null || part > last.part || !isSameBet(place, last)) yield { item, place };
      }
    }
    const end = bets.at(-1);
    if (end === undefined || bets.length <= BETS_AT_ONCE) return;
    last = { ...end, phase: 0, part: Number.POSITIVE_INFINITY };
  }
}

function isSameBet(a: ItemPlace, b: ItemPlace): boolean {
  return (
    a.username === b.username && a.subject === b.subject && a.betRef === b.betRef && a.currency === b.currency
  );
}

async function isDeleting(tx: Query, productId: string, day: ClosedDay): Promise<boolean> {
  const { records, entries } = await readDeletedTime(tx, productId);
  return overlaps(day, records) || overlaps(day, entries);
}

/** @throws ReconError `bets-deleted` if the lines that are kept do not add up to the stored statement */
async function checkComplete(tx: Query, productId: string, { day, archive }: ClosedDay): Promise<void> {
  const [first] = await findUnequalLines(tx, day, productId);
  if (first === undefined) return;
  const { figure, currency, stated, ofBets } = first;
  const unit = figure.endsWith("bets") ? "" : ` ${currency}`;
  throw new ReconError(
    "bets-deleted",
    `the lines of ${productId} of the closed day ${day} are not kept any more: their ${figure} is ${ofBets}${unit}, and that of the statement ${stated}${unit}. Retention deleted bets of the day (retain.records, retain.entries), or an older version corrected it; its statement stays${archive === undefined ? "" : `. The day's sealed files have its lines: ${day} in closing.archive`}`,
  );
}

/**
 * Of a product that nothing compared, only the sum was stored. Its entries are its lines as long as they add up to it;
 * otherwise the sum is the line.
 */
async function isOutsideAsClosed(tx: Query, productId: string, closed: Statement): Promise<boolean> {
  const [first] = await readClosedLines(tx, closed.day, productId, null, 1);
  if (first === undefined || first.subject !== "outside" || first.username !== "") return false;
  const sums = await sumEntries(tx, [productId], closed);
  const stored = closed.rows.filter((row) => row.productId === productId);
  return (
    sums.length === stored.length &&
    stored.every((row) => sums.some((one) => one.currency === row.currency && one.outside === row.outside))
  );
}

function nameOfPlace(place: FullPlace): string {
  const { day, isClosed, productId, phase, username, subject, betRef, currency, part } = place;
  const values = [day, isClosed, productId, phase, username, subject, betRef, currency, part];
  return Buffer.from(JSON.stringify(values)).toString("base64url");
}

const PLACE = z.tuple([
  z.iso.date(),
  z.boolean(),
  z.string(),
  z.int(),
  z.string(),
  z.string(),
  z.string(),
  z.string(),
  z.int(),
]);

function noNext(name: string): ReconError {
  const message = `after "${name.slice(0, 60)}" is not the "next" of a page`;
  return new ReconError("usage", message, { fields: [{ name: "after", message }] });
}

function placeOf(name: string): FullPlace {
  const text = Buffer.from(name, "base64url").toString();
  const read = PLACE.safeParse(text.startsWith("[") && !text.includes("\\u0000") ? parseJson(text) : null);
  if (!read.success) throw noNext(name);
  const [day, isClosed, productId, phase, username, subject, betRef, currency, part] = read.data;
  return { day, isClosed, productId, phase, username, subject, betRef, currency, part };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
