/** One budget of requests for all work and all worker processes: the urgent first, nobody while paused. */

import { randomUUID } from "node:crypto";
import { type FetchBetPage, REQUEST_URGENCIES, type RequestUrgency } from "../bet.ts";
import type { Clock } from "../clock.ts";
import type { Sql } from "../db/client.ts";
import { ReconError } from "../errors.ts";
import {
  type BudgetLimits,
  ensureBudget,
  forgetWaiter,
  givePlaceBack,
  type Place,
  pauseRequests,
  rememberWaiter,
  takePlace,
} from "./budget-store.ts";

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
  let ensured = false;
  return {
    spend: async (urgency, request, signal) => {
      if (!ensured) await ensureBudget(sql);
      ensured = true;
      const place = await waitForPlace(
        sql,
        limits,
        REQUEST_URGENCIES.indexOf(urgency),
        requestTimeoutMs,
        doorbell,
        signal,
      );
      try {
        return await request();
      } catch (error) {
        if (error instanceof ReconError && error.code === "provider-throttled") {
          await pauseRequests(sql, Math.min(error.retryAfterMs ?? DEFAULT_PAUSE_MS, LONGEST_PAUSE_MS));
        }
        throw error;
      } finally {
        await givePlaceBack(sql, place);
        doorbell.ring();
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
  };
}
