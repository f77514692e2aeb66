/** Reads the evidence of some mismatches, or of an incident: one file for a dispute with the provider. */

import { z } from "zod";
import { countMembers, readListedIncident, readMembers } from "../../alerts/incident-list-store.ts";
import { type AnswerOf, COUNT, INSTANT, listOf, objectOf, TEXT } from "../../answer.ts";
import { formatInstant } from "../../clock.ts";
import { ReconError } from "../../errors.ts";
import { CASE, MISMATCH_KINDS, type Mismatch } from "../../mismatch.ts";
import type { FlowContext } from "../context.ts";
import { readMismatch } from "./list-mismatches.ts";
import { MISMATCH_EVIDENCE, type MismatchEvidence, readMismatchEvidence } from "./mismatch-evidence.ts";

/** The most mismatches of one evidence file. A large incident comes in parts, by id: new mismatches have higher ids, so earlier parts stay. */
export const MOST_IN_FILE = 500;
const MOST_BYTES = 20 * 1024 * 1024;

export type EvidenceTarget =
  | { readonly ids: readonly string[] }
  /** `part`: which `MOST_IN_FILE` of its mismatches, from 1; null: all of them */
  | { readonly incident: string; readonly part: number | null };

export const EVIDENCE = objectOf({
  madeAt: INSTANT,
  /** the table or view of the callbacks */
  ledger: TEXT,
  /** null: the mismatches were chosen by their ids */
  incident: z.nullable(
    objectOf({
      id: TEXT,
      kind: z.enum(MISMATCH_KINDS),
      productId: TEXT,
      beganAt: INSTANT,
      endedAt: z.nullable(INSTANT),
      total: COUNT,
      ticket: CASE.ticket,
      withProvider: CASE.withProvider,
      /** of the parts into which its mismatches are divided, in the order of their ids */
      part: objectOf({ number: COUNT, of: COUNT }),
    }),
  ),
  mismatches: listOf(MISMATCH_EVIDENCE),
});
export type Evidence = AnswerOf<typeof EVIDENCE>;

/**
 * @param signal ends the reading between two mismatches
 * @throws ReconError `not-found` that names an unknown id; `usage` if the evidence is too much for one file
 */
export async function readEvidence(
  context: FlowContext,
  target: EvidenceTarget,
  signal?: AbortSignal,
): Promise<Evidence> {
  const incident = "incident" in target ? await findIncident(context, target.incident, target.part) : null;
  const chosen =
    "ids" in target
      ? await readByIds(context, target.ids)
      : await readPart(context, target.incident, target.part);
  const mismatches: MismatchEvidence[] = [];
  let bytes = 0;
  for (const mismatch of chosen) {
    signal?.throwIfAborted();
    const one = await readMismatchEvidence(context, mismatch);
    bytes += Buffer.byteLength(JSON.stringify(one));
    if (bytes > MOST_BYTES) throw tooLarge(mismatches.length, chosen.length);
    mismatches.push(one);
  }
  return {
    madeAt: formatInstant(context.clock.now()),
    ledger: context.config.ledger.relation ?? "callback_entries",
    incident,
    mismatches,
  };
}

async function findIncident(
  { sql }: FlowContext,
  id: string,
  part: number | null,
): Promise<NonNullable<Evidence["incident"]>> {
  const found = /^[1-9]\d{0,14}$/.test(id) ? await readListedIncident(sql, Number(id)) : null;
  if (found === null) throw new ReconError("not-found", `there is no incident "${id.slice(0, 60)}"`);
  const { kind, productId, beganAt, endedAt, total, ticket, withProvider } = found;
  const of = countParts(await countMembers(sql, found.id));
  if (part === null && of > 1) {
    const words = `incident ${id} has more mismatches than the ${MOST_IN_FILE} that one file may hold: ask for its parts, from part 1 to part ${of}`;
    throw new ReconError("usage", words);
  }
  if (part !== null && part > of)
    throw new ReconError("usage", `incident ${id} has no part ${part}: the last is part ${of}`);
  return {
    id,
    kind,
    productId,
    beganAt: formatInstant(beganAt),
    endedAt: endedAt === null ? null : formatInstant(endedAt),
    total,
    ticket,
    withProvider: withProvider === null ? null : formatInstant(withProvider),
    part: { number: part ?? 1, of },
  };
}

/** The number of files needed for this many mismatches. */
export function countParts(mismatches: number): number {
  return Math.max(1, Math.ceil(mismatches / MOST_IN_FILE));
}

async function readByIds(context: FlowContext, ids: readonly string[]): Promise<Mismatch[]> {
  const distinct = [...new Set(ids)];
  if (distinct.length > MOST_IN_FILE) {
    const words = `${distinct.length} mismatches are more than the ${MOST_IN_FILE} that one file may hold: choose fewer by their ids, and make several files`;
    throw new ReconError("usage", words);
  }
  const found: Mismatch[] = [];
  const unknown: string[] = [];
  for (const id of distinct) {
    const mismatch = await readMismatch(context, id);
    if (mismatch === null) unknown.push(id);
    else found.push(mismatch);
  }
  if (unknown.length > 0) {
    const named = unknown.slice(0, MOST_NAMED).map((id) => `"${id.slice(0, 60)}"`);
    const more = unknown.length > MOST_NAMED ? ` and ${unknown.length - MOST_NAMED} more` : "";
    throw new ReconError("not-found", `there is no mismatch ${named.join(", ")}${more}`);
  }
  return found;
}

/** The most ids that a refusal names. */
const MOST_NAMED = 5;

async function readPart(context: FlowContext, incident: string, part: number | null): Promise<Mismatch[]> {
  const offset = ((part ?? 1) - 1) * MOST_IN_FILE;
  const found: Mismatch[] = [];
  for (const id of await readMembers(context.sql, Number(incident), { limit: MOST_IN_FILE, offset })) {
    const mismatch = await readMismatch(context, String(id));
    if (mismatch !== null) found.push(mismatch);
  }
  return found;
}

function tooLarge(fitting: number, all: number): ReconError {
  const size = `${MOST_BYTES / 1024 / 1024} MB`;
  return new ReconError(
    "usage",
    `the evidence of ${all} mismatches is more than ${size}, which is the most of one file: the first ${fitting} fit, choose fewer by their ids`,
  );
}
