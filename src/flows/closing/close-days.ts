/** Closes days in their order. Says what the first closed day gives up. */

import { z } from "zod";
import { AMOUNT, type AnswerOf, COUNT, DATE, FLAG, INSTANT, listOf, objectOf, TEXT } from "../../answer.ts";
import { ACCEPTED_GAP, HASH } from "../../closed.ts";
import { readClosedDay, readLastClosed } from "../../closing/closed-day-store.ts";
import { dayAfter, dayAt, dayOf, firstDayFrom, type ZonedDay } from "../../closing/day-bounds.ts";
import { readFirstFetched } from "../../sync/coverage-store.ts";
import { readFirstBegin } from "../../sync/pull-state-store.ts";
import type { FlowContext } from "../context.ts";
import { type Closing, closeDay } from "./close-day.ts";
import { whyOpen } from "./why-open.ts";

/** The most days to look at, because a request waits for the answer. */
const MOST_DAYS = 31;

/**
 * What finance gives up with the first closed day.
 * @returns sentences that name the complete days among the 31 before it
 */
export async function sayGivenUp(context: FlowContext, first: ZonedDay): Promise<string> {
  const { day } = first;
  const rule = `${day} is the first closed day, and days are closed in order: no day before it can be closed any more, so none has a statement, and retention never deletes its rows.`;
  const complete = await findComplete(context, first);
  if (complete.length === 0) return rule;
  return `${rule} Complete, and given up: ${complete.join(", ")}${complete.length === MOST_DAYS ? ", and perhaps earlier days" : ""}.`;
}

/** The day that was closed as the first of all; undefined: another day is closed. */
function findFirst(results: readonly Closing[]): ZonedDay | undefined {
  return results.flatMap((one) =>
    "closed" in one && one.isNew && one.closed.number === 1 ? [one.closed] : [],
  )[0];
}

/** The complete days among the last ones before a day, in their order. */
async function findComplete(context: FlowContext, { from, zone }: ZonedDay): Promise<string[]> {
  const { sql, config } = context;
  const fetchedFrom = await readFirstFetched(
    sql,
    config.products.map(({ productId }) => productId),
  );
  const complete: string[] = [];
  let end = from;
  for (let count = 0; count < MOST_DAYS && fetchedFrom !== null && fetchedFrom < end; count += 1) {
    const day = dayAt(end - 1, zone);
    if ((await whyOpen(context, sql, day)) === null) complete.unshift(day.day);
    end = day.from;
  }
  return complete;
}

/** The most days that one run of the job closes; the next run continues. */
const MOST_AT_ONCE = 40;

/** Closes every day that ended longer ago than `closing.after`. Stops at the first day that stays open. */
export async function closeDueDays(context: FlowContext, signal: AbortSignal): Promise<Closing[]> {
  const { zone, after } = context.config.closing;
  const results: Closing[] = [];
  if (after === null) return results;
  for (let count = 0; count < MOST_AT_ONCE && !signal.aborted; count += 1) {
    const next = await findNextDay(context, zone);
    if (next === null || next.to + after > context.clock.now()) break;
    const result = await closeDay(context, next);
    results.push(result);
    if ("reason" in result) break;
  }
  return results;
}

/**
 * Closes dates in their order, and stops at the first one that stays open. Dates before the first closed day, or before
 * the first whole day that was pulled, are left out.
 * @param days of the present `closing.zone`
 */
export async function closeDays(context: FlowContext, days: readonly ZonedDay[]): Promise<Closing[]> {
  const next = await findNextDay(context, context.config.closing.zone);
  const results: Closing[] = [];
  for (const day of days) {
    const isClosed = (await readClosedDay(context.sql, day.day)) !== null;
    if (!isClosed && next !== null && day.day < next.day) continue;
    const result = await closeDay(context, day);
    results.push(result);
    if ("reason" in result) break;
  }
  return results;
}

/** The longest time that one request closes days, because its caller waits. The next request closes the rest of the month. */
const LONGEST_CLOSING_MS = 60_000;

/** Closes the dates of a month on request, as `closeDays`, as far as the time allows. */
export async function closeMonth(context: FlowContext, dates: readonly string[]): Promise<Closing[]> {
  const { clock, config } = context;
  const until = clock.now() + LONGEST_CLOSING_MS;
  const results: Closing[] = [];
  for (const date of dates) {
    const day = dayOf(date, config.closing.zone);
    const [result] = day === null ? [] : await closeDays(context, [day]);
    if (result === undefined) continue;
    results.push(result);
    if ("reason" in result || clock.now() > until) break;
  }
  return results;
}

/** What became of the days that a command or a request closes; of a dry run what closing would give up. */
export const CLOSINGS = objectOf({
  dryRun: FLAG.meta({ description: "true: nothing was closed" }).optional(),
  closings: listOf(
    objectOf({
      day: DATE,
      closed: z
        .nullable(objectOf({ number: COUNT, hash: HASH, previousHash: z.nullable(HASH) }))
        .meta({ description: "null: the day stays open, or this is a dry run" }),
      reason: z.nullable(TEXT.meta({ description: "why the day stays open, as a sentence" })),
      acceptedGaps: listOf(ACCEPTED_GAP).optional(),
      gaps: listOf(objectOf({ productId: TEXT, missing: listOf(objectOf({ from: INSTANT, to: INSTANT })) }))
        .meta({ description: "of a dry run: the missing time that would be accepted" })
        .optional(),
      pending: listOf(objectOf({ productId: TEXT, currency: z.nullable(TEXT), pending: AMOUNT }))
        .meta({ description: "of a dry run: what is not decided yet" })
        .optional(),
      openMismatches: listOf(objectOf({ currency: z.nullable(TEXT), count: COUNT, amount: AMOUNT }))
        .meta({ description: "of a dry run: the open and acknowledged mismatches, and their money at risk" })
        .optional(),
    }),
  ),
  givenUp: z.nullable(TEXT.meta({ description: "what the first closed day of all gives up, as sentences" })),
});

/** @param results in the order of the days */
export async function describeClosings(
  context: FlowContext,
  results: readonly Closing[],
): Promise<AnswerOf<typeof CLOSINGS>> {
  const first = findFirst(results);
  return {
    closings: results.map(describeClosing),
    givenUp: first === undefined ? null : await sayGivenUp(context, first),
  };
}

function describeClosing(result: Closing) {
  if ("reason" in result) return { day: result.day, closed: null, reason: result.reason };
  const { day, number, hash, previousHash, acceptedGaps } = result.closed;
  const accepted = acceptedGaps === undefined ? {} : { acceptedGaps };
  return { day, closed: { number, hash, previousHash }, reason: null, ...accepted };
}

/** The day to close next: after the last closed one, or the first whole day that was pulled; null: nothing was pulled. */
export async function findNextDay({ sql }: FlowContext, zone: string): Promise<ZonedDay | null> {
  const last = await readLastClosed(sql);
  if (last !== null) return dayAfter(last, zone);
  const begin = await readFirstBegin(sql);
  return begin === null ? null : firstDayFrom(begin, zone);
}
