/** Reads the fetched and the missing time of a product (the JSON of `recon coverage` and `/api/coverage`). */

import { z } from "zod";
import { type AnswerOf, COUNT, FLAG, INSTANT, listOf, objectOf, TEXT } from "../../answer.ts";
import { formatInstant } from "../../clock.ts";
import { ReconError } from "../../errors.ts";
import { findGaps, NOT_FETCHED } from "../../sync/coverage.ts";
import { readFetchedByDeleted, readTriedWindows } from "../../sync/coverage-store.ts";
import { WINDOW_KINDS } from "../../sync/window-store.ts";
import type { ProductRange, TimeRange } from "../../window.ts";
import type { FlowContext } from "../context.ts";

/** The most windows of an answer: more would fill the worker's memory. */
const MOST_WINDOWS = 100_000;

/** A range of time. */
const RANGE = objectOf({ from: INSTANT, to: INSTANT });
export type ShownRange = AnswerOf<typeof RANGE>;

export const COVERAGE = objectOf({
  productId: TEXT,
  from: INSTANT,
  to: INSTANT,
  /** there are no gaps */
  complete: FLAG,
  /** the unfetched time before now − settleDelay */
  gaps: listOf(
    RANGE.extend({ reason: TEXT.meta({ description: "`not-fetched`, or the code of an error" }) }),
  ),
  /** the windows that were fetched to their last page and are still kept, in order of time */
  windows: listOf(
    RANGE.extend({ kind: z.enum(WINDOW_KINDS), records: COUNT, pages: COUNT, fetchedAt: INSTANT }),
  ),
});
export type Coverage = AnswerOf<typeof COVERAGE>;

/** @throws ReconError `usage` if the range has too many windows */
export async function readCoverageOf(context: FlowContext, asked: ProductRange): Promise<Coverage> {
  const { productId } = asked;
  const tried = await readTriedWindows(context.sql, productId, asked, MOST_WINDOWS + 1);
  if (tried.length > MOST_WINDOWS) {
    throw new ReconError(
      "usage",
      `from ${formatInstant(asked.from)} to ${formatInstant(asked.to)} there are more than ${MOST_WINDOWS} windows: ask for a shorter range`,
    );
  }
  const fetched = tried.flatMap(({ fetchedAt, ...window }) =>
    fetchedAt === null ? [] : [{ ...window, fetchedAt }],
  );
  const failed = tried.flatMap(({ fetchedAt, errorCode, ...window }) =>
    fetchedAt === null ? [{ from: window.from, to: window.to, reason: errorCode ?? NOT_FETCHED }] : [],
  );
  const settledUntil = context.clock.now() - context.config.pull.settleDelay;
  // Read after the windows: one that is deleted between the two readings counts twice, and never not at all.
  const byDeleted = await readFetchedByDeleted(context.sql, productId, asked);
  const gaps = findGaps(asked, settledUntil, [...fetched, ...byDeleted], failed);
  return {
    productId,
    ...showRange(asked),
    complete: gaps.length === 0,
    gaps: gaps.map((gap) => ({ ...showRange(gap), reason: gap.reason })),
    windows: fetched.map(({ kind, records, pages, fetchedAt, ...range }) => ({
      ...showRange(range),
      kind,
      records,
      pages,
      fetchedAt: formatInstant(fetchedAt),
    })),
  };
}

/**
 * The fetched parts of a range whose windows were deleted (`retain.windows`); the JSON's keys are fixed and do not show it.
 * It is unknown when they were fetched, or how often.
 */
export async function readWithoutWindows(
  { sql }: FlowContext,
  asked: ProductRange,
): Promise<readonly ShownRange[]> {
  return (await readFetchedByDeleted(sql, asked.productId, asked)).map(showRange);
}

function showRange({ from, to }: TimeRange): ShownRange {
  return { from: formatInstant(from), to: formatInstant(to) };
}
