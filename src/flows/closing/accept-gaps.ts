/** The operator accepts that a product's time of a day cannot be fetched: the day is closed without it (§3.10). */

import { formatInstant, type Instant, parseInstant, showDuration, showInstant } from "../../clock.ts";
import type { AcceptedGap } from "../../closed.ts";
import { lockClosing, readClosedDay } from "../../closing/closed-day-store.ts";
import { readParts, writePart } from "../../closing/closed-part-store.ts";
import type { ZonedDay } from "../../closing/day-bounds.ts";
import type { ProductConfig } from "../../config-file.ts";
import type { Query } from "../../db/client.ts";
import { inSnapshot } from "../../db/transactions.ts";
import { ReconError } from "../../errors.ts";
import type { TimeRange } from "../../window.ts";
import { type FlowContext, findProduct } from "../context.ts";
import { requireNext } from "./close-day.ts";
import { readMissing, whyFuture } from "./why-open.ts";

export interface GapAcceptance {
  readonly productIds: readonly string[];
  readonly by: string;
  /** why */
  readonly note: string;
}

/**
 * Stores it for the closing of the day. It is forgotten if the day then stays open for another reason.
 * @throws ReconError `usage` that names a product that is unknown, or has no gap on this day; `conflict` if the day is closed, or
 * another one is next
 */
export async function acceptGaps(
  context: FlowContext,
  day: ZonedDay,
  { productIds, by, note }: GapAcceptance,
): Promise<void> {
  const products = productIds.map((productId) => requireProduct(context, productId));
  await inSnapshot(context.sql, async (tx) => {
    await lockClosing(tx);
    const bounds = await requireOpen(context, tx, day);
    const parts = await readParts(tx, bounds);
    for (const product of products) {
      const { productId } = product;
      const missing = await requireGap(context, tx, product, bounds);
      // Another process closes the product already, with the gap as it was accepted before.
      if (parts.some((part) => part.productId === productId && part.rows !== null)) continue;
      const at = formatInstant(context.clock.now());
      const gap = { missing: missing.map(toTimes), by, note, at };
      await writePart(tx, bounds, { productId, rows: null, gap });
    }
  });
}

export interface GapOfProduct {
  readonly productId: string;
  readonly missing: readonly TimeRange[];
}

/** The products that lack time of a day. */
export async function readGaps(context: FlowContext, day: ZonedDay): Promise<GapOfProduct[]> {
  return await inSnapshot(context.sql, async (tx) => {
    const gaps: GapOfProduct[] = [];
    for (const product of context.config.products) {
      if (product.walletMode !== "seamless") continue;
      const missing = await readMissing(context, tx, product, day);
      if (missing.length > 0) gaps.push({ productId: product.productId, missing });
    }
    return gaps;
  });
}

/** What the operator would accept, by product. @throws ReconError as `acceptGaps` does */
export async function previewGaps(
  context: FlowContext,
  day: ZonedDay,
  productIds: readonly string[],
): Promise<GapOfProduct[]> {
  const products = productIds.map((productId) => requireProduct(context, productId));
  return await inSnapshot(context.sql, async (tx) => {
    const bounds = await requireOpen(context, tx, day);
    const gaps = [];
    for (const product of products) {
      const missing = await requireGap(context, tx, product, bounds);
      gaps.push({ productId: product.productId, missing });
    }
    return gaps;
  });
}

/** "P2 lacks 4 h (2026-11-20 20:00:00Z to 2026-11-21 00:00:00Z), which cli:ops accepted: the vendor is gone" */
export function sayAcceptedGap({ productId, missing, by, note }: AcceptedGap): string {
  const times = missing.map(({ from, to }) => ({
    from: parseInstant(from, "from"),
    to: parseInstant(to, "to"),
  }));
  return `${productId} lacks ${sayLength(times)} (${sayTimes(times)}), which ${by} accepted: ${note}`;
}

const MOST_TIMES = 3;

export function sayTimes(missing: readonly TimeRange[]): string {
  const named = missing
    .slice(0, MOST_TIMES)
    .map(({ from, to }) => `${showInstant(from)} to ${showInstant(to)}`);
  const more = missing.length - named.length;
  return `${named.join(", ")}${more > 0 ? `, and ${more} more` : ""}`;
}

/** "3 h 10 min" */
export function sayLength(missing: readonly TimeRange[]): string {
  return showDuration(missing.reduce((sum, { from, to }) => sum + to - from, 0));
}

function requireProduct({ config }: FlowContext, productId: string): ProductConfig {
  const product = asUsage(() => findProduct(config, productId));
  if (product.walletMode === "seamless") return product;
  throw new ReconError(
    "usage",
    `${productId} has no bets that are fetched (walletMode "transfer"), so it has no gap`,
  );
}

function asUsage<Result>(read: () => Result): Result {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof ReconError)) throw error;
    throw new ReconError("usage", error.message, { cause: error });
  }
}

async function requireOpen(context: FlowContext, tx: Query, day: ZonedDay): Promise<ZonedDay> {
  const refuse = (why: string) => new ReconError("conflict", `no gap of ${day.day} can be accepted: ${why}`);
  if ((await readClosedDay(tx, day.day)) !== null) throw refuse("the day was closed before");
  const future = whyFuture(day, context.clock.now());
  if (future !== null) throw refuse(`it has not ended (${future})`);
  return await requireNext(tx, day);
}

async function requireGap(
  context: FlowContext,
  tx: Query,
  product: ProductConfig,
  day: ZonedDay,
): Promise<TimeRange[]> {
  const missing = await readMissing(context, tx, product, day);
  if (missing.length > 0) return missing;
  throw new ReconError(
    "usage",
    `${product.productId} has no gap on ${day.day}, so there is nothing to accept (recon coverage --product ${product.productId})`,
  );
}

function toTimes({ from, to }: { readonly from: Instant; readonly to: Instant }) {
  return { from: formatInstant(from), to: formatInstant(to) };
}
