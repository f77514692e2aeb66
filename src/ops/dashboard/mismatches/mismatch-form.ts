/** Reads the forms of the mismatch pages. An empty field counts as missing. */

import { isMismatchStatus, type MismatchStatus } from "../../../mismatch.ts";
import { MISMATCH_ACTIONS, type MismatchAction } from "../../../mismatches/act.ts";
import { checkFields, usage } from "../../input/fields.ts";
import { STEP } from "../parts/notice.ts";

type FormFields = Readonly<Record<string, unknown>>;

export interface BulkForm {
  readonly action: MismatchAction;
  /** as typed */
  readonly note: string;
  /** all mismatches that match the filter of the address, instead of the selected ones */
  readonly isAll: boolean;
  /** the mark of the preview; null: there was no preview yet */
  readonly shown: string | null;
  /** the status that the visitor saw, by id */
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
  if (!isMismatchStatus(seen)) throw usage(`from "${seen.slice(0, 60)}" is not a status`);
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
  if (!STEP.test(step)) throw usage(`step "${step.slice(0, 60)}" is not the id of a step`);
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

/** "123:open", the value of a box in the list. */
function readSeen(value: unknown): [string, MismatchStatus] {
  const [, id, status = ""] = (typeof value === "string" && /^(\d{1,15}):([a-z]+)$/.exec(value)) || [];
  if (id === undefined || !isMismatchStatus(status)) throw usage(`id ${show(value)} is not in the list`);
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
