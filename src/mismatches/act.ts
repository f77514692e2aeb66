/** The actions of reviewers on a mismatch, the statuses from which each is possible, and the changes of its case. Pure. */

import type { Instant } from "../clock.ts";
import type { MismatchChange, MismatchStatus } from "../mismatch.ts";

export const MISMATCH_ACTIONS = ["ack", "resolve", "ignore", "reopen"] as const;
export type MismatchAction = (typeof MISMATCH_ACTIONS)[number];

interface Act {
  readonly from: readonly MismatchStatus[];
  readonly to: MismatchStatus;
  readonly change: MismatchChange["change"];
  /** the word that completes the error "it cannot be …" */
  readonly done: string;
}

export const ACTS: Readonly<Record<MismatchAction, Act>> = {
  ack: { from: ["open"], to: "acknowledged", change: "acknowledge", done: "acknowledged" },
  resolve: { from: ["open", "acknowledged"], to: "resolved", change: "resolve", done: "resolved" },
  ignore: { from: ["open", "acknowledged"], to: "ignored", change: "ignore", done: "ignored" },
  reopen: { from: ["resolved", "ignored"], to: "open", change: "reopen", done: "reopened" },
};

/** A mismatch at the time of an action. */
export interface ActedOn {
  readonly id: number;
  readonly status: MismatchStatus;
  /** who resolved or ignored the mismatch: a reviewer, or "recon" */
  readonly resolvedBy: string | null;
}

/**
 * The reason why an action is not possible now: another reviewer was faster, or the status does not allow it.
 * @param expected the status that the reviewer has seen; null: any
 * @returns null if the action is possible
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
    ? `it is no longer ${expected}; read it again before you decide`
    : `it cannot be ${ACTS[action].done}`;
  return `mismatch ${id} is ${status}${by}: ${reason}`;
}

/**
 * How undoing a step changes the number of mismatches that wait for a reviewer.
 * @param from the status after the step
 * @param to the status before the step, which the undo restores
 * @returns null if the number does not change
 */
export function changeByUndo(from: MismatchStatus, to: MismatchStatus): MismatchChange["change"] | null {
  const waits = (status: MismatchStatus) => status === "open" || status === "acknowledged";
  if (waits(from) === waits(to)) return null;
  if (waits(to)) return "restore";
  return to === "ignored" ? "ignore" : "resolve";
}

/** A correction of money that a reviewer made by hand, as requested. */
export interface Adjustment {
  /** signed decimal text, canonical; positive: the player received money */
  readonly amount: string;
  readonly ref: string;
}

/** The changes of a case: they change no status, and incidents have them too. */
export const CASE_CHANGES = ["assign", "ticket", "remind"] as const;
export type CaseChangeName = (typeof CASE_CHANGES)[number];

export type CaseChange =
  /** null: nobody works on it */
  | { readonly what: "assign"; readonly owner: string | null }
  /** `ticket` undefined: as it is; null: none */
  | {
      readonly what: "ticket";
      readonly ticket: string | null | undefined;
      /** whether the provider is to answer */
      readonly isWithProvider: boolean;
    }
  /** null: no reminder */
  | { readonly what: "remind"; readonly remindAt: Instant | null };

/** Nobody is reminded of what is decided. @returns null if the mismatch may have a reminder */
export function refusalOfReminder({ id, status, resolvedBy }: ActedOn): string | null {
  if (status === "open" || status === "acknowledged") return null;
  const by = resolvedBy === null ? "" : ` (by ${resolvedBy})`;
  return `mismatch ${id} is ${status}${by}: only open and acknowledged ones have reminders`;
}
