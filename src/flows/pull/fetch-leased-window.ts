/** Fetches a leased window, and learns how long the next window may be. */

import type { BetPage, BetRecord } from "../../bet.ts";
import { formatInstant, type Instant, parseInstant } from "../../clock.ts";
import { isRefusedData } from "../../db/database-error.ts";
import { describeError, ReconError } from "../../errors.ts";
import type { Log } from "../../log.ts";
import { endAbsences, MOST_KEYS, noteAbsences, remember, restartReturned } from "../../sync/absence-store.ts";
import { fetchWindow, type WindowOutcome, type WindowSteps } from "../../sync/fetch-window.ts";
import {
  advanceWindow,
  type LeasedWindow,
  postponeWindow,
  recordGap,
  releaseWindow,
  renewLease,
  restartWindow,
  splitWindow,
} from "../../sync/leased-window-store.ts";
import { endOutage, loseLive, readLastProbe, writeOutage } from "../../sync/lost-store.ts";
import { afterNoAnswer } from "../../sync/outage.ts";
import { type PullState, readPullState, stopPulling, writeRange } from "../../sync/pull-state-store.ts";
import {
  adaptRange,
  isSameRange,
  isTooLong,
  type RangeLimits,
  type RangeState,
  type WindowSeen,
} from "../../sync/range-control.ts";
import { writeRecords } from "../../sync/record-store.ts";
import { withoutRefused } from "../../sync/refused-records.ts";
import { writeRejected } from "../../sync/rejected-store.ts";
import { BEYOND_ENDS_MS, cutIntoPieces, lengthOf, type TimeRange } from "../../window.ts";
import type { PullContext } from "../context.ts";
import { findCutAnswer, halveIfSuspicious } from "./check-answer.ts";
import { leaveDeleted } from "./leave-deleted.ts";
import { keepReturned, takeReturned } from "./postponed-passes.ts";
import { reportRejectedRecords } from "./report-rejected-records.ts";

/**
 * @returns the outcome; "cut": the window was divided without a request
 * @throws ReconError `provider-refused` where the credentials are not accepted, `lease-lost` where the lease was taken
 */
export async function fetchLeasedWindow(
  context: PullContext,
  window: LeasedWindow,
  signal: AbortSignal,
): Promise<WindowOutcome | { readonly outcome: "cut" }> {
  const known = await readPullState(context.sql, window.productId);
  if (known !== null && isTooLong(known, lengthOf(window), rangeLimits(context))) {
    // The window was planned when the provider answered longer windows.
    await splitWindow(context.sql, window, cutIntoPieces(window, known.windowMs));
    return { outcome: "cut" };
  }
  const { pull } = context.config;
  const log = context.log.child(describeWindow(window));
  const limits = {
    windowMinMs: pull.windowMin,
    attempts: pull.attempts,
    maxPages: pull.maxPages,
    cursorMaxAgeMs: pull.cursorMaxAge,
    isProbe: known !== null && known.probeAt !== null && isNewest(context, window, known),
    isOutage: known !== null && known.probeAt !== null && known.failures > 1,
    // Only an answer since then proves that shorter windows are answered.
    ceilingMs: known !== null && known.msPerHour !== null ? known.ceilingMs : null,
  };
  const cut: CutAnswers = { known: false, found: null };
  const fetched = fetchWindow(window, stepsOf(context, window, cut), limits, context.clock, signal);
  const outcome = await fetched.catch((error: unknown) => stopWhereRefused(context, window, error));
  if (known !== null) {
    await learn(context, window, whatWasSeen(window, outcome, cut), known);
    await noteAnswer({ ...context, log }, window, outcome, known);
  }
  logOutcome(log, outcome);
  return outcome;
}

/** The wait after refused credentials: a provider may lock an account that tries them at every tick. */
const STOP_MS = 3_600_000;

async function stopWhereRefused(
  { sql, clock }: PullContext,
  { productId }: LeasedWindow,
  error: unknown,
): Promise<never> {
  if (error instanceof ReconError && error.code === "provider-refused") {
    await stopPulling(sql, productId, clock.now() + STOP_MS);
  }
  throw error;
}

