/**
 * Writes the samples of the trends, because a month's chart would count millions of rows, and reads them: of the last day, week or month, or
 * of a chosen range. A mismatch counts from the time of its bet: counted from its first sight, a backfill would look like a new problem.
 */

import { z } from "zod";
import { AMOUNT, type AnswerOf, COUNT, FLAG, INSTANT, listOf, objectOf, TEXT } from "../../answer.ts";
import { formatInstant, type Instant } from "../../clock.ts";
import { sharesOf } from "../../closing/confirmed-days.ts";
import { type ConfirmedMonth, readConfirmedMonths } from "../../closing/confirmed-store.ts";
import { CONFIRMED_SHARES, type ConfirmedShares } from "../../confirmed.ts";
import type { Query } from "../../db/client.ts";
import { watermarkOf } from "../../health/products.ts";
import { type OpenChange, readDelaySteps, readOpenChanges } from "../../mismatches/risk-store.ts";
import { type Amount, formatAmount, parseAmount, ZERO } from "../../money.ts";
import { readPullProgress, readPullSummaries, readUnfetched } from "../../sync/progress-store.ts";
import type { TimeRange } from "../../window.ts";
import {
  addQuarters,
  countCallbacks,
  countRecords,
  type LagStep,
  noteLags,
  QUARTER_MS,
  readLagSteps,
  readWorkSteps,
  type WorkStep,
} from "../../work/trend-store.ts";
import { readWorkFacts } from "../../work/work-store.ts";
import { type FlowContext, pulledProducts } from "../context.ts";

/** The months whose shares are shown. */
export const MOST_MONTHS = 12;

export const SPANS = ["day", "week", "month"] as const;
export type Span = (typeof SPANS)[number];

const HOUR_MS = 4 * QUARTER_MS;
const STEPS: Readonly<Record<Span, { readonly stepMs: number; readonly count: number }>> = {
  day: { stepMs: QUARTER_MS, count: 96 },
  week: { stepMs: 2 * HOUR_MS, count: 84 },
  month: { stepMs: 8 * HOUR_MS, count: 90 },
};

/** A chosen range has steps of the first of these lengths with which it has at most so many. */
const STEP_LENGTHS = [1, 2, 4, 8, 16, 32, 96].map((quarters) => quarters * QUARTER_MS);
const MOST_STEPS = 100;
const DAY_MS = 24 * HOUR_MS;
/** The samples are kept no longer. */
export const LONGEST_RANGE_MS = 90 * DAY_MS;
/** Each of these products has a line of its own lag. */
export const MOST_LAGS = 6;

/** The values of all steps of a range; null: unknown. */
type Line<Value> = readonly (Value | null)[];

export interface Trends {
  readonly range: TimeRange;
  readonly stepMs: number;
  /** when the data of the products began; null: nothing is pulled. Earlier time has no figures */
  readonly begin: Instant | null;
  /** at the end of each step */
  readonly open: Line<number>;
  /** by currency, the largest number of mismatches first; null: without a currency; decimal text */
  readonly risk: readonly { readonly currency: string | null; readonly line: Line<string> }[];
  /** the median, in milliseconds; null also if no mismatch was first seen */
  readonly delay: Line<number>;
  /** the longest, in milliseconds */
  readonly lag: Line<number>;
  /** the same of the products that were furthest behind within the range, the worst first */
  readonly lags: readonly { readonly productId: string; readonly line: Line<number> }[];
  /** the longest at present, in milliseconds; null: nothing is pulled yet */
  readonly lagNow: number | null;
  /** per minute */
  readonly records: Line<number>;
  readonly callbacks: Line<number>;
}

interface Work {
  readonly steps: readonly WorkStep[];
  readonly lags: readonly LagStep[];
}

type ReadWork = (products: readonly string[], range: TimeRange, stepMs: number) => Promise<Work>;

