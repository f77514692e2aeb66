/**
 * Why a day cannot be closed yet: it has not ended, or not everything of it was fetched and compared. Why a statement is
 * empty, and why a date has none: when `closing.zone` changed, a longer day took its time (decision 154).
 */

import { type Instant, showInstant } from "../../clock.ts";
import type { StatedDay } from "../../closed.ts";
import { readClosedBefore, readClosedDays, readLastClosed } from "../../closing/closed-day-store.ts";
import type { PartOfDay } from "../../closing/closed-part-store.ts";
import { dayAfter, type ZonedDay } from "../../closing/day-bounds.ts";
import type { ProductConfig } from "../../config-file.ts";
import type { Query } from "../../db/client.ts";
import { inSnapshot } from "../../db/transactions.ts";
import { ReconError } from "../../errors.ts";
import { sayGone } from "../../health/other-work.ts";
import { type GoneDay, readGoneDays } from "../../ledger/entry-days-store.ts";
import { findGaps } from "../../sync/coverage.ts";
import { readFetched } from "../../sync/coverage-store.ts";
import { readPullState } from "../../sync/pull-state-store.ts";
import type { TimeRange } from "../../window.ts";
import { readComparedUpTo } from "../../work/work-store.ts";
import type { FlowContext } from "../context.ts";
import { findLedgerStart } from "../ledger/known-ledger.ts";

/** @param asked the day that the statement was asked for @returns one sentence or two; null: the statement has rows */
export async function readWhyEmpty(
  context: FlowContext,
  asked: ZonedDay,
  { closed, rows }: StatedDay,
): Promise<string | null> {
  if (rows.length > 0) return null;
  return closed === null ? await inSnapshot(context.sql, (tx) => whyEmpty(context, tx, asked)) : NO_BET;
}

const NO_BET = "Neither side has a bet on this day.";

async function whyEmpty(context: FlowContext, tx: Query, day: ZonedDay): Promise<string> {
  const { config, clock } = context;
  const now = clock.now();
  if (day.from >= now) return `The day is in the future: it begins at ${showInstant(day.from)}.`;
  const products = config.products.filter(({ walletMode }) => walletMode === "seamless");
  if (products.length === 0) return "No product has bets.";
  const partly: string[] = [];
  let isFetched = false;
  for (const { productId } of products) {
    const covered = await readFetched(tx, productId, day);
    isFetched ||= covered.length > 0;
    if (findGaps(day, now - config.pull.settleDelay, covered, []).length > 0) partly.push(productId);
  }
  if (!isFetched) return "This day was not fetched, so nothing is known of it (recon backfill fetches it).";
  if (partly.length > 0)
    return `Not all of this day was fetched: ${partly.join(", ")} (recon coverage shows what is missing). What was fetched has no bet.`;
  for (const product of products) {
    if ((await findLedgerStart(tx, config, product)) === null)
      return `The ledger of ${product.productId} has no entry, so nothing can be compared.`;
  }
  return day.to > now ? "Neither side has a bet on this day so far." : NO_BET;
}

export const NOT_FETCHED =
  "No product was fetched from the beginning of this day to its end (recon backfill fetches it).";

/**
 * A product whose pulling began during the day, or after it, does not hold back the other products.
 * @param parts the products of the day that are closed already, or whose gap was accepted
 * @returns one sentence that says why the day cannot be closed now; null: it can be closed
 */
export async function whyOpen(
  context: FlowContext,
  tx: Query,
  day: ZonedDay,
  parts: readonly PartOfDay[] = [],
): Promise<string | null> {
  const now = context.clock.now();
  const future = whyFuture(day, now);
  if (future !== null) return future;
  if (day.to > now - context.config.pull.settleDelay) {
    return "The day has just ended; pull.settleDelay is not over.";
  }
  const products = context.config.products.filter(({ walletMode }) => walletMode === "seamless");
  if (products.length === 0) return "No product has bets.";
  const [gone] = await readGoneDays(tx, day);
  if (gone !== undefined) return sayVanished(gone);
  let hasWhole = false;
  for (const product of products) {
    const begin = await readFirstFetch(tx, product, day);
    if (begin === null || begin >= day.to) continue;
    hasWhole ||= begin <= day.from;
    const part = parts.find(({ productId }) => productId === product.productId);
    if (part?.rows != null) continue;
    const reason = await whyIncomplete(
      context,
      tx,
      product,
      { ...day, from: Math.max(begin, day.from) },
      part?.gap != null,
    );
    if (reason !== null) return reason;
  }
  return hasWhole ? null : NOT_FETCHED;
}

