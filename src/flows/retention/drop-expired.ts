/** Deletes rows older than `retain` says, so that the database does not grow without end. */

import { dropOldAudit } from "../../access/audit-store.ts";
import { dropOldSessions } from "../../access/session-store.ts";
import { dropOldBodies } from "../../callbacks/body-store.ts";
import { dropOldSignatures } from "../../callbacks/signature-store.ts";
import type { Instant } from "../../clock.ts";
import { readClosedUpTo } from "../../closing/closed-day-store.ts";
import type { Query } from "../../db/client.ts";
import type { DroppedRows } from "../../db/drop-oldest.ts";
import { dropOldImports } from "../../ledger/past-import-store.ts";
import { forgetDeadWaiters } from "../../provider/budget-store.ts";
import { dropOldVersions } from "../../sync/record-version-store.ts";
import type { TimeRange } from "../../window.ts";
import { dropOldSamples } from "../../work/trend-store.ts";
import type { FlowContext } from "../context.ts";

/** The limits of deleting, at once and in one run. */
export interface DropLimits {
  /** rows of one transaction */
  readonly rows: number;
  /** transactions for each table; the next run deletes the rest */
  readonly batches: number;
}

export interface Dropped {
  readonly recordVersions: number;
  readonly rawBodies: number;
}

/** A statement takes some milliseconds, and a run a few seconds at the most. */
const LIMITS: DropLimits = { rows: 1_000, batches: 1_000 };

const BEGINNING: Instant = 0;

/**
 * The audit of a year is complete until a month after its end (decision 74). It also contains programs that hand over
 * transfers, so it cannot be kept for ever. The list of imports is a part of it. The decisions of people stay in the history of each mismatch.
 */
const KEEP_AUDIT_MS = 400 * 24 * 3_600_000;

/** Longer than the five minutes for which a signature is accepted, because the clocks of servers may differ. */
const KEEP_SIGNATURES_MS = 3_600_000;

/** Three times as long as the longest trend. */
const KEEP_SAMPLES_MS = 90 * 24 * 3_600_000;

type Drop = (sql: Query, range: TimeRange, most: number) => Promise<DroppedRows>;

/**
 * Deletes versions of records that were replaced longer ago than `retain.recordVersions`, bodies of callbacks older
 * than `retain.rawBodies`, and other expired rows. Several workers share the work.
 */
export async function dropExpired(
  context: FlowContext,
  signal: AbortSignal,
  limits: DropLimits = LIMITS,
): Promise<Dropped> {
  const { retain } = context.config;
  const upTo = await closedUpTo(context);
  const recordVersions = await dropAll(context, dropOldVersions, retain.recordVersions, limits, signal, upTo);
  const rawBodies = await dropAll(context, dropOldBodies, retain.rawBodies, limits, signal, upTo);
  // Nobody needs an expired session.
  await dropAll(context, dropOldSessions, 0, limits, signal);
  await dropAll(context, dropOldSignatures, KEEP_SIGNATURES_MS, limits, signal);
  await dropAll(context, dropOldAudit, KEEP_AUDIT_MS, limits, signal);
  await dropAll(context, dropOldImports, KEEP_AUDIT_MS, limits, signal);
  await dropSamples(context, limits, signal);
  await forgetDeadWaiters(context.sql);
  if (recordVersions + rawBodies > 0) {
    context.log.info({ recordVersions, rawBodies }, "expired rows were deleted");
  }
  return { recordVersions, rawBodies };
}

async function dropSamples(
  { sql, clock }: FlowContext,
  { rows, batches }: DropLimits,
  signal: AbortSignal,
): Promise<void> {
  const to = clock.now() - KEEP_SAMPLES_MS;
  for (let batch = 0; batch < batches && !signal.aborted; batch += 1) {
    if ((await dropOldSamples(sql, to, rows)) === 0) break;
  }
}

/** Where days are closed, only rows of closed days may go; where nobody closes days, age alone decides (decision 165). */
async function closedUpTo({ sql, config }: FlowContext): Promise<Instant> {
  const nothingClosed = config.closing.after === null ? Number.POSITIVE_INFINITY : Number.NEGATIVE_INFINITY;
  return (await readClosedUpTo(sql)) ?? nothingClosed;
}

async function dropAll(
  { sql, clock }: FlowContext,
  drop: Drop,
  keepMs: number | null,
  { rows, batches }: DropLimits,
  signal: AbortSignal,
  upTo: Instant = Number.POSITIVE_INFINITY,
): Promise<number> {
  if (keepMs === null) return 0;
  const to = Math.min(clock.now() - keepMs, upTo);
  // Each statement begins where the one before ended: deleted rows stay in the index until a vacuum (decision 41).
  let from = BEGINNING;
  let total = 0;
  for (let batch = 0; batch < batches && !signal.aborted; batch += 1) {
    const { count, last } = await drop(sql, { from, to }, rows);
    if (last === null) break;
    total += count;
    from = last;
  }
  return total;
}