/**
 * The shortest interval of reading the samples: they change once in some minutes, and every page reads them at each
 * change of anything.
 */
const KEEP_WORK_MS = 15_000;
const MOST_KEPT = 50;

/**
 * Opens a reader for repeated use. Every reading is new, except for the samples.
 * @returns a function; its `productId` null: all products together. A chosen range, at most `LONGEST_RANGE_MS` long, is widened
 * to whole steps
 */
export function openTrends(
  context: FlowContext,
): (productId: string | null, asked: Span | TimeRange) => Promise<Trends> {
  const kept = new Map<string, { readonly at: Instant; readonly work: Promise<Work> }>();
  const readKept: ReadWork = (products, range, stepMs) => {
    const key = JSON.stringify([products, range, stepMs]);
    const now = context.clock.now();
    const found = kept.get(key);
    if (found !== undefined && now >= found.at && now - found.at < KEEP_WORK_MS) return found.work;
    const work = readWork(context.sql, products, range, stepMs);
    if (kept.size >= MOST_KEPT) kept.clear();
    kept.set(key, { at: now, work });
    work.catch(() => kept.delete(key));
    return work;
  };
  return (productId, asked) => readTrends(context, readKept, productId, asked);
}

async function readWork(
  sql: Query,
  products: readonly string[],
  range: TimeRange,
  stepMs: number,
): Promise<Work> {
  const [steps, lags] = await Promise.all([
    readWorkSteps(sql, products, range, stepMs),
    readLagSteps(sql, products, range, stepMs, MOST_LAGS),
  ]);
  return { steps, lags };
}

/** @returns whole steps, of which the last of a span is the present one */
function stepsOf(asked: Span | TimeRange, now: Instant) {
  if (typeof asked === "string") {
    const { stepMs, count } = STEPS[asked];
    const to = (Math.floor(now / stepMs) + 1) * stepMs;
    return { range: { from: to - count * stepMs, to }, stepMs, count };
  }
  const widen = (stepMs: number) => {
    const from = Math.floor(asked.from / stepMs) * stepMs;
    const to = Math.ceil(asked.to / stepMs) * stepMs;
    return { range: { from, to }, stepMs, count: (to - from) / stepMs };
  };
  return STEP_LENGTHS.map(widen).find(({ count }) => count <= MOST_STEPS) ?? widen(DAY_MS);
}

async function readTrends(
  context: FlowContext,
  readKept: ReadWork,
  productId: string | null,
  asked: Span | TimeRange,
): Promise<Trends> {
  const { sql, config, clock } = context;
  const { range, stepMs, count } = stepsOf(asked, clock.now());
  const chosen = config.products.filter((one) => productId === null || one.productId === productId);
  const pulled = chosen.filter(({ walletMode }) => walletMode === "seamless").map((one) => one.productId);
  const named = productId === null ? null : [productId];
  const [{ isKnown, begin }, changes, delays, work, progress] = await Promise.all([
    findKnown(context, pulled),
    readOpenChanges(sql, named, range, stepMs),
    readDelaySteps(sql, named, range, stepMs),
    readKept(pulled, range, stepMs),
    readPullProgress(sql),
  ]);
  const steps = Array.from({ length: count }, (_, step) => step);
  const known = steps.map((step) =>
    isKnown({ from: range.from + step * stepMs, to: range.from + (step + 1) * stepMs }),
  );
  const watermarks = progress.filter((one) => pulled.includes(one.productId)).map(watermarkOf);
  const workOf = new Map(work.steps.map((one) => [one.step, one]));
  const delayOf = new Map(delays.map((one) => [one.step, one.medianMs]));
  return {
    range,
    stepMs,
    begin,
    ...addUpOpen(changes, known),
    delay: steps.map((step) => delayOf.get(step) ?? null),
    lag: steps.map((step) => workOf.get(step)?.lagMs ?? null),
    lags: [...Map.groupBy(work.lags, (one) => one.productId)].map(([lagging, own]) => {
      const lagOf = new Map(own.map((one) => [one.step, one.lagMs]));
      return { productId: lagging, line: steps.map((step) => lagOf.get(step) ?? null) };
    }),
    lagNow: watermarks.length === 0 ? null : Math.max(0, clock.now() - Math.min(...watermarks)),
    records: steps.map((step) => workOf.get(step)?.records ?? null),
    callbacks: steps.map((step) => workOf.get(step)?.callbacks ?? null),
  };
}

