/** Which statement, and which of its lines, are asked for, with the same names for HTTP and the command line. */

import { z } from "zod";
import { type Instant, isZoneName, ZONE_RULE } from "../../clock.ts";
import { datesOf, dayOf, type ZonedDay } from "../../closing/day-bounds.ts";
import { findOtherProducts } from "../../diff/outside-store.ts";
import type { ItemFilter } from "../../flows/closing/read-items.ts";
import type { FlowContext } from "../../flows/context.ts";
import { EXPLAINED_BY } from "../../report-item.ts";
import {
  CURRENCY,
  FILTER,
  FLAG,
  ONCE,
  orNull,
  PAGE,
  read,
  readOneOf,
  TEXT,
  type Typed,
  usage,
  words,
} from "./fields.ts";
import { bodyWith, must } from "./messages.ts";
import { LONGEST_NOTE } from "./transfer-query.ts";

const REPORT_QUERY = z.strictObject({
  day: ONCE.meta({ format: "date", description: "the day; either this or month" }).optional(),
  month: ONCE.meta({ description: "such as 2026-11; the closed days of closing.zone" }).optional(),
  zone: ONCE.meta({
    description:
      "of the day: a name such as Asia/Bangkok; without it the zone in which the day was closed, or closing.zone",
  }).optional(),
});

/** A day, and another one that it is compared with. */
export const AGAINST_QUERY = REPORT_QUERY.extend({
  against: ONCE.meta({
    format: "date",
    description: "another day, in the same zone, to compare day with",
  }).optional(),
});

/** The month of an invoice. */
export const INVOICE_QUERY = z.strictObject({
  month: ONCE.meta({ description: "such as 2026-11; the closed days of closing.zone" }),
});

/** The requested day. */
export interface AskedDay extends ZonedDay {
  /** false: a closed day is shown in the zone in which it was closed */
  readonly isZoneAsked: boolean;
}

export interface AskedMonth {
  /** YYYY-MM */
  readonly month: string;
  /** its dates in order */
  readonly dates: readonly string[];
}

/**
 * Reads which day or month was asked for.
 * @param defaultZone `closing.zone`
 * @throws ReconError `usage` that names the field and its value
 */
export function readReportAsk(typed: unknown, defaultZone: string): AskedDay | AskedMonth {
  const { day, month, zone } = read(REPORT_QUERY, typed);
  if (month !== undefined) {
    if (day !== undefined) throw usage("give either day or month");
    if (zone !== undefined && zone !== defaultZone) {
      throw usage(
        `a month is stated in closing.zone, which is ${defaultZone}; leave out zone, which is "${zone.slice(0, 60)}"`,
      );
    }
    return parseMonth(month);
  }
  if (day === undefined)
    throw usage("day is missing; give a day such as 2026-11-20, or a month such as 2026-11");
  return { ...parseDay(day, zone ?? defaultZone), isZoneAsked: zone !== undefined };
}

/** Two days that are compared. */
export interface AskedDays {
  readonly day: AskedDay;
  readonly against: AskedDay;
}

/**
 * Reads both days of a comparison. @returns null: there is no `against`
 * @throws ReconError `usage` that names the field and its value
 */
export function readAgainstAsk(typed: unknown, defaultZone: string): AskedDays | null {
  const { against, ...when } = read(AGAINST_QUERY, typed);
  if (against === undefined) return null;
  const day = readReportAsk(when, defaultZone);
  if ("month" in day) throw usage("against is compared with a day: give day, not month", "against");
  if (against === day.day)
    throw usage(`against must be another day than day, but both are "${against}"`, "against");
  const found = parseDay(against, day.zone, "against");
  return { day, against: { ...found, isZoneAsked: day.isZoneAsked } };
}

/** Whether a day has ended, or the first one of a month: before that, nothing of it can be closed. */
export function hasEnded(asked: AskedDay | AskedMonth, zone: string, now: Instant): boolean {
  const day = "month" in asked ? parseDay(asked.dates[0] ?? "", zone) : asked;
  return day.to <= now;
}

/**
 * As `readReportAsk`, for callers that take only a day.
 * @throws ReconError `usage` that names the field and its value
 */
export function readReportDay(typed: unknown, defaultZone = "UTC"): AskedDay {
  const asked = readReportAsk(typed, defaultZone);
  if ("month" in asked) throw usage("day is missing");
  return asked;
}

