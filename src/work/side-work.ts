/** Whether the heartbeat is sent and old rows are deleted. A page shows it; no alert reports it. */

import { type Instant, showInstant } from "../clock.ts";
import { findState, isFailing, isLate, NO_WORKER, patienceOf, type Watch } from "./stall.ts";
import type { WorkState } from "./work-store.ts";

export interface SideWork {
  /** when it was last done; null: never yet */
  readonly doneAt: Instant | null;
  /** what holds it up, and what to do; null: nothing does, or it was never done */
  readonly problem: { readonly what: string; readonly toDo: string } | null;
}

interface StatesSeen extends Watch {
  readonly states: readonly WorkState[];
}

const HEARTBEAT_EVERY_MS = 60_000;
const RETENTION_EVERY_MS = 600_000;

/** The error says whether the service did not accept the request, or which work stands still. */
export function judgeHeartbeat(seen: StatesSeen): SideWork {
  const toDo =
    "While work stands still, no heartbeat is sent: see the rows above. Otherwise check HEARTBEAT_URL and the service behind it.";
  return judge(seen, "heartbeat", HEARTBEAT_EVERY_MS, { what: "no heartbeat has been sent", toDo });
}

export function judgeRetention(seen: StatesSeen): SideWork {
  const toDo =
    "The worker's log has the error; the worker tries again every ten minutes. Nothing is lost, but tables grow.";
  return judge(seen, "retention", RETENTION_EVERY_MS, { what: "no run has ended", toDo });
}

function judge(
  { states, ...moment }: StatesSeen,
  work: "heartbeat" | "retention",
  everyMs: number,
  { what, toDo }: { readonly what: string; readonly toDo: string },
): SideWork {
  const state = findState(states, work, "");
  const doneAt = state?.doneAt ?? null;
  const error = state?.error ?? null;
  const late = isLate(doneAt, patienceOf(everyMs, error !== null), moment);
  if (!late && !(doneAt === null && isFailing(state))) return { doneAt, problem: null };
  const since = doneAt === null ? "yet" : `since ${showInstant(doneAt)}`;
  const said = `${what} ${since}${error === null ? "" : `: ${error}`}`;
  return { doneAt, problem: { what: said, toDo: error === null ? NO_WORKER : toDo } };
}