/**
 * Differences are known from the beginning of pulling up to the time that was fetched and compared and whose graces are
 * over, except for time that was not fetched. A step is known if some of its time is, and none is missing before.
 */
async function findKnown(
  { sql, config, clock }: FlowContext,
  pulled: readonly string[],
): Promise<{ isKnown(step: TimeRange): boolean; readonly begin: Instant | null }> {
  const now = clock.now();
  if (pulled.length === 0) return { isKnown: ({ from }) => from < now, begin: null };
  const [stands, unfetched, { marks }] = await Promise.all([
    readPullSummaries(sql, pulled),
    readUnfetched(sql, pulled),
    readWorkFacts(sql, { now, compared: pulled, relation: null, most: 1 }),
  ]);
  const graceMs = Math.max(config.diff.callbackGrace, config.diff.providerGrace);
  const heads = stands.map(({ head }) => head);
  const compared = marks.map(({ oldestDueAt }) => oldestDueAt ?? now);
  const begin = Math.min(...stands.map((stand) => stand.begin));
  const end = Math.min(now, ...heads, ...compared) - graceMs;
  const isKnown = (step: TimeRange) => {
    const part = { from: step.from, to: Math.min(step.to, end) };
    if (part.to <= part.from || part.to <= begin) return false;
    return !unfetched.some(({ from, to }) => from < part.to && to > part.from);
  };
  return { isKnown, begin: stands.length === 0 ? null : begin };
}

/** From the changes to what was open at the end of each step. */
function addUpOpen(changes: readonly OpenChange[], known: readonly boolean[]): Pick<Trends, "open" | "risk"> {
  const byCurrency = Map.groupBy(changes, ({ currency }) => currency);
  const lines = [...byCurrency].map(([currency, those]) => {
    const byStep = Map.groupBy(those, ({ step }) => step);
    let [count, amount]: [number, Amount] = [0, ZERO];
    const levels = known.map((isKnown, step) => {
      for (const change of byStep.get(step) ?? []) {
        count += change.count;
        amount = amount.plus(parseAmount(change.amount, "amount"));
      }
      return isKnown ? { count, amount: formatAmount(amount) } : null;
    });
    return { currency, levels, total: those.reduce((sum, one) => sum + Math.max(0, one.count), 0) };
  });
  lines.sort((a, b) => b.total - a.total);
  return {
    open: known.map((isKnown, step) =>
      isKnown ? lines.reduce((sum, { levels }) => sum + (levels[step]?.count ?? 0), 0) : null,
    ),
    risk: lines.map(({ currency, levels }) => ({
      currency,
      line: levels.map((level) => level?.amount ?? null),
    })),
  };
}

/** The shares of one month. */
export interface MonthlyShares extends ConfirmedShares {
  /** YYYY-MM */
  readonly month: string;
  /** the end of the last closed day of the month */
  readonly to: Instant;
  /** false: an older version, which measured nothing, closed some of its days */
  readonly isWhole: boolean;
}

/** The newest months with a closed day, the newest first. @param productId null: all products */
export async function readMonthlyShares(
  sql: Query,
  now: Instant,
  most: number,
  productId: string | null = null,
): Promise<MonthlyShares[]> {
  const months = await readConfirmedMonths(sql, most, productId);
  return months.map((one: ConfirmedMonth) => {
    const { month, currency, to, isWhole } = one;
    const names = { month, productId: one.productId, currency, to, isWhole };
    return { ...names, stake: formatAmount(one.stake), ...sharesOf(one, now) };
  });
}

