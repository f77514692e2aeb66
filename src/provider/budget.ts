/** One budget of requests for all work and all worker processes: the urgent first, nobody while paused. */

import { randomUUID } from "node:crypto";
import { type FetchBetPage, REQUEST_URGENCIES, type RequestUrgency } from "../bet.ts";
import type { Clock } from "../clock.ts";
import type { Sql } from "../db/client.ts";
import { ReconError } from "../errors.ts";
import {
  type BudgetLimits,
  ensureBudget,
  ensurePlaces,
  forgetWaiter,
  givePlaceBack,
  type Place,
  pauseRequests,
  rememberWaiter,
  takePlace,
} from "./budget-store.ts";
import { keepPlaces } from "./kept-places.ts";

export interface RequestBudget {
  /** Runs one request when the budget allows it. Rejects like `request`, or with the signal's reason. */
  spend<Answer>(
    urgency: RequestUrgency,
    request: () => Promise<Answer>,
    signal: AbortSignal,
  ): Promise<Answer>;
}

/** Short against a request, long against the statement that asks. */
const FIRST_WAIT_MS = 20;
const LONGEST_WAIT_MS = 250;
/** A 429 that does not say how long. */
const DEFAULT_PAUSE_MS = 5_000;
/** So long after it was taken a place may serve the next request too: others look no more often, whoever they are. */
const REUSED_MS = LONGEST_WAIT_MS;
/** What a Retry-After may ask for at the most: a wrong header must not stop everything for ever. */
const LONGEST_PAUSE_MS = 3_600_000;

/** The same requests, each within the budget. */
export function withinBudget(fetchPage: FetchBetPage, budget: RequestBudget): FetchBetPage {
  return (request, signal, urgency = "live") =>
    budget.spend(urgency, () => fetchPage(request, signal), signal);
}

/** @param requestTimeoutMs a place is held a little longer than a request can take */
export function openBudget(
  sql: Sql,
  limits: BudgetLimits,
  requestTimeoutMs: number,
  clock: Clock,
): RequestBudget {
  const doorbell = createDoorbell(clock);
  const giveBack = async (place: Place) => {
    await givePlaceBack(sql, place);
    doorbell.ring();
  };
  // Between requests that must keep an interval each has to ask.
  const reusedMs = limits.minIntervalMs > 0 ? 0 : Math.min(REUSED_MS, requestTimeoutMs);
  const kept = keepPlaces(reusedMs, giveBack, clock);
  let ensured = false;
  return {
    spend: async (urgencyName, request, signal) => {
      signal.throwIfAborted();
      if (!ensured) {
        await ensureBudget(sql);
        await ensurePlaces(sql, limits.concurrency);
        ensured = true;
      }
      const urgency = REQUEST_URGENCIES.indexOf(urgencyName);
      const held = kept.reuse(urgency) ?? {
        place: await waitForPlace(sql, limits, urgency, requestTimeoutMs, doorbell, signal),
        urgency,
        takenAt: clock.now(),
      };
      let mayKeep = false;
      try {
        const answer = await request();
        mayKeep = !signal.aborted && !doorbell.isAwaited();
        return answer;
      } catch (error) {
        if (error instanceof ReconError && error.code === "provider-throttled") {
          kept.forget();
          await pauseRequests(sql, Math.min(error.retryAfterMs ?? DEFAULT_PAUSE_MS, LONGEST_PAUSE_MS));
        }
        throw error;
      } finally {
        if (!mayKeep || !kept.keep(held)) await giveBack(held.place);
      }
    },
  };
}

async function waitForPlace(
  sql: Sql,
  limits: BudgetLimits,
  urgency: number,
  requestTimeoutMs: number,
  doorbell: Doorbell,
  signal: AbortSignal,
): Promise<Place> {
  const waiter = randomUUID();
  let waitMs = FIRST_WAIT_MS;
  let waited = false;
  try {
    for (;;) {
      signal.throwIfAborted();
      const place = await takePlace(sql, urgency, limits, requestTimeoutMs * 2);
      if (place !== null) return place;
      await rememberWaiter(sql, waiter, urgency);
      waited = true;
      await doorbell.wait(urgency, waitMs, signal);
      waitMs = Math.min(waitMs * 1.5, LONGEST_WAIT_MS);
    }
  } finally {
    if (waited) await forgetWaiter(sql, waiter);
  }
}

/** Wakes the most urgent waiter of this process when a place of this process comes free; others find out by asking. */
interface Doorbell {
  wait(urgency: number, waitMs: number, signal: AbortSignal): Promise<void>;
  ring(): void;
  isAwaited(): boolean;
}

function createDoorbell(clock: Clock): Doorbell {
  const waiting = new Set<{ urgency: number; woken: AbortController }>();
  return {
    wait: async (urgency, waitMs, signal) => {
      const one = { urgency, woken: new AbortController() };
      waiting.add(one);
      await clock.sleep(waitMs, AbortSignal.any([signal, one.woken.signal]));
      waiting.delete(one);
    },
    ring: () => {
      const [first] = [...waiting].sort((a, b) => a.urgency - b.urgency);
      first?.woken.abort();
    },
    isAwaited: () => waiting.size > 0,
  };
}