/** The input of the range control. */
export function rangeLimits(context: PullContext): RangeLimits {
  const { pull } = context.config;
  return { windowMinMs: pull.windowMin, windowMaxMs: pull.windowMax, requestTimeoutMs: pull.requestTimeout };
}

/** What a pass finds out about answers that the provider cuts without saying so. */
interface CutAnswers {
  /** the answer has as many records as the product's limit */
  known: boolean;
  /** a window whose parts hold more records than it did */
  found: TimeRange | null;
}

function stepsOf(context: PullContext, leased: LeasedWindow, cut: CutAnswers): WindowSteps {
  const { sql, clock } = context;
  const { kind } = leased;
  const returned = takeReturned(sql, leased);
  let { cursor } = leased;
  // The records of earlier leases are not known one by one, so a window that another process began is not checked.
  let total = leased.pages === 0 ? 0 : null;
  const commit = async (window: LeasedWindow, page: BetPage, startedAt: Instant) => {
    const now = clock.now();
    const { counts, isHalved } = await sql.begin(async (tx) => {
      const { kept, skipped, refused } = await leaveDeleted(tx, window, page.records);
      const written = await writeRecords(tx, window.productId, kept, {
        requestedAt: page.requestedAt,
        now,
      });
      const rejected = [...page.rejected, ...refused];
      const newlyRejected = await writeRejected(tx, window.productId, rejected, page.requestedAt);
      await reportRejectedRecords(tx, window.productId, rejected, newlyRejected, now);
      const { outOfRange, beyondEnds } = countOutside(page.records, window);
      const counts = {
        ...written,
        records: Math.max(0, written.records + skipped - beyondEnds),
        unchanged: Math.max(0, written.unchanged + skipped - beyondEnds),
        rejected: rejected.length,
        outOfRange,
      };
      if (written.created < page.records.length) await endAbsences(tx, window, page.records, now);
      remember(returned, page.records, written.created);
      if (page.nextId === null && total !== null) {
        const answer = { total: total + page.records.length + page.rejected.length, counts };
        const suspicion = await halveIfSuspicious(tx, window, answer, context.config.pull.windowMin, now);
        cut.known = suspicion === "known";
        if (suspicion !== "none") return { counts, isHalved: true };
      }
      if (page.nextId === null && !(await noteAbsences(tx, window, returned, startedAt, now)))
        context.log.warn(
          { productId: window.productId, from: formatInstant(window.from), to: formatInstant(window.to) },
          `this window has more than ${MOST_KEYS} records, which is the most that a worker remembers: it does not notice records that the provider no longer lists here. Choose a shorter pull.windowMax.`,
        );
      const { isResumed: resumed } = returned;
      await advanceWindow(tx, window, { nextId: page.nextId, startedAt, now, counts, resumed });
      if (page.nextId === null) cut.found = await findCutAnswer(tx, window, now);
      return { counts, isHalved: false };
    });
    cursor = page.nextId;
    if (total !== null) total += page.records.length + page.rejected.length;
    context.onPage?.({ ...counts, productId: window.productId });
    return isHalved ? "halved" : "committed";
  };
  return {
    fetchPage: (request, signal) => context.fetchPage(request, signal, kind),
    commitPage: async (window, page, startedAt) => {
      try {
        return await commit(window, page, startedAt);
      } catch (error) {
        if (!isRefusedData(error)) throw error;
        const rest = await withoutRefused(sql, window.productId, page, clock.now(), error);
        return await commit(window, rest, startedAt);
      }
    },
    renew: (window) => renewLease(sql, window),
    restart: async (window) => {
      await restartWindow(sql, window);
      restartReturned(returned);
      total = 0;
      cursor = null;
    },
    split: (window, halves) => splitWindow(sql, window, halves),
    recordGap: (window, gap) => recordGap(sql, window, gap),
    postpone: async (window, postponement) => {
      await postponeWindow(sql, window, postponement);
      keepReturned(sql, window, cursor, returned);
    },
    release: (window) => releaseWindow(sql, window),
  };
}

/**
 * Records dated outside the window are kept: the provider may select by either date (§4.B3). `beyondEnds` of them are of the
 * second beyond an end, which the window beside it covers: that window counts them.
 */
