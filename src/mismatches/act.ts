/** What people may do with a mismatch, and from which status: the other half of its life. Pure. */

import type { MismatchChange, MismatchStatus } from "../mismatch.ts";

export const MISMATCH_ACTIONS = ["ack", "resolve", "ignore", "reopen"] as const;
export type MismatchAction = (typeof MISMATCH_ACTIONS)[number];

interface Act {
  readonly from: readonly MismatchStatus[];
  readonly to: MismatchStatus;
  readonly change: MismatchChange["change"];
  /** completes the sentence "it cannot be …" */
  readonly done: string;
}

export const ACTS: Readonly<Record<MismatchAction, Act>> = {
  ack: { from: ["open"], to: "acknowledged", change: "acknowledge", done: "acknowledged" },
  resolve: { from: ["open", "acknowledged"], to: "resolved", change: "resolve", done: "resolved" },
  ignore: { from: ["open", "acknowledged"], to: "ignored", change: "ignore", done: "ignored" },
  reopen: { from: ["resolved", "ignored"], to: "open", change: "reopen", done: "reopened" },
};

/** A mismatch as it stands when somebody acts on it. */
export interface ActedOn {
  readonly id: number;
  readonly status: MismatchStatus;
  /** who resolved or ignored it */
  readonly resolvedBy: string | null;
}

/**
 * Why an action is not possible now: somebody was quicker, or it makes no sense.
 * @param expected the status in which whoever acts has seen it; null: any
 * @returns null where it is possible
 */
export function refusalOf(
  action: MismatchAction,
  { id, status, resolvedBy }: ActedOn,
  expected: MismatchStatus | null,
): string | null {
  const isPossible = ACTS[action].from.includes(status);
  if (isPossible && (expected === null || expected === status)) return null;
  const by = resolvedBy === null ? "" : ` (by ${resolvedBy})`;
  const reason = isPossible
    ? `it is no longer ${expected}: look at it again`
    : `it cannot be ${ACTS[action].done}`;
  return `mismatch ${id} is ${status}${by}: ${reason}`;
}

/**
 * What taking a step back is for whoever counts what waits for somebody.
 * @param from the status that the step has made
 * @param to the one before it, which is there again
 * @returns null: as many wait as before
 */
export function changeByUndo(from: MismatchStatus, to: MismatchStatus): MismatchChange["change"] | null {
  const waits = (status: MismatchStatus) => status === "open" || status === "acknowledged";
  if (waits(from) === waits(to)) return null;
  if (waits(to)) return "reopen";
  return to === "ignored" ? "ignore" : "resolve";
}

/** A correction made by hand, as it was asked for. */
export interface Adjustment {
  /** signed decimal text, canonical: positive was given to the player */
  readonly amount: string;
  readonly ref: string;
}
