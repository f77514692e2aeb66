/** Judges how far verifying is behind, and which products get no answers. Pure. */

import { type Instant, showInstant } from "../clock.ts";
import { findState, isFarBehind, isLate, NO_WORKER, type Stall, type Watch } from "./stall.ts";
import type { DueOfProduct, WorkState } from "./work-store.ts";

interface VerifyingSeen extends Watch {
  readonly states: readonly WorkState[];
  readonly due: readonly DueOfProduct[];
  /** `verify.every` */
  readonly everyMs: number;
  /** `pull.requestTimeout` */
  readonly requestTimeoutMs: number;
}

export interface Verifying {
  /**
   * the wait of the oldest due transfer or top-up; if nothing is due, the time since the last run; null: nothing is due, and there was
   * no run
   */
  readonly behindMs: number | null;
  /** verifying is behind by more than its schedule explains */
  readonly isFarBehind: boolean;
  readonly due: number;
  readonly problem: string | null;
  readonly stalls: readonly Stall[];
}

/**
 * The transfers, or the top-ups, of a product count as silent after this many questions in a row without an answer, the
 * first of them at least UNANSWERED_FOR_MS ago.
 */
const FEWEST_UNANSWERED = 10;
const UNANSWERED_FOR_MS = 120_000;
/** A silence counts only if a question was sent within this time. */
const ASKED_WITHIN_MS = 2 * 3_600_000;

/** The subject in `work_states` of one kind and product. */
export function queueNameOf(kind: DueOfProduct["kind"], productId: string): string {
  return `${kind} ${productId}`;
}

export function judgeVerifying(seen: VerifyingSeen): Verifying {
  const { states, due, now } = seen;
  const patienceMs = Math.max(3 * seen.everyMs, 2 * seen.requestTimeoutMs, UNANSWERED_FOR_MS);
  const ran = findState(states, "verifying", "");
  const stopped =
    ran !== null && isLate(ran.doneAt, patienceMs, seen) ? describeStopped(ran.doneAt, countAll(due)) : null;
  const queues = new Map<string, DueOfProduct | null>(
    states
      .filter(({ work, subject }) => work === "verifying" && subject !== "")
      .map((one) => [one.subject, null]),
  );
  for (const one of due) queues.set(queueNameOf(one.kind, one.productId), one);
  const silent = [...queues].flatMap(([queue, waits]) => {
    const state = findState(states, "verifying", queue);
    // Refused credentials have their own condition.
    if (state?.errorCode === "provider-refused") return [];
    const isSilent =
      isUnanswered(state, now) || (waits !== null && isWaiting(waits, state, patienceMs, seen));
    return isSilent ? [describeSilent(queue, waits, state)] : [];
  });
  const stalls = stopped === null ? silent : [stopped];
  const oldest = due.length === 0 ? null : Math.min(...due.map(({ oldestDueAt }) => oldestDueAt));
  const since = oldest ?? ran?.doneAt ?? null;
  const more = stalls.length > 1 ? ` (and ${stalls.length - 1} more)` : "";
  const behindMs = since === null ? null : Math.max(0, now - since);
  return {
    behindMs,
    isFarBehind: isFarBehind(behindMs, seen.everyMs),
    due: countAll(due),
    problem: stalls[0] === undefined ? null : `${stalls[0].what}${more}`,
    stalls,
  };
}

function isUnanswered(state: WorkState | null, now: Instant): boolean {
  if (state === null || state.failingSince === null || state.failedAt === null) return false;
  const isAsked = now - state.failedAt < ASKED_WITHIN_MS;
  return isAsked && state.failures >= FEWEST_UNANSWERED && now - state.failingSince >= UNANSWERED_FOR_MS;
}

/** Whether a due question waits too long while no answer arrives. A long backlog alone is not silence. */
function isWaiting(waits: DueOfProduct, state: WorkState | null, patienceMs: number, moment: Watch): boolean {
  return isLate(Math.max(waits.oldestDueAt, state?.doneAt ?? 0), patienceMs, moment);
}

function describeStopped(doneAt: Instant | null, due: number): Stall {
  const since = doneAt === null ? "yet" : `since ${showInstant(doneAt)}`;
  return {
    kind: "verifying-stalled",
    subject: "verifying",
    productId: null,
    what: `verifying has not run ${since}: ${due} transfers and top-ups are due`,
    toDo: NO_WORKER,
    whatWhenOver: "verifying runs again",
    isWhole: true,
  };
}

function describeSilent(queue: string, waits: DueOfProduct | null, state: WorkState | null): Stall {
  const place = queue.indexOf(" ");
  const [kind, productId] = [queue.slice(0, place), queue.slice(place + 1)];
  const since = state?.failingSince ?? waits?.oldestDueAt ?? null;
  const error = state?.error ?? null;
  const many =
    waits === null ? "" : `; ${waits.due} are due, the oldest since ${showInstant(waits.oldestDueAt)}`;
  return {
    kind: "verifying-stalled",
    subject: queue,
    productId,
    what: `no question about ${kind}s of ${productId} has been answered${since === null ? "" : ` since ${showInstant(since)}`}${error === null ? "" : ` (${error})`}${many}`,
    toDo: `Ask the provider about its verify endpoint. The worker keeps asking, and decides nothing without an answer. Other products are not affected. recon transfers list --kind ${kind} shows what waits.`,
    whatWhenOver: `questions about ${kind}s of ${productId} are answered again`,
    isWhole: false,
  };
}

function countAll(due: readonly DueOfProduct[]): number {
  return due.reduce((sum, one) => sum + one.due, 0);
}
