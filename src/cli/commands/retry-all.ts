/** Reads all rejected records and entries again, part by part, and shows the progress. */

import { stderr } from "node:process";
import type { FlowContext } from "../../flows/context.ts";
import { listRejected } from "../../flows/rejected/read-rejected.ts";
import {
  type RetryCounts,
  type RetryResult,
  retryNext,
  retryThese,
} from "../../flows/rejected/retry-rejected.ts";
import { parseRejectedId, type RejectedRef } from "../../rejected.ts";

/** Of more rows that stay than this, the rest is only counted. */
const MOST_LISTED = 10_000;
const ROWS_PER_PART = 1_000;
const PLAIN_LINE_EVERY_MS = 5_000;

export interface RetriedAll extends Omit<RetryResult, "next"> {
  /** how many more stay than are listed */
  readonly unlisted: number;
}

/** @param refs null: all rejected records and entries */
export async function retryAll(
  context: FlowContext,
  refs: readonly RejectedRef[] | null,
): Promise<RetriedAll> {
  if (refs !== null) {
    const { next: _, ...result } = await retryThese(context, refs);
    return { ...result, unlisted: 0 };
  }
  const all = { side: null, kind: null, productId: null, reason: null, since: null };
  const { counts } = await listRejected(context, all, { after: null, limit: 1 });
  const show = openDisplay(context, counts.records + counts.entries);
  let total: RetriedAll = { records: NONE, entries: NONE, stayed: [], unlisted: 0 };
  let after: RejectedRef | null = null;
  for (;;) {
    const part: RetryResult = await retryNext(context, after, ROWS_PER_PART);
    total = add(total, part);
    show(tried(total), part.next === null);
    // Each part is of older rows, so that it comes to an end.
    if (part.next === null) return total;
    after = parseRejectedId(part.next);
  }
}

const NONE: RetryCounts = { accepted: 0, known: 0, stillRejected: 0 };

function add(total: RetriedAll, part: RetryResult): RetriedAll {
  const stayed = [...total.stayed, ...part.stayed.slice(0, MOST_LISTED - total.stayed.length)];
  return {
    records: addCounts(total.records, part.records),
    entries: addCounts(total.entries, part.entries),
    stayed,
    unlisted: total.unlisted + total.stayed.length + part.stayed.length - stayed.length,
  };
}

function addCounts(a: RetryCounts, b: RetryCounts): RetryCounts {
  return {
    accepted: a.accepted + b.accepted,
    known: a.known + b.known,
    stillRejected: a.stillRejected + b.stillRejected,
  };
}

function tried({ records, entries }: RetriedAll): number {
  return [records, entries].reduce((sum, one) => sum + one.accepted + one.known + one.stillRejected, 0);
}

/** Of what one part holds nothing is said. */
function openDisplay({ clock }: FlowContext, whole: number): (done: number, isLast: boolean) => void {
  let nextAt = clock.now() + PLAIN_LINE_EVERY_MS;
  return (done, isLast) => {
    if (whole <= ROWS_PER_PART) return;
    const line = `${done} of ${whole} read again`;
    if (stderr.isTTY) stderr.write(`\r${line}${isLast ? "\n" : ""}`);
    else if (isLast || clock.now() >= nextAt) {
      nextAt = clock.now() + PLAIN_LINE_EVERY_MS;
      stderr.write(`${line}\n`);
    }
  };
}
