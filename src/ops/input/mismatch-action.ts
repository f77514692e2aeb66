/** Reads an action on mismatches as typed, with the same names for HTTP and the command line. */

import type { RequestedAction } from "../../flows/mismatches/act-on-mismatches.ts";
import { isMismatchStatus, MISMATCH_STATUSES, type MismatchStatus } from "../../mismatch.ts";
import type { Adjustment, MismatchAction } from "../../mismatches/act.ts";
import { formatAmount, parseAmount, ZERO } from "../../money.ts";
import { reading, readText, readWords, show, type Typed, usage } from "./fields.ts";

/** The fields of an action. */
export type ActionField = "note" | "from" | "adjustment" | "ref";

export const LONGEST_NOTE = 2000;
export const LONGEST_REF = 200;
export const MOST_IDS = 10_000;

/** The fields that an action accepts, besides the choice of mismatches. */
export function fieldsOf(action: MismatchAction): ActionField[] {
  return action === "resolve" ? ["note", "from", "adjustment", "ref"] : ["note", "from"];
}

/**
 * Reads note, from, adjustment and ref.
 * @throws ReconError `usage` that names the field and its value
 */
export function readAction(typed: Typed): Pick<RequestedAction, "note" | "expected" | "adjustment"> {
  return {
    note: readWords(typed, "note", LONGEST_NOTE),
    expected: readExpected(typed["from"]),
    adjustment: readAdjustment(typed),
  };
}

/** @throws ReconError `usage` where the value is not a list of ids */
export function readIds(value: unknown): string[] {
  if (!Array.isArray(value) || value.length === 0 || value.length > MOST_IDS) {
    throw usage(`ids must be a list of 1 to ${MOST_IDS} ids, but is ${show(value)}`);
  }
  return value.map((id: unknown) => {
    if (typeof id === "string") return id;
    throw usage(`ids must be texts, but one is ${show(id)}`);
  });
}

/** A correction belongs to one mismatch. @throws ReconError `usage` where there are several */
export function checkAdjustedOnce(adjustment: Adjustment | null, ids: readonly string[] | null): void {
  if (adjustment !== null && ids?.length !== 1) {
    throw usage("adjustment belongs to a single mismatch: give exactly one id with it");
  }
}

function readExpected(value: unknown): MismatchStatus | null {
  if (value === undefined) return null;
  if (typeof value === "string" && isMismatchStatus(value)) return value;
  throw usage(`from must be one of ${MISMATCH_STATUSES.join(", ")}, but is ${show(value)}`);
}

function readAdjustment(typed: Typed): Adjustment | null {
  const { adjustment, ref } = typed;
  if (adjustment === undefined && ref === undefined) return null;
  if (adjustment === undefined) throw usage("adjustment is missing: a ref needs one");
  if (ref === undefined)
    throw usage("ref is missing: an adjustment needs one, so that it cannot count twice");
  const text = readText(typed, "adjustment");
  const amount = reading(() => parseAmount(text, "adjustment"));
  if (amount.eq(ZERO)) throw usage(`adjustment "${text}" corrects nothing`);
  return { amount: formatAmount(amount), ref: readWords(typed, "ref", LONGEST_REF) };
}
