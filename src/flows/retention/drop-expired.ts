/** Deletes rows older than `retain` says, so that the database does not grow without end. */

import { dropOldAudit } from "../../access/audit-store.ts";
import { dropOldKeys, KEEP_KEYS_MS } from "../../access/idempotency-store.ts";
import { dropOldSessions } from "../../access/session-store.ts";
import { dropExpiredBodies, dropExpiredSignatures } from "../../callbacks/expired-store.ts";
import { readClosedTime } from "../../closing/closed-day-store.ts";
import type { Query } from "../../db/client.ts";
import type { DroppedRows } from "../../db/drop-rows.ts";
import { dropExpiredImports } from "../../ledger/past-import-store.ts";
import { removeDeadWaiters } from "../../provider/budget-store.ts";
import { dropExpiredVersions } from "../../sync/record-version-store.ts";
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

const ALWAYS: TimeRange = { from: 0, to: Number.POSITIVE_INFINITY };
const NEVER: TimeRange = { from: 0, to: 0 };

/**
 * The audit of a year is complete until a month after its end. It also contains programs that hand over
 * transfers, so it cannot be kept for ever. The list of imports is a part of it. Decisions stay in the history of each mismatch.
 */
const KEEP_AUDIT_MS = 400 * 24 * 3_600_000;

/** Longer than the five minutes for which a signature is accepted, because the clocks of servers may differ. */
const KEEP_SIGNATURES_MS = 3_600_000;

/** Three times as long as the longest trend. */
const KEEP_SAMPLES_MS = 90 * 24 * 3_600_000;

type Drop = (sql: Query, range: TimeRange, most: number) => Promise<DroppedRows>;

/**
 * Deletes versions of records that were replaced longer ago than `retain.recordVersions`, bodies of callbacks older
 * than `retain.rawBodies`, and other expired rows. Bodies stay while a mismatch about them is open, versions as long as
 * their mismatch: 36,000 bodies a second are deleted with no open mismatch, 3,600 with 10,000 in the same five minutes. Several workers share the work.
 */
export async function dropExpired(
  context: FlowContext,
  signal: AbortSignal,
  limits: DropLimits = LIMITS,
): Promise<Dropped> {
  const { retain } = context.config;
  const closed = mayExpire(context.config, await readClosedTime(context.sql));
  const dropVersions: Drop = (sql, range, most) => dropExpiredVersions(sql, range, closed.from, most);
  const recordVersions = await dropAll(context, dropVersions, retain.recordVersions, limits, signal, closed);
  const rawBodies = await dropAll(context, dropExpiredBodies, retain.rawBodies, limits, signal, closed);
  await dropAll(context, dropOldSessions, 0, limits, signal);
  await dropAll(context, dropExpiredSignatures, KEEP_SIGNATURES_MS, limits, signal);
  await dropAll(context, dropOldKeys, KEEP_KEYS_MS, limits, signal);
  await dropAll(context, dropOldAudit, KEEP_AUDIT_MS, limits, signal);
  await dropAll(context, dropExpiredImports, KEEP_AUDIT_MS, limits, signal);
  await dropSamples(context, limits, signal);
  await removeDeadWaiters(context.sql);
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

/**
 * The time whose versions and bodies may be deleted. If days are closed, only rows of closed days may go; if none is
 * closed, age alone decides.
 * @param closed null: no day is closed
 */
export function mayExpire({ closing }: FlowContext["config"], closed: TimeRange | null): TimeRange {
  return closed ?? (closing.after === null ? ALWAYS : NEVER);
}

async function dropAll(
  { sql, clock }: FlowContext,
  drop: Drop,
  keepMs: number | null,
  { rows, batches }: DropLimits,
  signal: AbortSignal,
  within: TimeRange = ALWAYS,
): Promise<number> {
  if (keepMs === null) return 0;
  const to = Math.min(clock.now() - keepMs, within.to);
  // Each statement continues after the one before: deleted rows stay in the index until a vacuum.
  let { from } = within;
  let total = 0;
  for (let batch = 0; batch < batches && !signal.aborted; batch += 1) {
    const { count, last } = await drop(sql, { from, to }, rows);
    if (last === null) break;
    total += count;
    from = last;
  }
  return total;
}
