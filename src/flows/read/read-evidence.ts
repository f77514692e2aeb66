/** Reads the evidence of some mismatches, or of an incident: one file for a dispute with the provider. */

import { readListedIncident } from "../../alerts/incident-list-store.ts";
import { formatInstant } from "../../clock.ts";
import { ReconError } from "../../errors.ts";
import { MISMATCH_STATUSES, type Mismatch, type MismatchKind } from "../../mismatch.ts";
import { listMismatches, readMismatch } from "../../mismatches/store.ts";
import type { FlowContext } from "../context.ts";
import { type MismatchEvidence, readMismatchEvidence } from "./mismatch-evidence.ts";

/** Of one file. */
export const MOST_IN_FILE = 500;
const MOST_BYTES = 20 * 1024 * 1024;

export type EvidenceTarget = { readonly ids: readonly string[] } | { readonly incident: string };

/** Times are ISO 8601, amounts decimal text. */
export interface Evidence {
  readonly madeAt: string;
  /** where the callbacks come from: a table or a view */
  readonly ledger: string;
  /** null: the mismatches were chosen by their ids */
  readonly incident: {
    readonly id: string;
    readonly kind: MismatchKind;
    readonly productId: string;
    readonly beganAt: string;
    readonly endedAt: string | null;
    readonly total: number;
  } | null;
  readonly mismatches: readonly MismatchEvidence[];
}

/**
 * @param signal ends the reading between two mismatches
 * @throws ReconError `not-found` that names an unknown id; `usage` where the evidence is too much for one file
 */
export async function readEvidence(
  context: FlowContext,
  target: EvidenceTarget,
  signal?: AbortSignal,
): Promise<Evidence> {
  const incident = "incident" in target ? await findIncident(context, target.incident) : null;
  const chosen =
    "ids" in target ? await readByIds(context, target.ids) : await readOfIncident(context, target.incident);
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

async function findIncident({ sql }: FlowContext, id: string): Promise<NonNullable<Evidence["incident"]>> {
  const found = /^[1-9]\d{0,14}$/.test(id) ? await readListedIncident(sql, Number(id)) : null;
  if (found === null) throw new ReconError("not-found", `there is no incident "${id.slice(0, 60)}"`);
  const { kind, productId, beganAt, endedAt, total } = found;
  return {
    id,
    kind,
    productId,
    beganAt: formatInstant(beganAt),
    endedAt: endedAt === null ? null : formatInstant(endedAt),
    total,
  };
}

async function readByIds({ sql }: FlowContext, ids: readonly string[]): Promise<Mismatch[]> {
  const distinct = [...new Set(ids)];
  if (distinct.length > MOST_IN_FILE) throw tooMany(`${distinct.length} mismatches are`);
  const found: Mismatch[] = [];
  const unknown: string[] = [];
  for (const id of distinct) {
    const mismatch = await readMismatch(sql, id);
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

async function readOfIncident({ sql }: FlowContext, id: string): Promise<Mismatch[]> {
  const { mismatches, next } = await listMismatches(sql, {
    statuses: MISMATCH_STATUSES,
    kind: null,
    productId: null,
    username: null,
    incidentId: Number(id),
    limit: MOST_IN_FILE,
    after: null,
  });
  if (next !== null) throw tooMany(`incident ${id} has more mismatches than`);
  return mismatches;
}

function tooMany(what: string): ReconError {
  const most = what.endsWith("than")
    ? `the ${MOST_IN_FILE} that one file may hold`
    : `more than the ${MOST_IN_FILE} that one file may hold`;
  return new ReconError("usage", `${what} ${most}: choose fewer by their ids, and make several files`);
}

function tooLarge(fitting: number, all: number): ReconError {
  const size = `${MOST_BYTES / 1024 / 1024} MB`;
  return new ReconError(
    "usage",
    `the evidence of ${all} mismatches is more than ${size}, which is the most of one file: the first ${fitting} fit, choose fewer by their ids`,
  );
}
