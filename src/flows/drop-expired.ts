/** Forgets what has been kept as long as `retain` says, so that the database does not grow without end. */

import { dropOldAudit } from "../access/audit-store.ts";
import { dropOldSessions } from "../access/session-store.ts";
import { dropOldBodies } from "../callbacks/body-store.ts";
import { dropOldSignatures } from "../callbacks/signature-store.ts";
import type { Instant } from "../clock.ts";
import type { Query } from "../db/client.ts";
import type { DroppedRows } from "../db/drop-oldest.ts";
import { forgetDeadWaiters } from "../provider/budget-store.ts";
import { dropOldVersions } from "../sync/record-version-store.ts";
import type { TimeRange } from "../window.ts";
import type { FlowContext } from "./context.ts";

/** How much is deleted at once, and in one run. */
export interface DropLimits {
  /** rows of one transaction */
  readonly rows: number;
  /** transactions per table; what is left waits for the next run */
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
 * A year's audit is still there a month after the year has ended. Programs that hand over transfers are in it too, so it
 * cannot be kept for ever; what people decided stays in the history of each mismatch.
 */
const KEEP_AUDIT_MS = 400 * 24 * 3_600_000;

/** A signature is accepted for five minutes; the clocks of several servers may be apart. */
const KEEP_SIGNATURES_MS = 3_600_000;

type Drop = (sql: Query, range: TimeRange, most: number) => Promise<DroppedRows>;

/**
 * Forgets versions of records that were replaced longer ago than `retain.recordVersions`, and bodies of callbacks that
 * were received longer ago than `retain.rawBodies`. Several workers at once share the work.
 */
export async function dropExpired(
  context: FlowContext,
  signal: AbortSignal,
  limits: DropLimits = LIMITS,
): Promise<Dropped> {
  const { retain } = context.config;
  const recordVersions = await dropAll(context, dropOldVersions, retain.recordVersions, limits, signal);
  const rawBodies = await dropAll(context, dropOldBodies, retain.rawBodies, limits, signal);
  // A session is of no use to anybody once it has expired.
  await dropAll(context, dropOldSessions, 0, limits, signal);
  await dropAll(context, dropOldSignatures, KEEP_SIGNATURES_MS, limits, signal);
  await dropAll(context, dropOldAudit, KEEP_AUDIT_MS, limits, signal);
  await forgetDeadWaiters(context.sql);
  if (recordVersions + rawBodies > 0) {
    context.log.info({ recordVersions, rawBodies }, "what was kept long enough has been forgotten");
  }
  return { recordVersions, rawBodies };
}

async function dropAll(
  { sql, clock }: FlowContext,
  drop: Drop,
  keepMs: number,
  { rows, batches }: DropLimits,
  signal: AbortSignal,
): Promise<number> {
  const to = clock.now() - keepMs;
  // Each statement begins where the one before ended: what was deleted lies in the index until it is vacuumed.
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
