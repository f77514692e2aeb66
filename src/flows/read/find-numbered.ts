/** Finds the mismatch and the incident with a number that was typed into search. */

import { type ListedIncident, readListedIncident } from "../../alerts/incident-list-store.ts";
import type { Mismatch } from "../../mismatch.ts";
import type { FlowContext } from "../context.ts";
import { readMismatch } from "./list-mismatches.ts";

/** One number may be both. */
export interface Numbered {
  /** null: no mismatch has the number, or only an incident was asked for */
  readonly mismatch: Mismatch | null;
  readonly incident: ListedIncident | null;
}

const NUMBERED = /^(mismatch|incident)?\s*#?\s*([1-9]\d{0,14})$/i;

/** @param text as typed: "6", "#6", "mismatch 6" or "incident #6" */
export async function findNumbered(context: FlowContext, text: string): Promise<Numbered> {
  const [, kind = "", number] = NUMBERED.exec(text) ?? [];
  if (number === undefined) return { mismatch: null, incident: null };
  const asked = kind.toLowerCase();
  const [mismatch, incident] = await Promise.all([
    asked === "incident" ? null : readMismatch(context, number),
    asked === "mismatch" ? null : readListedIncident(context.sql, Number(number)),
  ]);
  return { mismatch, incident };
}
