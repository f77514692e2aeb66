/** Fetches a leased window to its last page, and learns from it how long the next window may be. */

import { setInterval } from "node:timers";
import { formatInstant, type Instant } from "../../clock.ts";
import { describeError, ReconError } from "../../errors.ts";
import type { Log } from "../../log.ts";
import {
  convertLiveWindowsToBacklog,
  endOutage,
  readLastProbe,
  writeOutage,
} from "../../sync/backlog-store.ts";
import {
  LEASE_SECONDS,
  type LeasedWindow,
  postponeWindow,
  recordGap,
  releaseWindow,
  renewLease,
  restartWindow,
  splitWindow,
} from "../../sync/leased-window-store.ts";
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
import { beginPass, type FailedStep, type PassCounts, type PassLimits } from "../../sync/window-pass.ts";
import { cutIntoPieces, halveRequest, lengthOf } from "../../window.ts";
import type { PullContext } from "../context.ts";
import { type CutAnswers, openPageWriter, type PageWriter } from "./write-page.ts";

export type WindowOutcome =
  | ({ readonly outcome: "done" } & PassCounts)
  | { readonly outcome: "split" | "gap"; readonly error: ReconError }
  /** the answer may have been cut, so the halves of the window are fetched */
  | { readonly outcome: "halved" }
  /** a request failed; the window is retried at `retryAt` */
  | { readonly outcome: "postponed"; readonly error: ReconError; readonly retryAt: Instant }
  /** the process is ending; the window stays planned, with its committed pages */
  | { readonly outcome: "abandoned" };

/**
 * @returns the outcome; "cut": the window was divided without a request, because it would certainly time out
 * @throws ReconError `provider-refused` if the provider refuses the credentials, `lease-lost` if another worker has the window
 */
export async function fetchWindow(
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
  const log = context.log.child(describeWindow(window));
  const writer = openPageWriter(context, window);
  const outcome = await fetchUnderLease(context, window, writer, passLimits(context, window, known), signal);
  if (known !== null) {
    await learn(context, window, whatWasSeen(window, outcome, writer.cut), known);
    await noteAnswer({ ...context, log }, window, outcome, known);
  }
  logOutcome(log, outcome);
  return outcome;
}

function passLimits(context: PullContext, window: LeasedWindow, known: PullState | null): PassLimits {
  const { pull } = context.config;
  return {
    windowMinMs: pull.windowMin,
    attempts: pull.attempts,
    maxPages: pull.maxPages,
    cursorMaxAgeMs: pull.cursorMaxAge,
    isProbe: known !== null && known.probeAt !== null && isNewest(context, window, known),
    isOutage: known !== null && known.probeAt !== null && known.failures > 1,
    // The ceiling counts only if a shorter window was answered since.
    ceilingMs: known !== null && known.msPerHour !== null ? known.ceilingMs : null,
  };
}

/** Renews the lease until the window is fetched, given up or postponed. Afterwards the window is released in every case. */
async function fetchUnderLease(
  context: PullContext,
  window: LeasedWindow,
  writer: PageWriter,
  limits: PassLimits,
  signal: AbortSignal,
): Promise<WindowOutcome> {
  const { sql, clock } = context;
  const lease = keepLease(context, window, signal);
  try {
    return await fetchPages(context, window, writer, limits, lease.signal);
  } catch (error) {
    if (lease.lost() !== null) throw lease.lost();
    await releaseWindow(sql, window).catch(() => {});
    if (signal.aborted) return { outcome: "abandoned" };
    if (error instanceof ReconError && error.code === "provider-refused") {
      await stopPulling(sql, window.productId, clock.now() + STOP_MS);
    }
    throw error;
  } finally {
    lease.stop();
  }
}

/** The wait after refused credentials: a provider may lock an account that tries them at every tick. */
const STOP_MS = 3_600_000;

