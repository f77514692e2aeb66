/** One request budget for all work and all worker processes: urgent requests first, none during a pause. */

import { randomUUID } from "node:crypto";
import { setInterval } from "node:timers";
import { type FetchBetPage, REQUEST_URGENCIES, type RequestUrgency } from "../bet.ts";
import type { Clock } from "../clock.ts";
import type { Sql } from "../db/client.ts";
import { ReconError } from "../errors.ts";
import {
  type BudgetLimits,
  ensureBudget,
  ensureSlots,
  forgetWaiter,
  isSlotWanted,
  pauseRequests,
  type RequestSlot,
  readPauseMs,
  releaseSlot,
  rememberWaiter,
  renewSlots,
  SLOT_LEASE_MS,
  type SlotChoice,
  takeSlot,
} from "./budget-store.ts";
import { keepSlots } from "./kept-slots.ts";
import { lowerHalf, openRoom } from "./room.ts";

/** What the budget must know about a request besides its urgency. */
export interface About {
  /** the product that a 429 of this request pauses; absent: the request is about no single product */
  readonly productId?: string | null;
  /**
   * where the product is paused for long, the request is rejected with `provider-throttled` instead of waiting, so
   * that the caller can do other work
   */
  readonly leavesWhilePaused?: boolean;
  /**
   * may-hang: the request is given up with `RoomMade` where it is slow in the upper half of the slots while others
   * wait. hangs: the request may use the lower half only, and no other request waits for it. Absent: the request may
   * use any slot and is never given up
   */
  readonly pace?: "may-hang" | "hangs";
}

export interface RequestBudget {
  /**
   * Runs one request when the budget allows it. Rejects like `request`, or with the signal's reason.
   * @param request its signal aborts where the request must make room
   */
  spend<Answer>(
    urgency: RequestUrgency,
    request: (room: AbortSignal | null) => Promise<Answer>,
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
/** The time for which a slot may serve the next request of its process; others ask no more often than this. */
const REUSED_MS = LONGEST_WAIT_MS;
/** The longest pause by Retry-After, so that a wrong header does not stop everything for ever. */
const LONGEST_PAUSE_MS = 3_600_000;
/** Callers wait for a pause up to this length. */
const SHORT_PAUSE_MS = 5_000;

/** Wraps requests so that each stays within the budget. */
export function withinBudget(fetchPage: FetchBetPage, budget: RequestBudget): FetchBetPage {
  return async (request, signal, urgency = "live") => {
    const send = async () => {
      request.beforeSending?.();
      return await fetchPage(request, signal);
    };
    // A backfill waits: its fetchers could only take further windows of the same paused product.
    const leavesWhilePaused = urgency !== "backfill";
    return await budget.spend(urgency, send, signal, { productId: request.productId, leavesWhilePaused });
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
  const room = openRoom(limits.concurrency);
  const makeRoom = () => room.make(() => isSlotWanted(sql, MAY_HANG, limits.concurrency));
  const leases = leaseSlots(sql, requestTimeoutMs, makeRoom);
  const giveBack = async (slot: RequestSlot) => {
    leases.end(slot);
    await releaseSlot(sql, slot);
    slotSignal.ring();
  };
  // With a minimal interval each request must ask for its own slot.
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
      const { productId = null, pace } = about;
      const urgency = REQUEST_URGENCIES.indexOf(urgencyName);
      const most = pace === "hangs" ? lowerHalf(limits.concurrency) : limits.concurrency;
      const asking = { ...about, productId, urgency, choice: { most, fromBelow: pace !== undefined } };
      const held = kept.reuse(productId, urgency, most) ?? {
        slot: await waitForSlot(sql, limits, asking, { slotSignal, makeRoom }, signal),
        urgency,
        productId,
        takenAt: clock.now(),
      };
      // The caller may have given up while the database handed out the slot.
      if (signal.aborted) {
        await giveBack(held.slot);
        signal.throwIfAborted();
      }
      leases.begin(held.slot);
      const own = pace === "may-hang" ? room.begin(held.slot) : null;
      let mayKeep = false;
      try {
        const answer = await request(own?.signal ?? null);
        mayKeep = !signal.aborted && !slotSignal.isAwaited();
        return answer;
      } catch (error) {
        if (error instanceof ReconError && error.code === "provider-throttled") {
          kept.forget();
          const pauseMs = Math.min(error.retryAfterMs ?? DEFAULT_PAUSE_MS, LONGEST_PAUSE_MS);
          await pauseRequests(sql, productId, pauseMs);
        }
        throw error;
      } finally {
        own?.end();
        if (!mayKeep || !kept.keep(held)) await giveBack(held.slot);
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
  { slotSignal, makeRoom }: { readonly slotSignal: SlotSignal; readonly makeRoom: () => Promise<void> },
  signal: AbortSignal,
): Promise<RequestSlot> {
  const { urgency, productId, leavesWhilePaused = false, choice, pace } = asking;
  const waiter = randomUUID();
  let waitMs = FIRST_WAIT_MS;
  let waited = false;
  try {
    for (;;) {
      signal.throwIfAborted();
      const slot = await takeSlot(sql, urgency, limits, productId, choice);
      if (slot !== null) return slot;
      if (leavesWhilePaused && productId !== null) await leaveWherePaused(sql, productId);
      if (pace !== "hangs") {
        await rememberWaiter(sql, waiter, urgency);
        waited = true;
        await makeRoom();
      }
      await slotSignal.wait(pace === "hangs" ? REQUEST_URGENCIES.length : urgency, waitMs, signal);
      waitMs = Math.min(waitMs * 1.5, LONGEST_WAIT_MS);
    }
  } finally {
    if (waited) await forgetWaiter(sql, waiter);
  }
}

async function leaveWherePaused(sql: Sql, productId: string): Promise<void> {
  const retryAfterMs = await readPauseMs(sql, productId);
  if (retryAfterMs <= SHORT_PAUSE_MS) return;
  throw new ReconError("provider-throttled", `${productId}: the provider limits the requests (429)`, {
    retryAfterMs,
  });
}

const RENEW_MS = SLOT_LEASE_MS / 3;

/**
 * Renews the slots of this process with one statement while their requests are under way, and no longer than a
 * request can take, so that a hanging request does not keep its slot for ever. Each renewal also makes room for
 * waiters of other processes.
 */
function leaseSlots(sql: Sql, requestTimeoutMs: number, makeRoom: () => Promise<void>) {
  const renewalsLeft = new Map<string, number>();
  let timer: NodeJS.Timeout | null = null;
  const renew = () => {
    const living = [...renewalsLeft].filter(([, left]) => left > 0);
    for (const [holder, left] of living) renewalsLeft.set(holder, left - 1);
    if (living.length === 0) return;
    const holders = living.map(([holder]) => holder);
    // The next renewal makes up for a failed one.
    renewSlots(sql, holders)
      .then(makeRoom)
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

/**
 * Wakes the most urgent waiter of this process when one of its slots becomes free. Other processes poll.
 */
interface SlotSignal {
  wait(urgency: number, waitMs: number, signal: AbortSignal): Promise<void>;
  ring(): void;
  isAwaited(): boolean;
}

function createSlotSignal(clock: Clock): SlotSignal {
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
