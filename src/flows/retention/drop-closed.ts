/** Deletes the rows of closed days that `retain` no longer keeps (§3.10). */

import type { Instant } from "../../clock.ts";
import { readClosedTime } from "../../closing/closed-day-store.ts";
import type { TimeRange } from "../../window.ts";
import type { FlowContext } from "../context.ts";
import { limitToArchived } from "./archived-time.ts";
import { dropBets } from "./drop-bets.ts";
import { dropByAge, type RetainedFrom } from "./drop-by-age.ts";
import type { DropLimits } from "./drop-expired.ts";

/** A transaction takes some tenths of a second. The next run continues from there. */
const LIMITS: DropLimits = { rows: 16_000, batches: 125 };

const DAY_MS = 24 * 3_600_000;

/**
 * Deletes old bets, mismatches, windows, alerts and transfers of closed days. Several workers share the work.
 * @returns the number of deleted rows, by table
 * @throws ReconError `archive-unusable` after deleting, if rows are kept because sealed files do not read back
 */
export async function dropClosed(
  context: FlowContext,
  signal: AbortSignal,
  limits: DropLimits = LIMITS,
): Promise<Record<string, number>> {
  const { upTo, problem } = await limitToArchived(
    context,
    retainedFrom(context.config.retain, await readClosedTime(context.sql), context.clock.now()),
  );
  const others = await dropByAge(context, upTo, limits, signal);
  const dropped = { ...others, ...(await dropBets(context, upTo, limits, signal)) };
  if (Object.values(dropped).some((count) => count > 0)) {
    context.log.info(dropped, "rows of closed days were deleted");
  }
  if (problem !== null) throw problem;
  return dropped;
}

/**
 * The times before which rows may be deleted: only rows of closed days (§3.10), and whole days, so that most bets have
 * all their rows on the same side of the time.
 * @param closed null: no day is closed
 */
export function retainedFrom(
  retain: FlowContext["config"]["retain"],
  closed: TimeRange | null,
  now: Instant,
): RetainedFrom {
  const from = (keepMs: number | null) =>
    keepMs === null || closed === null
      ? null
      : Math.max(closed.from, Math.min(Math.floor((now - keepMs) / DAY_MS) * DAY_MS, closed.to));
  const { records, entries, mismatches, windows } = retain;
  return {
    closedFrom: closed?.from ?? now,
    records: from(records),
    entries: from(entries),
    mismatches: from(mismatches),
    windows: from(windows),
  };
}
