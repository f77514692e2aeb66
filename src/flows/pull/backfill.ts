/** What operators do with backfills: plan, request, list, watch, pause, resume and cancel. */

import { z } from "zod";
import { type BackfillMismatches, readMismatchesOfBackfill } from "../../alerts/store.ts";
import { type AnswerOf, COUNT, INSTANT, LIST_COUNT, listOf, NEXT, objectOf, TEXT } from "../../answer.ts";
import { formatInstant, type Instant, showDuration } from "../../clock.ts";
import type { Query } from "../../db/client.ts";
import { describeDeleted, readDeletedTime } from "../../db/retention-store.ts";
import { ReconError } from "../../errors.ts";
import {
  BACKFILL_STATUSES,
  type Backfill,
  type BackfillChange,
  type Pace,
  paceBetween,
  statusAfter,
} from "../../sync/backfill.ts";
import {
  type BackfillSort,
  cancelWindows,
  insertBackfill,
  listBackfills,
  lockBackfill,
  readBackfill,
  readFetchedSince,
  resetGaps,
  withdrawLeases,
  writeBackfillStatus,
} from "../../sync/backfill-store.ts";
import { readFetched } from "../../sync/coverage-store.ts";
import { readPullState } from "../../sync/pull-state-store.ts";
import { cutIntoPieces, lengthOf, overlaps, type ProductRange, type TimeRange } from "../../window.ts";
import type { FlowContext } from "../context.ts";

/** Eleven years of hours. */
const MOST_WINDOWS = 100_000;

/** The plan of a backfill. */
export interface BackfillPlan {
  readonly asked: ProductRange;
  readonly windows: readonly TimeRange[];
  readonly windowMs: number;
  /** the part of the range that was fetched before */
  readonly coveredMs: number;
}

/**
 * Cuts a range into windows of the product's present length. Changes nothing.
 * @throws ReconError `usage` for a range that has not settled yet, or needs too many windows
 */
export async function planBackfill(context: FlowContext, asked: ProductRange): Promise<BackfillPlan> {
  const { pull } = context.config;
  checkSettled(asked, context.clock.now() - pull.settleDelay);
  checkKept(asked, (await readDeletedTime(context.sql, asked.productId)).records);
  const learnedMs = (await readPullState(context.sql, asked.productId))?.windowMs ?? pull.windowMax;
  const windowMs = Math.min(learnedMs, pull.windowMax);
  const count = Math.ceil(lengthOf(asked) / windowMs);
  if (count > MOST_WINDOWS) {
    throw new ReconError(
      "usage",
      `from ${formatInstant(asked.from)} to ${formatInstant(asked.to)} makes ${count} windows of ` +
        `${showDuration(windowMs)}; a backfill has at most ${MOST_WINDOWS}: ask for a shorter range`,
    );
  }
  return {
    asked,
    windows: cutIntoPieces(asked, windowMs),
    windowMs,
    coveredMs: (await readFetched(context.sql, asked.productId, asked)).reduce(
      (sum, part) => sum + lengthOf(part),
      0,
    ),
  };
}

function checkSettled({ to }: TimeRange, settledUntil: Instant): void {
  if (to <= settledUntil) return;
  throw new ReconError(
    "usage",
    `to "${formatInstant(to)}" has not settled yet (pull.settleDelay): a backfill ends at ${formatInstant(settledUntil)} at the latest`,
  );
}

/** A record that was deleted would come back as new, and its callbacks would be missing. */
function checkKept(asked: ProductRange, deleted: TimeRange): void {
  if (!overlaps(asked, deleted)) return;
  const { productId, from, to } = asked;
  throw new ReconError(
    "usage",
    `from "${formatInstant(from)}" to "${formatInstant(to)}" reaches into deleted time: records of ${productId} ${describeDeleted(deleted)} may be deleted (retain.records), and would come back as new`,
  );
}

/**
 * Queues a planned backfill with all its windows, in one transaction.
 * @param onQueued runs in this transaction
 */
export async function requestBackfill(
  context: FlowContext,
  { asked, windows }: BackfillPlan,
  onQueued?: (tx: Query, backfill: Backfill) => Promise<void>,
): Promise<Backfill> {
  const requestedAt = context.clock.now();
  return await context.sql.begin(async (tx) => {
    const id = await insertBackfill(tx, { ...asked, requestedAt }, windows);
    const backfill = await readBackfill(tx, id);
    if (backfill === null) throw noBackfill(String(id));
    await onQueued?.(tx, backfill);
    return backfill;
  });
}

/**
 * Pauses, resumes or cancels. Running fetches commit no further page. A paused backfill continues after its last
 * page; a cancelled one keeps its records.
 * @throws ReconError `not-found`, or `conflict` if the status does not allow the change
 */
export async function changeBackfill(
  context: FlowContext,
  idText: string,
  change: BackfillChange,
): Promise<Backfill> {
  const id = readId(idText);
  await context.sql.begin(async (tx) => {
    const locked = await lockBackfill(tx, id);
    if (locked === null) throw noBackfill(idText);
    const status = statusAfter(change, locked);
    if (status === null) {
      throw new ReconError("conflict", `backfill ${id} is ${locked.status}: it cannot be ${PAST_OF[change]}`);
    }
    await writeBackfillStatus(tx, id, status, status === "cancelled" ? context.clock.now() : null);
    await changeWindows(tx, id, change);
  });
  return await findBackfill(context, idText);
}

