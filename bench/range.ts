/**
 * range-steady, range-peak, range-collapse, range-refused-…: the requests and the time until a day is fetched, compared with
 * the best fixed range in hindsight. Provider and time are simulated. Planning, fetching, deciding and learning are the real
 * code.
 */

import type { BetPage, BetPageRequest, FetchBetPage } from "../src/bet.ts";
import type { Instant } from "../src/clock.ts";
import { type ErrorCode, ReconError } from "../src/errors.ts";
import type { LeasedWindow } from "../src/sync/leased-window-store.ts";
import {
  adaptRange,
  initialRange,
  isTooLong,
  type RangeLimits,
  type RangeState,
} from "../src/sync/range-control.ts";
import { beginPass, type PassLimits } from "../src/sync/window-pass.ts";
import { cutIntoPieces, halveRequest, LONGEST_WINDOW_MS, lengthOf, type TimeRange } from "../src/window.ts";
import { createTestClock, type TestClock } from "../test/support/clock.ts";
import { atMost, type Figure } from "./support/figure.ts";

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY: TimeRange = { from: Date.parse("2026-03-01T00:00:00Z"), to: Date.parse("2026-03-02T00:00:00Z") };
const LIMITS: RangeLimits = {
  windowMinMs: MINUTE_MS,
  windowMaxMs: LONGEST_WINDOW_MS,
  requestTimeoutMs: 30_000,
};
const WINDOW_LIMITS = { windowMinMs: MINUTE_MS, attempts: 5, maxPages: 100, cursorMaxAgeMs: HOUR_MS };
const FIXED_MINUTES = [1, 2, 3, 4, 5, 6, 10, 12, 15, 20, 30, 60];
const MOST_STEPS = 20_000;

/** The provider's time for a range at a time of the day, or the error with which it refuses the range. */
type Profile = (range: TimeRange, askedAt: Instant) => number | ErrorCode;

const REQUEST_MS = 150;
const MS_PER_RECORD = 1;
const RECORDS_PER_HOUR = 10_000;
const PEAK_HOURS = new Set([18, 19, 20, 21, 22, 23]);
const LONGEST_ANSWERED_MS = 15 * MINUTE_MS;
const COLLAPSE: TimeRange = { from: DAY.to + 90_000, to: DAY.to + 90_000 + 10 * MINUTE_MS };

function recordsIn(range: TimeRange, busier: (hour: number) => number): number {
  let records = 0;
  for (let from = range.from; from < range.to; ) {
    const hourEnd = Math.min((Math.floor(from / HOUR_MS) + 1) * HOUR_MS, range.to);
    records += ((hourEnd - from) / HOUR_MS) * RECORDS_PER_HOUR * busier(new Date(from).getUTCHours());
    from = hourEnd;
  }
  return records;
}

const PROFILES: Readonly<Record<string, Profile>> = {
  steady: (range) => REQUEST_MS + recordsIn(range, () => 1) * MS_PER_RECORD,
  peak: (range) => REQUEST_MS + recordsIn(range, (hour) => (PEAK_HOURS.has(hour) ? 8 : 1)) * MS_PER_RECORD,
  collapse: (range, askedAt) => {
    const isDown = COLLAPSE.from <= askedAt && askedAt < COLLAPSE.to;
    return (REQUEST_MS + recordsIn(range, () => 1) * MS_PER_RECORD) * (isDown ? 1000 : 1);
  },
  "refused-by-status": refusing("provider-server-error"),
  "refused-by-code": refusing("provider-rejected"),
  "refused-by-closing": refusing("provider-dropped"),
};

/** Answers ranges up to a quarter of an hour, and refuses longer ones at once. */
function refusing(code: ErrorCode): Profile {
  return (range) =>
    lengthOf(range) > LONGEST_ANSWERED_MS ? code : REQUEST_MS + recordsIn(range, () => 1) * MS_PER_RECORD;
}

interface Effort {
  readonly requests: number;
  readonly elapsedMs: number;
}

export const RANGE_FIGURES = Object.keys(PROFILES).map((name) => `range-${name}`);

export async function measureRange(): Promise<Figure[]> {
  const figures: Figure[] = [];
  for (const [name, profile] of Object.entries(PROFILES)) {
    const ours = await fetchDay(profile, initialRange(LIMITS), true);
    const fixed: Effort[] = [];
    for (const minutes of FIXED_MINUTES) {
      fixed.push(await fetchDay(profile, { ...initialRange(LIMITS), windowMs: minutes * MINUTE_MS }, false));
    }
    const requests = Math.min(...fixed.map((effort) => effort.requests));
    const elapsedMs = Math.min(...fixed.map((effort) => effort.elapsedMs));
    const value = Math.max(ours.requests / requests, ours.elapsedMs / elapsedMs);
    const detail =
      `${ours.requests} requests in ${Math.round(ours.elapsedMs / 1000)} s; among all fixed ranges, ` +
      `the fewest requests are ${requests}, the shortest time ${Math.round(elapsedMs / 1000)} s`;
    figures.push(atMost(`range-${name}`, value, 1.25, detail));
  }
  return figures;
}