async function fetchPages(
  context: PullContext,
  window: LeasedWindow,
  writer: PageWriter,
  limits: PassLimits,
  signal: AbortSignal,
): Promise<WindowOutcome> {
  const pass = beginPass(window, context.fetchPage, limits, context.clock, signal);
  for (;;) {
    signal.throwIfAborted();
    try {
      const page = await pass.nextPage();
      const committed = await writer.write(page, pass.startedAt);
      pass.pageCommitted(page);
      if (committed === "halved") return { outcome: "halved" };
      if (page.nextId === null) return { outcome: "done", ...pass.counts() };
    } catch (error) {
      if (signal.aborted || !(error instanceof ReconError) || error.code === "lease-lost") throw error;
      const outcome = await handleFailure(context, window, writer, error, pass.failed(error));
      if (outcome !== null) return outcome;
    }
  }
}

/** Carries out the step that `afterFailure` chose. @returns null if the pass continues with the same page at once */
async function handleFailure(
  { sql, clock }: PullContext,
  window: LeasedWindow,
  writer: PageWriter,
  error: ReconError,
  { next, counts }: FailedStep,
): Promise<WindowOutcome | null> {
  switch (next.step) {
    case "stop":
      throw error;
    case "split":
      await splitWindow(sql, window, halveRequest(window));
      return { outcome: "split", error };
    case "gap": {
      const nextAttemptAt = clock.now() + next.retryInMs;
      await recordGap(sql, window, { code: error.code, message: describeError(error), nextAttemptAt });
      return { outcome: "gap", error };
    }
    case "restart":
      await restartWindow(sql, window);
      writer.restart();
      break;
    case "retry":
      if (next.waitMs === 0) return null;
  }
  const retryAt = clock.now() + next.waitMs;
  await postponeWindow(sql, window, { ...counts, retryAt });
  writer.keepForLater();
  return { outcome: "postponed", error, retryAt };
}

/** Renews the lease while requests are under way. Aborts the work if the lease is lost. */
function keepLease({ sql }: PullContext, window: LeasedWindow, signal: AbortSignal) {
  const ended = new AbortController();
  let lost: ReconError | null = null;
  const timer = setInterval(
    () => {
      renewLease(sql, window).catch((error: unknown) => {
        if (!(error instanceof ReconError && error.code === "lease-lost")) return;
        lost = error;
        ended.abort(error);
      });
    },
    (LEASE_SECONDS * 1000) / 3,
  );
  timer.unref();
  return {
    signal: AbortSignal.any([signal, ended.signal]),
    lost: () => lost,
    /** Also aborts a page that was requested ahead and is no longer needed. */
    stop: () => {
      clearInterval(timer);
      ended.abort();
    },
  };
}

/** The input of the range control. */
export function rangeLimits(context: PullContext): RangeLimits {
  const { pull } = context.config;
  return { windowMinMs: pull.windowMin, windowMaxMs: pull.windowMax, requestTimeoutMs: pull.requestTimeout };
}

/** Adapts the product's window length. @param known the range before the window was fetched; an unchanged range is not written */
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
      return cut.isAtLimit ? { outcome: "too-long", windowMs } : null;
    case "postponed":
    case "abandoned":
      return null;
  }
}

/**
 * Whether a live window reaches beyond the start of the overlap. If older time fails, that says little about the provider.
 */
function isNewest({ config }: PullContext, { kind, to }: LeasedWindow, { head }: PullState): boolean {
  return kind === "live" && to > head - config.pull.overlap;
}

/**
 * The newest window shows whether the provider answers. The first answer ends an outage, the second failure in a row begins one
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
    if (wasOutage) log.info("the provider answers again: fetching the backlog of the outage");
  }
  if (outcome.outcome !== "gap") return;
  const { error } = outcome;
  const failed = { mayBeTooLong: error.code !== "provider-throttled", windowMinMs: config.pull.windowMin };
  const reason = { code: error.code, message: describeError(error) };
  if (known.failures > 0) await convertLiveWindowsToBacklog(sql, productId, reason);
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
      "the provider did not answer the window; fetching its halves instead",
    );
  } else if (outcome.outcome === "halved") {
    log.info(
      "the answer has as many records as the answers before it; fetching its halves to check whether it was cut",
    );
  } else if (outcome.outcome === "postponed") {
    const { error, retryAt } = outcome;
    log.debug({ code: error.code, retryAt: formatInstant(retryAt) }, "a request failed; retrying at retryAt");
  } else if (outcome.outcome === "gap") {
    const { code, message } = outcome.error;
    log.error(
      { code, error: message },
      "a window could not be fetched; it is a gap and will be retried later",
    );
  }
}