const PAST_OF: Readonly<Record<BackfillChange, string>> = {
  pause: "paused",
  resume: "resumed",
  cancel: "cancelled",
};

async function changeWindows(tx: Query, id: number, change: BackfillChange): Promise<void> {
  if (change === "pause") await withdrawLeases(tx, id);
  else if (change === "resume") await resetGaps(tx, id);
  else await cancelWindows(tx, id);
}

/** One page, without a sort the newest first. @param page `after` is the `next` of the previous page; null: the first page */
export async function listBackfillPage(
  { sql }: FlowContext,
  page: { readonly limit: number; readonly after: string | null; readonly sort?: BackfillSort },
): Promise<{ readonly backfills: Backfill[]; readonly next: string | null }> {
  const { limit, after, sort = "newest" } = page;
  const found = await listBackfills(sql, limit + 1, after === null ? null : Number(after), sort);
  const backfills = found.slice(0, limit);
  return { backfills, next: found.length > limit ? String(backfills.at(-1)?.id) : null };
}

/** @throws ReconError `not-found` */
export async function findBackfill({ sql }: FlowContext, idText: string): Promise<Backfill> {
  const backfill = await readBackfill(sql, readId(idText));
  if (backfill === null) throw noBackfill(idText);
  return backfill;
}

function readId(text: string): number {
  if (/^\d{1,15}$/.test(text)) return Number(text);
  throw noBackfill(text);
}

function noBackfill(idText: string): ReconError {
  return new ReconError("not-found", `there is no backfill "${idText.slice(0, 60)}"`);
}

/** A backfill as JSON for commands and HTTP. */
export const BACKFILL = objectOf({
  id: z.nullable(TEXT.meta({ description: "null: a dry run" })),
  productId: TEXT,
  from: INSTANT,
  to: INSTANT,
  status: z.nullable(z.enum(BACKFILL_STATUSES)),
  windowsTotal: COUNT,
  windowsDone: COUNT,
  records: COUNT,
  created: COUNT,
  changed: COUNT,
  unchanged: COUNT,
  startedAt: z.nullable(INSTANT),
  endedAt: z.nullable(INSTANT),
});

export const BACKFILL_LIST = objectOf({ backfills: listOf(BACKFILL), next: NEXT, ...LIST_COUNT });

export function describeBackfill(backfill: Backfill): AnswerOf<typeof BACKFILL> {
  const { id, productId, status, windowsTotal, windowsDone, records, created, changed, unchanged } = backfill;
  return {
    id: String(id),
    productId,
    from: formatInstant(backfill.from),
    to: formatInstant(backfill.to),
    status,
    windowsTotal,
    windowsDone,
    records,
    created,
    changed,
    unchanged,
    startedAt: backfill.startedAt === null ? null : formatInstant(backfill.startedAt),
    endedAt: backfill.endedAt === null ? null : formatInstant(backfill.endedAt),
  };
}

/** The output of a dry run: the planned backfill, and how much of its range was fetched before. */
export const BACKFILL_PLAN = objectOf({
  backfill: BACKFILL,
  plan: objectOf({ windowSeconds: z.number(), rangeSeconds: z.number(), coveredSeconds: z.number() }),
});

export function describePlan({
  asked,
  windows,
  windowMs,
  coveredMs,
}: BackfillPlan): AnswerOf<typeof BACKFILL_PLAN> {
  return {
    backfill: {
      id: null,
      productId: asked.productId,
      from: formatInstant(asked.from),
      to: formatInstant(asked.to),
      status: null,
      windowsTotal: windows.length,
      windowsDone: 0,
      records: 0,
      created: 0,
      changed: 0,
      unchanged: 0,
      startedAt: null,
      endedAt: null,
    },
    plan: {
      windowSeconds: windowMs / 1000,
      rangeSeconds: lengthOf(asked) / 1000,
      coveredSeconds: coveredMs / 1000,
    },
  };
}

/** The time over which the pace is measured: a longer time would include pauses. */
const PACE_OF_MS = 60_000;

export interface WatchedBackfill {
  readonly backfill: Backfill;
  /** null: the backfill does not run */
  readonly pace: Pace | null;
  /** the mismatches that the backfill found, by kind */
  readonly mismatches: readonly BackfillMismatches[];
}

/** @throws ReconError `not-found` */
export async function watchBackfill(context: FlowContext, idText: string): Promise<WatchedBackfill> {
  const backfill = await findBackfill(context, idText);
  const [pace, mismatches] = await Promise.all([
    measurePace(context, backfill),
    readMismatchesOfBackfill(context.sql, backfill.id),
  ]);
  return { backfill, pace, mismatches };
}

async function measurePace({ sql, clock }: FlowContext, backfill: Backfill): Promise<Pace | null> {
  const { id, status, startedAt, windowsDone, windowsTotal, records } = backfill;
  if (status !== "running" || startedAt === null) return null;
  const now: Instant = clock.now();
  const since = Math.max(startedAt, now - PACE_OF_MS);
  const lately = await readFetchedSince(sql, id, since);
  const last = { windowsDone, windowsTotal, records, at: now };
  const first = {
    ...last,
    at: since,
    windowsDone: windowsDone - lately.windows,
    records: records - lately.records,
  };
  return paceBetween(first, last);
}
