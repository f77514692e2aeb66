/** What the forms of the mismatch pages send. A field that was left empty is none. */

import { isMismatchStatus, type MismatchStatus } from "../../mismatch.ts";
import { MISMATCH_ACTIONS, type MismatchAction } from "../../mismatches/act.ts";
import { checkFields, usage } from "../range-query.ts";
import { STEP } from "./notice.ts";

type FormFields = Readonly<Record<string, unknown>>;

export interface BulkForm {
  readonly action: MismatchAction;
  /** as typed */
  readonly note: string;
  /** all that match the filter of the address, instead of those that are named */
  readonly isAll: boolean;
  /** of what was shown before all are acted on; null: nothing was shown yet */
  readonly shown: string | null;
  /** by id, the status in which each was seen when it was selected */
  readonly selected: ReadonlyMap<string, MismatchStatus>;
}

/** @throws ReconError `usage` that names the field and its value */
export function readBulkForm(body: unknown): BulkForm {
  const form = readForm(body, ["action", "note", "scope", "shown", "id"]);
  const named = form["id"] === undefined ? [] : [form["id"]].flat();
  return {
    action: readActionName(form["action"]),
    note: textOf(form, "note"),
    isAll: form["scope"] === "all",
    shown: form["shown"] === undefined ? null : textOf(form, "shown"),
    selected: new Map(named.map(readSeen)),
  };
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
  const form = readForm(body, ["action", "from", "note", "adjustment", "ref"]);
  const seen = textOf(form, "from");
  if (!isMismatchStatus(seen)) throw usage(`from "${seen.slice(0, 60)}" is no status`);
  return {
    action: readActionName(form["action"]),
    seen,
    note: textOf(form, "note"),
    adjustment: textOf(form, "adjustment").trim(),
    ref: textOf(form, "ref").trim(),
  };
}

/** @throws ReconError `usage` that names the field and its value */
export function readUndoForm(body: unknown): { readonly step: string; readonly back: string } {
  const form = readForm(body, ["step", "back"]);
  const step = textOf(form, "step");
  if (!STEP.test(step)) throw usage(`step "${step.slice(0, 60)}" is none`);
  return { step, back: textOf(form, "back") };
}

function readForm(body: unknown, fields: readonly string[]): FormFields {
  const form = typeof body === "object" && body !== null ? (body as FormFields) : {};
  return checkFields(form, fields);
}

function readActionName(value: unknown): MismatchAction {
  const action = MISMATCH_ACTIONS.find((one) => one === value);
  if (action !== undefined) return action;
  throw usage(`action must be one of ${MISMATCH_ACTIONS.join(", ")}, but is ${show(value)}`);
}

/** "123:open", as the boxes of the list have it. */
function readSeen(value: unknown): [string, MismatchStatus] {
  const [, id, status = ""] = (typeof value === "string" && /^(\d{1,15}):([a-z]+)$/.exec(value)) || [];
  if (id === undefined || !isMismatchStatus(status)) throw usage(`id ${show(value)} is none of the list`);
  return [id, status];
}

function textOf(form: FormFields, field: string): string {
  const value = form[field] ?? "";
  if (typeof value !== "string") throw usage(`${field} stands more than once`);
  return value;
}

function show(value: unknown): string {
  return (JSON.stringify(value) ?? "nothing").slice(0, 60);
}
