/** Reads which windows fetched the time of a mismatch. */

import { z } from "zod";
import { type AnswerOf, COUNT, FLAG, INSTANT, objectOf } from "../../answer.ts";
import { formatInstant, type Instant, parseInstant } from "../../clock.ts";
import type { Mismatch } from "../../mismatch.ts";
import { readFetchedWindows } from "../../sync/coverage-store.ts";
import { WINDOW_KINDS } from "../../sync/window-store.ts";
import { mergeRanges } from "../../window.ts";
import type { FlowContext } from "../context.ts";
import { distinct } from "./choose-events.ts";

/** The most fetches to show: resweeps and backfills fetch the same time again and again. */
const MOST_FETCHES = 20;

/** A window that covers a time of either side. */
export const EVENT_FETCH = objectOf({
  kind: z.enum(WINDOW_KINDS),
  from: INSTANT,
  to: INSTANT,
  startedAt: INSTANT,
  fetchedAt: INSTANT,
  /** the number of returned records, of all bets */
  records: COUNT,
  /** the fetch began late enough after the last callback: a record that it lacks is missing, not late */
  isLateEnough: FLAG,
});

/**
 * Reads the fetches around the callbacks and at the dates of the record, the latest first.
 * @param entries when each callback happened, and when the operator received it; ISO 8601
 */
export async function readFetches(
  { sql, config }: FlowContext,
  { productId, transactionRef, provider }: Mismatch,
  entries: readonly { readonly at: string; readonly seenAt: string }[],
): Promise<AnswerOf<typeof EVENT_FETCH>[]> {
  if (transactionRef !== null) return [];
  const { providerGrace } = config.diff;
  const times = entries.map(({ at }) => toInstant(at));
  const dates = distinct([sideText(provider, "accountingDate"), sideText(provider, "updatedDate")]).map(
    toInstant,
  );
  const ofCallbacks = { from: earliest(times) - config.pull.overlap, to: latest(times) + providerGrace };
  const ranges = [
    ...(times.length === 0 ? [] : [ofCallbacks]),
    ...dates.map((at) => ({ from: at, to: at + 1 })),
  ];
  const windows = await readFetchedWindows(sql, productId, mergeRanges(ranges), MOST_FETCHES);
  const lateEnough = latest(entries.map(({ seenAt }) => toInstant(seenAt))) + providerGrace;
  return windows.map(({ kind, from, to, startedAt, fetchedAt, records }) => ({
    kind,
    from: formatInstant(from),
    to: formatInstant(to),
    startedAt: formatInstant(startedAt),
    fetchedAt: formatInstant(fetchedAt),
    records,
    isLateEnough: startedAt >= lateEnough,
  }));
}

function toInstant(text: string): Instant {
  return parseInstant(text, "time");
}

/** A round can be too long for its times to be the arguments of one call. */
function latest(instants: readonly Instant[]): Instant {
  return instants.reduce((a, b) => Math.max(a, b), Number.NEGATIVE_INFINITY);
}

function earliest(instants: readonly Instant[]): Instant {
  return instants.reduce((a, b) => Math.min(a, b), Number.POSITIVE_INFINITY);
}

function sideText(side: object | null, field: string): string | null {
  return (side as Readonly<Record<string, string | null>> | null)?.[field] ?? null;
}