/** @throws ReconError `usage` that names the wrong value */
export function parseDay(day: string, zone: string, field = "day"): ZonedDay {
  if (!isZoneName(zone)) {
    throw usage(`there is no zone "${zone.slice(0, 60)}"; a zone is ${ZONE_RULE}`, "zone");
  }
  const found = dayOf(day, zone);
  if (found === null)
    throw usage(`${field} must be a date such as 2026-11-20, but is "${day.slice(0, 60)}"`, field);
  return found;
}

/** @throws ReconError `usage` that names the wrong value */
export function parseMonth(month: string): AskedMonth {
  const dates = datesOf(month);
  if (dates === null)
    throw usage(`month must be a month such as 2026-11, but is "${month.slice(0, 60)}"`, "month");
  return { month, dates };
}

export const ITEMS_QUERY = REPORT_QUERY.extend({
  productId: orNull(FILTER),
  currency: orNull(CURRENCY),
  explainedBy: orNull(z.enum([...EXPLAINED_BY, "nothing"])).meta({
    description: "what explains the line; nothing: it is in the rest",
  }),
  ...PAGE,
  after: orNull(FILTER).meta({ description: "the `next` of the page before; without it the first page" }),
});

export interface AskedLines {
  readonly asked: AskedDay | AskedMonth;
  readonly filter: ItemFilter;
  readonly page: { readonly limit: number; readonly after: string | null };
}

/** @throws ReconError `usage` that names the field and its value */
export async function readItemsAsk({ sql, config }: FlowContext, typed: Typed): Promise<AskedLines> {
  const { limit, after, productId, currency, explainedBy, ...when } = read(ITEMS_QUERY, typed);
  const asked = readReportAsk(when, config.closing.zone);
  const known = config.products.map((product) => product.productId);
  if (productId !== null && !known.includes(productId))
    readOneOf("productId", productId, [...known, ...(await findOtherProducts(sql, known))]);
  return { asked, filter: { productId, currency, explainedBy }, page: { limit, after } };
}

const MOST_GAPS = 1_000;

/** The body that closes a day or a month. */
export const CLOSING_FORM = z.strictObject(
  {
    day: TEXT.meta({ format: "date", description: "either this or month; of closing.zone" }).optional(),
    month: TEXT.meta({
      description: "such as 2026-11: its days in order, up to the first that stays open",
    }).optional(),
    acceptGap: z
      .array(TEXT, must("be a list of products"))
      .min(1, must("be a list of products"))
      .max(MOST_GAPS, must(`be a list of at most ${MOST_GAPS} products`))
      .meta({ description: "products of whose day the time that cannot be fetched is left out; needs note" })
      .optional(),
    note: words(LONGEST_NOTE).meta({ description: "why the time is left out" }).optional(),
    dryRun: FLAG.meta({ description: "only say what closing would give up" }),
  },
  bodyWith("day or month"),
);

/** What is to be closed. */
export type AskedClosing = { readonly dryRun: boolean } & (
  | { readonly dates: readonly string[] }
  | {
      readonly day: ZonedDay;
      /** null: no gap is accepted */
      readonly gaps: { readonly productIds: readonly string[]; readonly note: string } | null;
    }
);

/** @throws ReconError `usage` that names the field and its value */
export function readClosing(body: unknown, zone: string): AskedClosing {
  const { day, month, acceptGap, note, dryRun } = read(CLOSING_FORM, body);
  if ((day === undefined) === (month === undefined)) throw usage("give either day or month");
  if ((acceptGap === undefined) !== (note === undefined))
    throw usage("note is the reason of acceptGap: give both", acceptGap === undefined ? "note" : "acceptGap");
  if (month === undefined) {
    const gaps =
      acceptGap === undefined || note === undefined ? null : { productIds: [...new Set(acceptGap)], note };
    return { dryRun, day: parseDay(day ?? "", zone), gaps };
  }
  if (acceptGap !== undefined) throw usage("acceptGap is about one day: give day, not month", "acceptGap");
  return { dryRun, dates: parseMonth(month).dates };
}

/** Whose sealed files are checked. */
export const ARCHIVE_QUERY = z.strictObject({
  day: ONCE.meta({ format: "date", description: "a closed day" }),
});
