/** Reads the forms of the mismatch pages. An empty field counts as missing. */

import { z } from "zod";
import { isMismatchStatus, MISMATCH_STATUSES, type MismatchStatus } from "../../../mismatch.ts";
import { CASE_CHANGES, MISMATCH_ACTIONS, type MismatchAction } from "../../../mismatches/act.ts";
import { ONCE, orNull, read, readBy, usage } from "../../input/fields.ts";
import { must, show } from "../../input/messages.ts";
import type { TypedCase } from "../comments/render-comments.ts";
import { STEP } from "../parts/notice.ts";

const BLANK = ONCE.default("");
const ACTION = z.enum(MISMATCH_ACTIONS, must(`be one of ${MISMATCH_ACTIONS.join(", ")}`));

/** `case`: shows the forms for owner, ticket and reminder; `assign-me`: names the visitor as the owner */
const CASE_ACTIONS = ["case", "assign-me", ...CASE_CHANGES] as const;
const BULK_ACTIONS = [...MISMATCH_ACTIONS, ...CASE_ACTIONS] as const;

const BULK_FORM = z.strictObject({
  action: z.enum(BULK_ACTIONS, must(`be one of ${BULK_ACTIONS.join(", ")}`)),
  owner: BLANK,
  ticket: BLANK,
  withProvider: BLANK,
  remindAt: BLANK,
  note: BLANK,
  scope: BLANK,
  shown: orNull(ONCE),
  back: BLANK,
  id: z.preprocess((ids = []) => [ids].flat(), z.array(readBy(readSeen))),
});

const SINGLE_FORM = z.strictObject({
  action: ACTION,
  from: z.enum(MISMATCH_STATUSES, { error: ({ input }) => `from ${show(input ?? "")} is not a status` }),
  note: BLANK,
  adjustment: ONCE.trim().default(""),
  ref: ONCE.trim().default(""),
});

const UNDO_FORM = z.strictObject({
  step: ONCE.regex(STEP, { error: ({ input }) => `step ${show(input)} is not the id of a step` }),
  back: BLANK,
});

export interface BulkForm {
  readonly action: (typeof BULK_ACTIONS)[number];
  /** the fields of a change of owner, ticket or reminder, as typed */
  readonly typed: TypedCase;
  /** as typed */
  readonly note: string;
  /** all mismatches that match the filter of the address, instead of the selected ones */
  readonly isAll: boolean;
  /** the mark of the preview; null: there was no preview yet */
  readonly shown: string | null;
  /** the page from which the person came, as sent; empty: the list */
  readonly back: string;
  /** the status that the visitor saw, by id */
  readonly selected: ReadonlyMap<string, MismatchStatus>;
}

/** @throws ReconError `usage` that names the field and its value */
export function readBulkForm(body: unknown): BulkForm {
  const { scope, id, owner, ticket, withProvider, remindAt, ...form } = read(BULK_FORM, body ?? {});
  const typed = { owner, ticket, withProvider, remindAt };
  return { ...form, typed, isAll: scope === "all", selected: new Map(id) };
}

/** A form that decides about mismatches, instead of changing owner, ticket or reminder. */
export type Decision = BulkForm & { readonly action: MismatchAction };

export function isDecision(form: BulkForm): form is Decision {
  return MISMATCH_ACTIONS.some((action) => action === form.action);
}

export interface SingleForm {
  readonly action: MismatchAction;
  readonly seen: MismatchStatus;
  /** as typed */
  readonly note: string;
  readonly adjustment: string;
  readonly ref: string;
}

/** @throws ReconError `usage` that names the field and its value */
export function readSingleForm(body: unknown): SingleForm {
  const { from: seen, ...form } = read(SINGLE_FORM, body ?? {});
  return { ...form, seen };
}

/** The typed note as an action takes it: only an acknowledgement may have none. */
export function noteOf({ action, note }: { readonly action: MismatchAction; readonly note: string }): {
  readonly note?: string;
} {
  return action === "ack" && note.trim() === "" ? {} : { note };
}

/** @throws ReconError `usage` that names the field and its value */
export function readUndoForm(body: unknown): { readonly step: string; readonly back: string } {
  return read(UNDO_FORM, body ?? {});
}

/** "123:open", the value of a box in the list. */
function readSeen(value: string): [string, MismatchStatus] {
  const [, id, status = ""] = /^(\d{1,15}):([a-z]+)$/.exec(value) ?? [];
  if (id === undefined || !isMismatchStatus(status)) throw usage(`id ${show(value)} is not in the list`);
  return [id, status];
}
