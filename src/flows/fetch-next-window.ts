/** Fetches the most urgent window of a product, and learns from it how long the next may be. */

import type { BetRecord } from "../bet.ts";
import { formatInstant, type Instant, parseInstant } from "../clock.ts";
import {
  beginReturned,
  endAbsences,
  noteAbsences,
  remember,
  restartReturned,
} from "../sync/absence-store.ts";
import { fetchWindow, type WindowOutcome, type WindowSteps } from "../sync/fetch-window.ts";
import { adaptRange, isTooLong, type RangeLimits } from "../sync/range-control.ts";
import { writeRecords, writeRejected } from "../sync/record-store.ts";
import {
  advanceWindow,
  type LeasedWindow,
  leaseNextWindow,
  readPullState,
  recordGap,
  releaseWindow,
  renewLease,
  restartWindow,
  splitWindow,
  type WindowKind,
  writeRange,
} from "../sync/store.ts";
import { cutIntoPieces, lengthOf, type TimeRange } from "../window.ts";
import type { PullContext } from "./context.ts";
import { tellRejected } from "./tell-rejected.ts";

/**
 * @param kinds which windows to take, in the order of their urgency
 * @param now windows that are due by then
 * @returns null where nothing is due; what became of the window otherwise
 * @throws ReconError `provider-refused` where the credentials are not accepted
 */
export async function fetchNextWindow(
  context: PullContext,
  productId: string,
  kinds: readonly WindowKind[],
  now: Instant,
  signal: AbortSignal,
): Promise<WindowOutcome | { readonly outcome: "cut" } | null> {
  const window = await leaseNextWindow(context.sql, productId, now, kinds);
  return window === null ? null : await fetchLeasedWindow(context, window, signal);
}

/**
 * @returns what became of the window
 * @throws ReconError `provider-refused` where the credentials are not accepted, `lease-lost` where the lease was taken
 */
export async function fetchLeasedWindow(
  context: PullContext,
  window: LeasedWindow,
  signal: AbortSignal,
): Promise<WindowOutcome | { readonly outcome: "cut" }> {
  if (await cutWhereTooLong(context, window)) return { outcome: "cut" };
  const { pull } = context.config;
  const limits = {
    windowMinMs: pull.windowMin,
    attempts: pull.attempts,
    maxPages: pull.maxPages,
    cursorMaxAgeMs: pull.cursorMaxAge,
  };
  const outcome = await fetchWindow(window, stepsOf(context, window), limits, context.clock, signal);
  await learn(context, window, outcome);
  logOutcome(context, window, outcome);
  return outcome;
}

/** What the range control goes by. */
export function rangeLimits(context: PullContext): RangeLimits {
  const { pull } = context.config;
  return { windowMinMs: pull.windowMin, windowMaxMs: pull.windowMax, requestTimeoutMs: pull.requestTimeout };
}

/** A window planned in better times is cut to what the provider can answer now. */
async function cutWhereTooLong(context: PullContext, window: LeasedWindow): Promise<boolean> {
  const state = await readPullState(context.sql, window.productId);
  if (state === null || !isTooLong(state, lengthOf(window), rangeLimits(context))) return false;
  await splitWindow(context.sql, window, cutIntoPieces(window, state.windowMs));
  return true;
}

function stepsOf(context: PullContext, leased: LeasedWindow): WindowSteps {
  const { sql, clock } = context;
  const { kind } = leased;
  const returned = beginReturned(leased);
  return {
    fetchPage: (request, signal) => context.fetchPage(request, signal, kind),
    commitPage: async (window, page, startedAt) => {
      const now = clock.now();
      await sql.begin(async (tx) => {
        const written = await writeRecords(tx, window.productId, page.records, {
          requestedAt: page.requestedAt,
          now,
        });
        const isNew = await writeRejected(tx, window.productId, page.rejected, now);
        await tellRejected(tx, window.productId, page.rejected, isNew, now);
        const counts = {
          ...written,
          rejected: page.rejected.length,
          outOfRange: countOutOfRange(page.records, window),
        };
        if (written.created < page.records.length) await endAbsences(tx, window, page.records, now);
        remember(returned, page.records, written.created);
        if (page.nextId === null) await noteAbsences(tx, window, returned, startedAt, now);
        await advanceWindow(tx, window, { nextId: page.nextId, startedAt, now, counts });
      });
    },
    renew: (window) => renewLease(sql, window),
    restart: async (window) => {
      await restartWindow(sql, window);
      restartReturned(returned);
    },
    split: (window, halves) => splitWindow(sql, window, halves),
    recordGap: (window, gap) => recordGap(sql, window, gap),
    release: (window) => releaseWindow(sql, window),
  };
}

/** Records dated outside the range asked for are kept: nobody knows which of its dates the provider goes by (§4.B3). */
function countOutOfRange(records: readonly BetRecord[], range: TimeRange): number {
  return records.filter((record) => {
    const at = parseInstant(record.accountingDate, "accountingDate");
    return at < range.from || at >= range.to;
  }).length;
}

async function learn(context: PullContext, window: LeasedWindow, outcome: WindowOutcome): Promise<void> {
  if (outcome.outcome === "abandoned" || outcome.outcome === "gap") return;
  const state = await readPullState(context.sql, window.productId);
  if (state === null) return;
  const windowMs = lengthOf(window);
  const seen =
    outcome.outcome === "done"
      ? ({ outcome: "answered", windowMs, slowestMs: outcome.slowestMs } as const)
      : ({ outcome: "too-slow", windowMs } as const);
  await writeRange(context.sql, window.productId, adaptRange(state, seen, rangeLimits(context)));
}

function logOutcome(context: PullContext, window: LeasedWindow, outcome: WindowOutcome): void {
  const about = {
    product: window.productId,
    window: window.id,
    kind: window.kind,
    from: formatInstant(window.from),
    to: formatInstant(window.to),
  };
  if (outcome.outcome === "done") {
    context.log.debug({ ...about, records: outcome.records, pages: outcome.pages }, "window fetched");
  } else if (outcome.outcome === "split") {
    context.log.info(
      { ...about, code: outcome.error.code },
      "window was too slow; its halves are fetched instead",
    );
  } else if (outcome.outcome === "gap") {
    const { code, message } = outcome.error;
    context.log.error(
      { ...about, code, error: message },
      "window could not be fetched; it is a gap, retried later",
    );
  }
}
