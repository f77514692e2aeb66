/** One request budget for all work and all worker processes: urgent requests first, and none during a pause. */

import { randomUUID } from "node:crypto";
import { setInterval } from "node:timers";
import { type FetchBetPage, REQUEST_URGENCIES, type RequestUrgency } from "../bet.ts";
import type { Clock } from "../clock.ts";
import type { Sql } from "../db/client.ts";
import { ReconError } from "../errors.ts";
import { lowerHalf } from "../preempted.ts";
import {
  type BudgetLimits,
  ensureBudget,
  ensureSlots,
  isSlotWanted,
  OTHERS_IN_BETWEEN,
  pauseRequests,
  type RequestSlot,
  readPauseMs,
  releaseSlot,
  removeWaiter,
  renewSlots,
  SLOT_LEASE_MS,
  type SlotChoice,
  storeWaiter,
  takeSlot,
} from "./budget-store.ts";
import { type HeldSlot, keepSlots, openPreemption } from "./held-slots.ts";

/** The properties of a request that the budget must know, besides its urgency. */
export interface About {
  /** the product that a 429 of this request pauses; absent: the request is about no single product */
  readonly productId?: string | null;
  /**
   * if the product is paused for more than five seconds, the request is rejected with `provider-throttled` instead of waiting, so the
   * caller can do other work
   */
  readonly leavesWhilePaused?: boolean;
  /**
   * may-hang: the request is aborted with `Preempted` if it is slow in the upper half of the slots while others wait. hangs: the
   * request may use the lower half only, and no other request waits for it. Absent: the request may use any slot and is never preempted
   */
  readonly pace?: "may-hang" | "hangs";
  /** as in `BetPageRequest` */
  readonly waitsForTurn?: (() => Promise<boolean>) | undefined;
}

export interface RequestBudget {
  /**
   * Runs one request when the budget allows it. Rejects like `request`, or with the signal's reason.
   * @param request its signal aborts if the request is preempted; null: it cannot be
   */
  spend<Answer>(
    urgency: RequestUrgency,
    request: (preempted: AbortSignal | null) => Promise<Answer>,
    signal: AbortSignal,
    about?: About,
  ): Promise<Answer>;
}

/** Requests of this urgency or more can take the slot of a request that may hang. */
const MAY_HANG = REQUEST_URGENCIES.indexOf("verify");
/** Short compared with a request, long compared with the statement that takes a slot. */
const FIRST_WAIT_MS = 20;
const LONGEST_WAIT_MS = 250;
/** The pause after a 429 without Retry-After. */
const DEFAULT_PAUSE_MS = 5_000;
/** The time for which a slot may serve the next request of its process; other processes poll no more often than this. */
const REUSED_MS = LONGEST_WAIT_MS;
/** The longest pause by Retry-After: a wrong header must not stop everything for ever. */
const LONGEST_PAUSE_MS = 3_600_000;
/** Callers wait for a pause up to this length. */
const SHORT_PAUSE_MS = 5_000;

/** Wraps `fetchPage` so each request takes its slot of the budget. */
export function withinBudget(fetchPage: FetchBetPage, budget: RequestBudget): FetchBetPage {
  return async (request, signal, urgency = "live") => {
    const send = async () => {
      request.beforeSending?.();
      return await fetchPage(request, signal);
    };
    // A backfill waits: its fetchers could only take further windows of the same paused product.
    const leavesWhilePaused = urgency !== "backfill";
    const { productId, waitsForTurn } = request;
    return await budget.spend(urgency, send, signal, { productId, leavesWhilePaused, waitsForTurn });
  };
}

/** @param requestTimeoutMs the longest time of a request */
export function openBudget(
  sql: Sql,
  limits: BudgetLimits,
  requestTimeoutMs: number,
  clock: Clock,
): RequestBudget {
  const slotSignal = createSlotSignal(clock);
  const preemption = openPreemption(limits.concurrency);
  const preemptSlow = () => preemption.preemptSlow(() => isSlotWanted(sql, MAY_HANG, limits.concurrency));
  const leases = leaseSlots(sql, requestTimeoutMs, preemptSlow);
  const giveBack = async ({ slot, urgency, served }: HeldSlot) => {
    leases.end(slot);
    await releaseSlot(sql, slot, urgency, served);
    slotSignal.wakeWaiters();
  };
  // With a minimal interval each request must acquire a slot of its own.
  const reusedMs = limits.minIntervalMs > 0 ? 0 : Math.min(REUSED_MS, requestTimeoutMs);
  const kept = keepSlots(reusedMs, giveBack, clock);
  let ensured = false;
  return {
    spend: async (urgencyName, request, signal, about = {}) => {
      signal.throwIfAborted();
      if (!ensured) {
        await ensureBudget(sql);
        await ensureSlots(sql, limits.concurrency);
        ensured = true;
      }
      const { productId = null, pace, waitsForTurn } = about;
      const urgency = REQUEST_URGENCIES.indexOf(urgencyName);
      const most = pace === "hangs" ? lowerHalf(limits.concurrency) : limits.concurrency;
      const asking = { ...about, productId, urgency, choice: { most, fromBelow: pace !== undefined } };
      const held: HeldSlot = (waitsForTurn ? undefined : kept.reuse(productId, urgency, most)) ?? {
        slot: await waitForSlot(sql, limits, asking, { slotSignal, preemptSlow }, signal),
        urgency,
        productId,
        takenAt: clock.now(),
        served: 0,
      };
      // The caller may have given up while the statement that takes the slot was under way.
      if (signal.aborted) {
        await giveBack(held);
        signal.throwIfAborted();
      }
      const used = { ...held, served: held.served + 1 };
      leases.begin(held.slot);
      const own = pace === "may-hang" ? preemption.begin(held.slot) : null;
      let mayKeep = false;
      try {
        const answer = await request(own?.signal ?? null);
        mayKeep = !signal.aborted && !slotSignal.isAwaited() && used.served < OTHERS_IN_BETWEEN;
        return answer;
      } catch (error) {
        if (error instanceof ReconError && error.code === "provider-throttled") {
          kept.discardAll();
          const pauseMs = Math.min(error.retryAfterMs ?? DEFAULT_PAUSE_MS, LONGEST_PAUSE_MS);
          await pauseRequests(sql, productId, pauseMs);
        }
        throw error;
      } finally {
        own?.end();
        if (!mayKeep || !kept.keep(used)) await giveBack(used);
      }
    },
  };
}