/** @returns one sentence if the day has not ended */
export function whyFuture({ to }: ZonedDay, now: Instant): string | null {
  return to > now ? `The day ends at ${showInstant(to)}, which is in the future.` : null;
}

/** The day is closed once the same entries are there again, or the operator accepts that they are gone. */
function sayVanished(gone: GoneDay): string {
  return `callback_entries does not have the entries that were accepted: ${sayGone(gone)}. Insert missing rows again from a backup; if the day then stays open, or is right as it is, accept it (recon ledger accept --day ${gone.day} --note TEXT).`;
}

async function whyIncomplete(
  { config, clock }: FlowContext,
  tx: Query,
  product: ProductConfig,
  day: ZonedDay,
  isAccepted: boolean,
): Promise<string | null> {
  const { productId } = product;
  const covered = await readFetched(tx, productId, day);
  const [gap] = findGaps(day, clock.now(), covered, []);
  if (gap !== undefined && !isAccepted) {
    return `${productId} was not fetched from ${showInstant(gap.from)} to ${showInstant(gap.to)} (recon coverage says why).`;
  }
  if ((await findLedgerStart(tx, config, product)) === null) return "The ledger has no entry.";
  const compared = await readComparedUpTo(tx, productId);
  if (compared !== undefined && (compared === null || compared < day.to)) {
    const since = compared === null ? "nothing" : `only what arrived until ${showInstant(compared)}`;
    return `Of ${productId}, ${since} has been compared (recon status says why).`;
  }
  return null;
}

/** The time of a day that a product lacks since it is pulled, in order. */
export async function readMissing(
  { clock }: FlowContext,
  tx: Query,
  product: ProductConfig,
  day: ZonedDay,
): Promise<TimeRange[]> {
  const begin = await readFirstFetch(tx, product, day);
  if (begin === null || begin >= day.to) return [];
  const covered = await readFetched(tx, product.productId, day);
  return findGaps({ from: Math.max(begin, day.from), to: day.to }, clock.now(), covered, []);
}

/** The beginning of pulling, or of earlier time of the day that a backfill has fetched; null: nothing was fetched. */
async function readFirstFetch(
  tx: Query,
  { productId }: ProductConfig,
  day: ZonedDay,
): Promise<number | null> {
  const begin = (await readPullState(tx, productId))?.begin ?? null;
  if (begin !== null && begin <= day.from) return begin;
  const [first] = await readFetched(tx, productId, day);
  if (first === undefined) return begin;
  return begin === null ? first.from : Math.min(begin, first.from);
}

/** Whether one of these open days can still be closed: any while none is closed, and then one after the first closed day. */
export async function isAnyClosable(tx: Query, open: readonly { readonly day: string }[]): Promise<boolean> {
  const [first] = await readClosedDays(tx, 0, 1);
  return open.some(({ day }) => first === undefined || day > first.day);
}

/**
 * Refuses the statement of a date without a day of its own: it would be a second statement of closed time.
 * @param date of `zone`, and not closed
 * @throws ReconError `not-found` that names the closed day
 */
export async function checkNotLeftOut(tx: Query, date: string, zone: string): Promise<void> {
  const last = await readLastClosed(tx);
  if (last === null || date >= dayAfter(last, zone).day) return;
  const taker = await readClosedBefore(tx, date);
  if (taker === null) return;
  throw new ReconError("not-found", `there is no statement of ${date}: ${describe(taker)}; ask for ${taker}`);
}

/**
 * Why a date that lies before the next day to close, and is not closed, never will be.
 * @returns a sentence without its full stop
 */
export async function sayLeftOut(tx: Query, date: string): Promise<string> {
  const taker = await readClosedBefore(tx, date);
  return taker === null ? "the first closed day is later, and days are closed in order" : describe(taker);
}

function describe(taker: string): string {
  return `it has no day of its own, because its time belongs to the closed day ${taker} (closing.zone changed)`;
}