const LINE_OF_SECONDS = listOf(z.nullable(z.number().meta({ minimum: 0 })));

/** Trends as JSON: one value for each step; null: unknown. */
export const TRENDS = objectOf({
  span: z.nullable(z.enum(SPANS)).meta({ description: "null: a range was asked for" }),
  productId: z.nullable(TEXT).meta({ description: "null: all products together" }),
  from: INSTANT,
  to: INSTANT,
  stepSeconds: COUNT,
  open: listOf(z.nullable(COUNT)).meta({
    description: "open and acknowledged mismatches at the end of each step",
  }),
  atRisk: listOf(objectOf({ currency: z.nullable(TEXT), amounts: listOf(z.nullable(AMOUNT)) })).meta({
    description: "their money at the end of each step, by currency",
  }),
  delaySeconds: LINE_OF_SECONDS.meta({
    description: "the median from a bet to the first sight of its mismatch; null also if there was none",
  }),
  lagSeconds: LINE_OF_SECONDS.meta({ description: "the longest lag of pulling" }),
  lagSecondsNow: z.nullable(z.number().meta({ minimum: 0 })),
  recordsPerMinute: LINE_OF_SECONDS,
  callbacksPerMinute: LINE_OF_SECONDS,
  months: listOf(
    CONFIRMED_SHARES.extend({
      month: TEXT.regex(/^\d{4}-\d{2}$/),
      isWhole: FLAG.meta({
        description: "false: an older version, which measured nothing, closed some of its days",
      }),
    }),
  ).meta({
    description: "the share of the money of closed days that both sides confirmed in time, the newest first",
  }),
});

export function describeTrends(
  { span, productId }: { readonly span: Span | null; readonly productId: string | null },
  trends: Trends,
  months: readonly MonthlyShares[],
): AnswerOf<typeof TRENDS> {
  const { range, stepMs, open, risk, delay, lag, lagNow, records, callbacks } = trends;
  return {
    span,
    productId,
    from: formatInstant(range.from),
    to: formatInstant(range.to),
    stepSeconds: stepMs / 1000,
    open,
    atRisk: risk.map(({ currency, line }) => ({ currency, amounts: line })),
    delaySeconds: delay.map(toSeconds),
    lagSeconds: lag.map(toSeconds),
    lagSecondsNow: toSeconds(lagNow),
    recordsPerMinute: records,
    callbacksPerMinute: callbacks,
    months: months.map(({ to: _, ...shares }) => shares),
  };
}

function toSeconds(ms: number | null): number | null {
  return ms === null ? null : ms / 1000;
}

/** Quarters older than this are not counted any more: their figures stay unknown. */
const COUNTED_FOR_MS = 2 * 86_400_000;
/** Entries may be stored some time after they were received. */
const CALLBACKS_AFTER_MS = 300_000;
/** Limits the counting after a first start, so it does not delay other work. */
const MOST_ROWS = 500;
const MOST_QUARTERS = 8;

export async function sampleTrends({ sql, config, clock }: FlowContext): Promise<void> {
  const now = clock.now();
  const quarter = Math.floor(now / QUARTER_MS) * QUARTER_MS;
  const products = pulledProducts(config);
  const range = { from: quarter + QUARTER_MS - COUNTED_FOR_MS, to: quarter + QUARTER_MS };
  await addQuarters(sql, products, range);
  const progress = await readPullProgress(sql);
  const lags = progress.map((one) => ({
    productId: one.productId,
    lagMs: Math.max(0, now - watermarkOf(one)),
  }));
  await noteLags(sql, quarter, lags);
  await countRecords(sql, range.from, MOST_ROWS);
  await countCallbacks(sql, { from: range.from, to: now - CALLBACKS_AFTER_MS - QUARTER_MS }, MOST_QUARTERS);
}