async function waitForSlot(
  sql: Sql,
  limits: BudgetLimits,
  asking: About & {
    readonly urgency: number;
    readonly productId: string | null;
    readonly choice: SlotChoice;
  },
  { slotSignal, preemptSlow }: { readonly slotSignal: SlotSignal; readonly preemptSlow: () => Promise<void> },
  signal: AbortSignal,
): Promise<RequestSlot> {
  const { urgency, productId, leavesWhilePaused = false, choice, pace, waitsForTurn } = asking;
  const waiter = randomUUID();
  const place = slotSignal.enter(pace === "hangs" ? null : urgency);
  let waitMs = FIRST_WAIT_MS;
  let isRemembered = false;
  try {
    for (;;) {
      signal.throwIfAborted();
      const onlyInTurn = (await waitsForTurn?.()) ?? false;
      const slot = await takeSlot(sql, urgency, limits, productId, { ...choice, onlyInTurn, waiter });
      if (slot !== null) return slot;
      const pauseMs = productId === null ? 0 : await readPauseMs(sql, productId);
      if (leavesWhilePaused && pauseMs > SHORT_PAUSE_MS) throw asThrottled(productId, pauseMs);
      // A stored waiter makes less urgent requests wait. One that is paused, or is known to hang, must not hold them up.
      if (pace !== "hangs" && pauseMs === 0) {
        await storeWaiter(sql, waiter, urgency);
        isRemembered = true;
        await preemptSlow();
      } else if (isRemembered) {
        await removeWaiter(sql, waiter);
        isRemembered = false;
      }
      await place.wait(waitMs, signal);
      waitMs = Math.min(waitMs * 1.5, LONGEST_WAIT_MS);
    }
  } finally {
    if (isRemembered) await removeWaiter(sql, waiter);
  }
}

function asThrottled(productId: string | null, retryAfterMs: number): ReconError {
  return new ReconError("provider-throttled", `${productId}: the provider limits the requests (429)`, {
    retryAfterMs,
  });
}

const RENEW_MS = SLOT_LEASE_MS / 3;

/**
 * Renews the slots of this process with one statement while their requests are under way, but no longer than a request can take, so a
 * hanging request cannot keep its slot for ever. Each renewal also preempts slow requests for the waiters of other processes.
 */
function leaseSlots(sql: Sql, requestTimeoutMs: number, preemptSlow: () => Promise<void>) {
  const renewalsLeft = new Map<string, number>();
  let timer: NodeJS.Timeout | null = null;
  const renew = () => {
    const living = [...renewalsLeft].filter(([, left]) => left > 0);
    for (const [holder, left] of living) renewalsLeft.set(holder, left - 1);
    if (living.length === 0) return;
    const holders = living.map(([holder]) => holder);
    // If a renewal fails, the next one comes before the lease ends.
    renewSlots(sql, holders)
      .then(preemptSlow)
      .catch(() => {});
  };
  return {
    begin: ({ holder }: RequestSlot) => {
      renewalsLeft.set(holder, Math.ceil((2 * requestTimeoutMs) / RENEW_MS));
      timer ??= setInterval(renew, RENEW_MS).unref();
    },
    end: ({ holder }: RequestSlot) => {
      renewalsLeft.delete(holder);
      if (renewalsLeft.size > 0 || timer === null) return;
      clearInterval(timer);
      timer = null;
    },
  };
}

/** Wakes the waiters of this process when one of its slots becomes free. Waiters of other processes poll. */
interface SlotSignal {
  /** @param urgency null: the request is known to hang, and is woken last */
  enter(urgency: number | null): { wait(waitMs: number, signal: AbortSignal): Promise<void> };
  wakeWaiters(): void;
  isAwaited(): boolean;
}

function createSlotSignal(clock: Clock): SlotSignal {
  const waiting = new Set<{ urgency: number; place: number; woken: AbortController }>();
  let places = 0;
  return {
    enter: (urgency) => {
      const place = places++;
      return {
        wait: async (waitMs, signal) => {
          const one = { urgency: urgency ?? REQUEST_URGENCIES.length, place, woken: new AbortController() };
          waiting.add(one);
          await clock.sleep(waitMs, AbortSignal.any([signal, one.woken.signal]));
          waiting.delete(one);
        },
      };
    },
    // Wakes the most urgent waiter, and the one of each share that has waited longest. The database decides between them.
    wakeWaiters: () => {
      const inOrder = [...waiting].sort((a, b) => a.place - b.place);
      const mostUrgent = inOrder.toSorted((a, b) => a.urgency - b.urgency)[0];
      const verify = inOrder.find(({ urgency }) => urgency === MAY_HANG);
      const rest = inOrder.find(({ urgency }) => urgency > MAY_HANG && urgency < REQUEST_URGENCIES.length);
      for (const one of new Set([mostUrgent, verify, rest])) one?.woken.abort();
    },
    isAwaited: () => waiting.size > 0,
  };
}