interface PlannedWindow extends TimeRange, Partial<Pick<LeasedWindow, "failures" | "timeouts" | "restarts">> {
  readonly notBefore: Instant;
}

/** Fetches the day window by window. A fixed range is requested until it is answered. */
async function fetchDay(profile: Profile, start: RangeState, adapts: boolean): Promise<Effort> {
  const clock = createTestClock(DAY.to);
  const planned: PlannedWindow[] = [];
  let requests = 0;
  let range = start;
  let head = DAY.from;
  const fetchPage = async (request: BetPageRequest): Promise<BetPage> => {
    requests += 1;
    return answer(profile, request, clock);
  };
  for (let step = 0; step < MOST_STEPS; step += 1) {
    const due = planned.findIndex((window) => window.notBefore <= clock.now());
    const [next] = due === -1 ? [] : planned.splice(due, 1);
    if (next === undefined && (head >= DAY.to || planned.length > 0)) {
      // A product's next live window is planned after the present one.
      if (planned.length === 0) return { requests, elapsedMs: clock.now() - DAY.to };
      clock.set(Math.min(...planned.map((window) => window.notBefore)));
      continue;
    }
    const window: PlannedWindow = next ?? {
      from: head,
      to: Math.min(head + range.windowMs, DAY.to),
      notBefore: 0,
    };
    head = Math.max(head, window.to);
    if (!adapts) {
      await askUntilAnswered(fetchPage, window);
      continue;
    }
    if (isTooLong(range, lengthOf(window), LIMITS)) {
      planned.unshift(...cutIntoPieces(window, range.windowMs).map((piece) => ({ ...piece, notBefore: 0 })));
      continue;
    }
    const ceilingMs = range.msPerHour === null ? null : range.ceilingMs;
    const outcome = await fetchInMemory(fetchPage, window, planned, { ...WINDOW_LIMITS, ceilingMs }, clock);
    const windowMs = lengthOf(window);
    if (outcome.outcome === "done") {
      range = adaptRange(range, { outcome: "answered", windowMs, slowestMs: outcome.slowestMs }, LIMITS);
    } else if (outcome.outcome === "split") {
      range = adaptRange(range, { outcome: "too-long", windowMs }, LIMITS);
    }
  }
  return { requests: Number.POSITIVE_INFINITY, elapsedMs: Number.POSITIVE_INFINITY };
}

function answer(profile: Profile, request: BetPageRequest, clock: TestClock): BetPage {
  const tookMs = profile(request, clock.now());
  if (typeof tookMs === "string") {
    clock.advance(REQUEST_MS);
    throw new ReconError(tookMs, "the range is too long");
  }
  clock.advance(Math.min(tookMs, LIMITS.requestTimeoutMs));
  if (tookMs > LIMITS.requestTimeoutMs) throw new ReconError("provider-timeout", "no answer in time");
  return { records: [], rejected: [], nextId: null, requestedAt: clock.now(), tookMs };
}

async function askUntilAnswered(
  fetchPage: (request: BetPageRequest) => Promise<BetPage>,
  range: TimeRange,
): Promise<void> {
  const mostFailures = 100;
  for (let failures = 0; failures < mostFailures; failures += 1) {
    try {
      await fetchPage({ productId: "P1", ...range, nextId: null });
      return;
    } catch {}
  }
}

/** Does in memory what `fetchWindow` of src/flows/pull does in the database. */
async function fetchInMemory(
  fetchPage: FetchBetPage,
  window: PlannedWindow,
  planned: PlannedWindow[],
  limits: PassLimits,
  clock: TestClock,
): Promise<{ readonly outcome: "done" | "split" | "other"; readonly slowestMs: number }> {
  const pass = beginPass(leased(window), fetchPage, limits, clock, new AbortController().signal);
  const { from, to } = window;
  for (;;) {
    try {
      pass.pageCommitted(await pass.nextPage());
      return { outcome: "done", ...pass.counts() };
    } catch (error) {
      if (!(error instanceof ReconError)) throw error;
      const { next, counts } = pass.failed(error);
      const isSplit = next.step === "split";
      if (next.step === "stop") throw error;
      if (isSplit)
        planned.unshift(...halveRequest(window).map((half) => ({ ...half, notBefore: clock.now() })));
      else if (next.step === "gap") planned.push({ from, to, notBefore: clock.now() + next.retryInMs });
      else if (next.waitMs === 0) continue;
      else planned.unshift({ from, to, notBefore: clock.now() + next.waitMs, ...counts });
      return { outcome: isSplit ? "split" : "other", slowestMs: 0 };
    }
  }
}

function leased({ from, to, failures = 0, timeouts = 0, restarts = 0 }: PlannedWindow): LeasedWindow {
  return {
    from,
    to,
    failures,
    timeouts,
    restarts,
    pages: 0,
    id: 1,
    productId: "P1",
    kind: "live",
    cursor: null,
    cursorAt: null,
    startedAt: null,
    attempts: 0,
    isGap: false,
    isCheck: false,
    leaseToken: "",
  };
}