function countOutside(records: readonly BetRecord[], { from, to }: TimeRange) {
  const outside = records
    .map((record) => parseInstant(record.accountingDate, "accountingDate"))
    .filter((at) => at < from || at >= to);
  const isBeyondEnds = (at: Instant) => at >= from - BEYOND_ENDS_MS && at <= to + BEYOND_ENDS_MS;
  return { outOfRange: outside.length, beyondEnds: outside.filter(isBeyondEnds).length };
}

/** @param known the range before the window was fetched; an unchanged range is not written */
async function learn(
  context: PullContext,
  window: LeasedWindow,
  seen: WindowSeen | null,
  known: RangeState,
): Promise<void> {
  if (seen === null) return;
  const limits = rangeLimits(context);
  if (isSameRange(known, adaptRange(known, seen, limits))) return;
  // Another window may have changed the range meanwhile.
  const state = (await readPullState(context.sql, window.productId)) ?? known;
  await writeRange(context.sql, window.productId, adaptRange(state, seen, limits));
}

function whatWasSeen(window: LeasedWindow, outcome: WindowOutcome, cut: CutAnswers): WindowSeen | null {
  if (cut.found !== null) return { outcome: "too-long", windowMs: lengthOf(cut.found) };
  const windowMs = lengthOf(window);
  switch (outcome.outcome) {
    case "done":
      return { outcome: "answered", windowMs, slowestMs: outcome.slowestMs };
    case "split":
      return { outcome: "too-long", windowMs };
    case "gap":
      return { outcome: "given-up" };
    case "halved":
      return cut.known ? { outcome: "too-long", windowMs } : null;
    case "postponed":
    case "abandoned":
      return null;
  }
}

/**
 * Whether a live window reaches beyond the start of the overlap. A failure of older time says little about the
 * provider.
 */
function isNewest({ config }: PullContext, { kind, to }: LeasedWindow, { head }: PullState): boolean {
  return kind === "live" && to > head - config.pull.overlap;
}

/**
 * The newest window shows whether the provider answers; the first answer after an outage ends it
 * (docs/operations.md#provider-outage).
 */
async function noteAnswer(
  context: PullContext,
  window: LeasedWindow,
  outcome: WindowOutcome,
  known: PullState,
): Promise<void> {
  const { sql, clock, config, log } = context;
  const { productId } = window;
  if (!isNewest(context, window, known)) return;
  if (outcome.outcome === "done" && known.probeAt !== null) {
    const wasOutage = known.failures > 1;
    await endOutage(sql, productId, wasOutage, clock.now());
    if (wasOutage) log.info("the provider answers again: the time of the outage is fetched now");
  }
  if (outcome.outcome !== "gap") return;
  const { error } = outcome;
  const failed = { mayBeTooLong: error.code !== "provider-throttled", windowMinMs: config.pull.windowMin };
  const reason = { code: error.code, message: describeError(error) };
  if (known.failures > 0) await loseLive(sql, productId, reason);
  const lastProbeAt = await readLastProbe(sql, productId);
  await writeOutage(sql, productId, afterNoAnswer(known, failed, lastProbeAt, clock.now()));
}

function describeWindow(window: LeasedWindow) {
  return {
    productId: window.productId,
    windowId: window.id,
    kind: window.kind,
    from: formatInstant(window.from),
    to: formatInstant(window.to),
  };
}

function logOutcome(log: Log, outcome: WindowOutcome): void {
  if (outcome.outcome === "done") {
    log.debug({ records: outcome.records, pages: outcome.pages }, "window fetched");
  } else if (outcome.outcome === "split") {
    log.info(
      { code: outcome.error.code },
      "the provider did not answer the window; its halves are fetched instead",
    );
  } else if (outcome.outcome === "halved") {
    log.info(
      "the answer has the same number of records as others before: its halves show whether it was cut",
    );
  } else if (outcome.outcome === "postponed") {
    const { error, retryAt } = outcome;
    log.debug(
      { code: error.code, retryAt: formatInstant(retryAt) },
      "a request failed; it is sent again at retryAt",
    );
  } else if (outcome.outcome === "gap") {
    const { code, message } = outcome.error;
    log.error(
      { code, error: message },
      "a window could not be fetched; it is a gap and is tried again later",
    );
  }
}
