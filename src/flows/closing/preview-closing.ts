/** What closing a day would give up: what is missing, what is not decided yet, and the open mismatches (§3.10). */

import type { AnswerOf } from "../../answer.ts";
import { formatInstant } from "../../clock.ts";
import { readClosedDay, readLastClosed, readLastNumber } from "../../closing/closed-day-store.ts";
import { readParts } from "../../closing/closed-part-store.ts";
import { dayAfter, type ZonedDay } from "../../closing/day-bounds.ts";
import { inSnapshot } from "../../db/transactions.ts";
import { type SumOfCurrency, sumChosen } from "../../mismatches/order-store.ts";
import { formatMoney, parseAmount } from "../../money.ts";
import type { ReportRow } from "../../report.ts";
import type { TimeRange } from "../../window.ts";
import { findUnusable } from "../archive/write-archive.ts";
import type { FlowContext } from "../context.ts";
import { type Making, readReport } from "../reports/read-report.ts";
import { previewGaps, sayLength, sayTimes } from "./accept-gaps.ts";
import { requireNext } from "./close-day.ts";
import { type CLOSINGS, findNextDay, sayGivenUp } from "./close-days.ts";
import { whyOpen } from "./why-open.ts";

export interface DayPreview {
  readonly day: string;
  /** why the day would stay open; null: it would be closed */
  readonly reason: string | null;
  /** the missing time that would be accepted */
  readonly gaps: readonly { readonly productId: string; readonly missing: readonly TimeRange[] }[];
  /** the rows that have a part which is not decided yet */
  readonly pending: readonly Pick<ReportRow, "productId" | "currency" | "pending">[];
  /** the open and acknowledged mismatches that count on the day, by currency */
  readonly mismatches: readonly SumOfCurrency[];
}

export interface ClosingPreview {
  /** the days that are not closed, up to the first that would stay open */
  readonly days: readonly DayPreview[];
  /** what the first closed day of all gives up, as sentences; null: another day is closed, or none would be */
  readonly givenUp: string | null;
}

/**
 * @param days dates in their order; those that can no longer be closed are left out, as closing a month does
 * @param acceptedIds the products of the only day whose gap would be accepted
 * @param making how the reports of the days are made
 * @throws ReconError as `closeDay` and `acceptGaps` do
 */
export async function previewClosing(
  context: FlowContext,
  days: readonly ZonedDay[],
  acceptedIds: readonly string[],
  making?: Making,
): Promise<ClosingPreview> {
  const next = days.length > 1 ? await findNextDay(context, context.config.closing.zone) : null;
  const { archive } = context.config.closing;
  const unusable = archive === null ? null : await findUnusable(archive);
  const previews: DayPreview[] = [];
  // Refuses, as accepting would, even if the day is closed.
  const [only] = days;
  if (acceptedIds.length > 0 && only !== undefined) await previewGaps(context, only, acceptedIds);
  let last: ZonedDay | null = await readLastClosed(context.sql);
  for (const day of days) {
    const isClosed = (await readClosedDay(context.sql, day.day)) !== null;
    if (isClosed || (next !== null && day.day < next.day)) continue;
    if (previews.length === 0) await inSnapshot(context.sql, (tx) => requireNext(tx, day));
    const bounds: ZonedDay = last === null ? day : dayAfter(last, day.zone);
    if (bounds.day !== day.day) continue;
    const preview = await previewDay(context, bounds, acceptedIds, unusable, making);
    previews.push(preview);
    if (preview.reason !== null) break;
    last = bounds;
  }
  const [first] = previews;
  const isFirst = first?.reason === null && (await readLastNumber(context.sql)) === 0;
  const firstDay = isFirst ? days.find(({ day }) => day === first.day) : undefined;
  return { days: previews, givenUp: firstDay === undefined ? null : await sayGivenUp(context, firstDay) };
}

const money = (amount: string, currency: string | null) =>
  formatMoney(parseAmount(amount, "amount"), currency ?? "").trimEnd();

/** What a day that would be closed gives up, as parts of a sentence: "with 2 open mismatches, 5.00 THB at risk". */
export function sayPreview({ gaps, pending, mismatches }: DayPreview): string[] {
  return [
    ...gaps.map(
      ({ productId, missing }) => `without ${sayLength(missing)} of ${productId}: ${sayTimes(missing)}`,
    ),
    ...pending.map(
      ({ productId, currency, pending: amount }) =>
        `with ${money(amount, currency)} of ${productId} that is not decided yet`,
    ),
    ...mismatches.map(
      ({ count, amount, currency }) =>
        `with ${count} open ${count === 1 ? "mismatch" : "mismatches"}, ${money(amount, currency)} at risk`,
    ),
  ];
}

/** A preview as JSON for commands and HTTP. */
export function describePreview({ days, givenUp }: ClosingPreview): AnswerOf<typeof CLOSINGS> {
  return { dryRun: true, closings: days.map(describeDay), givenUp };
}

function describeDay({ day, reason, gaps, pending, mismatches }: DayPreview) {
  return {
    day,
    closed: null,
    reason,
    gaps: gaps.map(({ productId, missing }) => ({
      productId,
      missing: missing.map(({ from, to }) => ({ from: formatInstant(from), to: formatInstant(to) })),
    })),
    pending: pending.map(({ productId, currency, pending: amount }) => ({
      productId,
      currency,
      pending: amount,
    })),
    openMismatches: mismatches,
  };
}

/** @param unusable why no day could be sealed, as a sentence; null: one could */
async function previewDay(
  context: FlowContext,
  bounds: ZonedDay,
  acceptedIds: readonly string[],
  unusable: string | null,
  making?: Making,
): Promise<DayPreview> {
  const { day } = bounds;
  const gaps = acceptedIds.length === 0 ? [] : await previewGaps(context, bounds, acceptedIds);
  const at = { missing: [], by: "", note: "", at: "" };
  const accepted = gaps.map(({ productId }) => ({ productId, rows: null, gap: at }));
  const open = await inSnapshot(context.sql, async (tx) =>
    whyOpen(context, tx, bounds, [...accepted, ...(await readParts(tx, bounds))]),
  );
  const reason = open ?? unusable;
  if (reason !== null) return { day, reason, gaps, pending: [], mismatches: [] };
  const { rows } = await readReport(context, bounds, making?.signal, making?.limits, making?.rest);
  const choice = { statuses: [], kind: null, productId: null, username: null, countsIn: bounds };
  return {
    day,
    reason,
    gaps,
    pending: rows.filter(({ pending }) => pending !== "0"),
    mismatches: await sumChosen(context.sql, choice),
  };
}
