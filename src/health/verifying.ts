/** Judges how far verifying is behind, and which products get no answers. Pure. */

import { type Instant, showDuration, showInstant } from "../clock.ts";
import type { DueOfProduct, WorkState } from "../work/work-store.ts";
import { type Finding, findState, isFarBehind, isLate, NO_WORKER, notice, type Watch } from "./finding.ts";
import { refusedForTransfers } from "./products.ts";

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
  readonly due: number;
  readonly findings: readonly Finding[];
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

function splitQueue(queue: string): { readonly kind: string; readonly productId: string } {
  const place = queue.indexOf(" ");
  return { kind: queue.slice(0, place), productId: queue.slice(place + 1) };
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
    if (state?.errorCode === "provider-refused") return [];
    const isSilent =
      isUnanswered(state, now) || (waits !== null && isWaiting(waits, state, patienceMs, seen));
    return isSilent ? [describeSilent(queue, waits, state)] : [];
  });
  const stalls = stopped === null ? silent : [stopped];
  // Refused credentials are no silence.
  const refused = new Set(
    [...queues.keys()]
      .filter((queue) => findState(states, "verifying", queue)?.errorCode === "provider-refused")
      .map((queue) => splitQueue(queue).productId),
  );
  const oldest = due.length === 0 ? null : Math.min(...due.map(({ oldestDueAt }) => oldestDueAt));
  const since = oldest ?? ran?.doneAt ?? null;
  const behindMs = since === null ? null : Math.max(0, now - since);
  return {
    behindMs,
    due: countAll(due),
    findings: [
      ...stalls,
      ...[...refused].map(refusedForTransfers),
      ...(stalls.length > 0 ? [] : findDelay(behindMs, countAll(due), seen.everyMs)),
    ],
  };
}

function findDelay(behindMs: number | null, due: number, everyMs: number): Finding[] {
  if (behindMs === null) return [notice("verifying-not-begun", "unknown", "nothing has been verified yet")];
  if (!isFarBehind(behindMs, everyMs)) return [];
  const what = `verifying is ${showDuration(behindMs)} behind: ${due.toLocaleString("en")} are due`;
  return [notice("verifying-behind", "warn", what)];
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

function describeStopped(doneAt: Instant | null, due: number): Finding {
  const since = doneAt === null ? "yet" : `since ${showInstant(doneAt)}`;
  return {
    kind: "verifying-stalled",
    subject: "verifying",
    productId: null,
    severity: "bad",
    what: `verifying has not run ${since}: ${due} transfers and top-ups are due`,
    remedy: NO_WORKER,
    whatWhenOver: "verifying runs again",
    isWhole: true,
  };
}

function describeSilent(queue: string, waits: DueOfProduct | null, state: WorkState | null): Finding {
  const { kind, productId } = splitQueue(queue);
  const since = state?.failingSince ?? waits?.oldestDueAt ?? null;
  const error = state?.error ?? null;
  const many =
    waits === null ? "" : `; ${waits.due} are due, the oldest since ${showInstant(waits.oldestDueAt)}`;
  return {
    kind: "verifying-stalled",
    subject: queue,
    productId,
    severity: "bad",
    what: `the provider has answered no question about ${kind}s of ${productId}${since === null ? "" : ` since ${showInstant(since)}`}${error === null ? "" : ` (${error})`}${many}`,
    remedy: `Ask the provider about its verify endpoint. The worker keeps asking, and decides nothing without an answer. Other products are not affected. recon transfers list --kind ${kind} shows what waits.`,
    whatWhenOver: `the provider answers questions about ${kind}s of ${productId} again`,
  };
}

function countAll(due: readonly DueOfProduct[]): number {
  return due.reduce((sum, one) => sum + one.due, 0);
}
