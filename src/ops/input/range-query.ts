/** A range of a product's time, with the same names for HTTP and the command line. */

import { z } from "zod";
import { type Instant, showDuration } from "../../clock.ts";
import type { Config } from "../../config-file.ts";
import { ReconError } from "../../errors.ts";
import { LONGEST_RANGE_MS, SPANS, type Span } from "../../flows/trends/trends.ts";
import { BACKFILL_SORTS } from "../../sync/backfill-store.ts";
import type { ProductRange, TimeRange } from "../../window.ts";
import {
  FILTER,
  FLAG,
  ONCE,
  orNull,
  PAGE,
  read,
  readOneOf,
  TEXT,
  type Typed,
  timeIn,
  usage,
  withFieldsOf,
} from "./fields.ts";
import { bodyWith } from "./messages.ts";

/** A product's range in a query or a form. */
export const RANGE_QUERY = z.strictObject({ product: ONCE, from: timeIn(ONCE), to: timeIn(ONCE) });

/** Which part of the list of backfills, in which order. */
export const BACKFILL_QUERY = z.strictObject({
  sort: z.enum(BACKFILL_SORTS).default("newest").meta({ description: "by the time of the request" }),
  ...PAGE,
});

/** As typed. */
export type BackfillQuery = z.input<typeof BACKFILL_QUERY>;

/** The body that requests a backfill. */
export const BACKFILL_FORM = z.strictObject(
  {
    productId: TEXT,
    from: timeIn(TEXT),
    to: timeIn(TEXT).meta({ description: "not included" }),
    dryRun: FLAG.meta({ description: "only report the effect of the backfill" }),
  },
  bodyWith("productId, from and to"),
);

/**
 * Reads product, from and to.
 * @throws ReconError `usage` that names the field and its value
 */
export function readProductRange(typed: Typed, config: Config): ProductRange {
  const { product: productId, ...range } = read(RANGE_QUERY, typed);
  checkPulled("product", productId, config);
  checkOrder(typed, range);
  return { productId, ...range };
}

/** Adds a wrong product to a refusal of `readProductRange` that is only about its times. @returns what is to be thrown */
export async function withWrongProduct(refusal: unknown, typed: Typed, config: Config): Promise<unknown> {
  const { product } = typed;
  const isNamed = refusal instanceof ReconError && refusal.fields.some(({ name }) => name === "product");
  if (isNamed || typeof product !== "string") return refusal;
  return await withFieldsOf(refusal, () => checkPulled("product", product, config));
}

/** @throws ReconError `usage` that names the field and its value */
export function readBackfill(body: unknown, config: Config): ProductRange & { readonly dryRun: boolean } {
  const asked = read(BACKFILL_FORM, body);
  checkPulled("productId", asked.productId, config);
  checkOrder(body as Typed, asked);
  return asked;
}

/**
 * @param typed the times as typed
 * @param names of the fields
 * @throws ReconError `usage` if a range ends before it begins
 */
export function checkOrder(
  typed: Typed,
  { from, to }: { readonly [End in keyof TimeRange]: TimeRange[End] | null },
  names: TimeRangeNames = { from: "from", to: "to" },
): void {
  if (from === null || to === null || from < to) return;
  throw usage(
    `${names.from} "${typed[names.from]}" is not before ${names.to} "${typed[names.to]}"`,
    names.from,
  );
}

type TimeRangeNames = Readonly<Record<keyof TimeRange, string>>;

function checkPulled(field: string, value: string, { products }: Config): void {
  const known = products.map((one) => one.productId);
  const productId = readOneOf(field, value, known);
  if (products.find((one) => one.productId === productId)?.walletMode === "transfer") {
    throw usage(`${field} "${productId}" has the wallet mode transfer, so nothing of it is fetched`, field);
  }
}

/** Whose trends, of a span up to now or of a range. */
export const TREND_QUERY = z.strictObject({
  span: z.enum(SPANS, `must be one of ${SPANS.join(", ")}`).default("day"),
  product: orNull(FILTER).meta({ description: "without it all products together" }),
  from: orNull(timeIn(FILTER)).meta({ description: "with to: a range instead of the span" }),
  to: orNull(timeIn(FILTER)),
});

/** @throws ReconError `usage` that names the field and its value */
export function readTrendQuery(
  typed: Typed,
  products: readonly string[],
  now: Instant,
): { readonly time: Span | TimeRange; readonly product: string | null } {
  const { span, product, from, to } = read(TREND_QUERY, typed);
  if (product !== null) readOneOf("product", product, products);
  if (from === null && to === null) return { product, time: span };
  const said = (name: "from" | "to") => `${name} "${typed[name]}"`;
  if (from === null) throw usage(`from is missing: ${said("to")} needs it`, "from");
  if (to === null) throw usage(`to is missing: ${said("from")} needs it`, "to");
  checkOrder(typed, { from, to });
  if (from >= now) throw usage(`${said("from")} is in the future`, "from");
  if (to - from > LONGEST_RANGE_MS)
    throw usage(`${said("to")} is more than ${showDuration(LONGEST_RANGE_MS)} after ${said("from")}`, "to");
  return { product, time: { from, to } };
}
