/** Deletes the rows of closed days that `retain` no longer keeps (§3.10). */

import type { Instant } from "../../clock.ts";
import { sha256 } from "../../closing/archive.ts";
import { type ClosedDay, readClosedDays, readClosedTime } from "../../closing/closed-day-store.ts";
import { readReleased } from "../../db/retention-store.ts";
import { isWaitingWithin } from "../../diff/mark-store.ts";
import { ReconError } from "../../errors.ts";
import type { TimeRange } from "../../window.ts";
import { sayFlaw, verifyDay } from "../archive/verify-archive.ts";
import type { FlowContext } from "../context.ts";
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
  const { upTo, problem } = await limitToFinished(
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

/** A bet of a product that can never be fetched again waits for ever, and must not hold back the others. */
const LONGEST_HELD_MS = 7 * DAY_MS;
/** The days that one run looks at; the next run continues. */
const MOST_DAYS = 40;

interface FinishedTime {
  readonly upTo: RetainedFrom;
  /** why rows are kept that `retain` would delete; null: none are */
  readonly problem: ReconError | null;
}

/**
 * Moves the times before which records and entries are deleted back to the first day of which a bet still waits to be compared, or
 * whose sealed files do not read back (§3.10, decision 312). A comparison opens no mismatch that deleted rows might explain: a bet
 * that was pending when its day was closed would become a rest of the books instead. Days before these times were looked at when
 * they were released, and are not looked at again.
 */
async function limitToFinished(
  { sql, config, clock }: FlowContext,
  upTo: RetainedFrom,
): Promise<FinishedTime> {
  const now = clock.now();
  const compared = config.products.filter(({ walletMode }) => walletMode === "seamless");
  const productIds = compared.map(({ productId }) => productId);
  const folder = config.closing.archive;
  const wanted = Math.max(upTo.records ?? upTo.closedFrom, upTo.entries ?? upTo.closedFrom);
  if (wanted <= upTo.closedFrom) return { upTo, problem: null };
  const released = await readReleased(sql);
  const isNew = ({ to }: ClosedDay) =>
    (["records", "entries"] as const).some((side) => {
      const end = upTo[side];
      return end !== null && to > released[side] && released[side] < end;
    });
  let number = 0;
  let checked = 0;
  let end: Instant = upTo.closedFrom;
  for (;;) {
    const days = await readClosedDays(sql, number, MOST_DAYS);
    for (const day of days) {
      if (day.from >= wanted) return { upTo, problem: null };
      if (isNew(day)) {
        if (checked === MOST_DAYS) return { upTo: upToAtMost(upTo, end), problem: null };
        checked += 1;
        if (now - day.closedAt < LONGEST_HELD_MS && (await isWaitingWithin(sql, productIds, day)))
          return { upTo: upToAtMost(upTo, end), problem: null };
        const problem = folder === null ? null : await findProblem(folder, day);
        if (problem !== null) return { upTo: upToAtMost(upTo, end), problem };
      }
      end = day.to;
      number = day.number;
    }
    if (days.length < MOST_DAYS) return { upTo: upToAtMost(upTo, end), problem: null };
  }
}

function upToAtMost(upTo: RetainedFrom, end: Instant): RetainedFrom {
  const limit = (time: Instant | null) => (time === null ? null : Math.min(time, end));
  return { ...upTo, records: limit(upTo.records), entries: limit(upTo.entries) };
}

async function findProblem(folder: string, { day, archive }: ClosedDay): Promise<ReconError | null> {
  const refuse = (why: string) =>
    new ReconError("archive-unusable", `rows of ${day} and later days are kept: ${why}`);
  if (archive === undefined)
    return refuse(
      "it was closed without sealed files, because closing.archive was not set then. To delete them without files, start the worker without closing.archive until retention has passed these days.",
    );
  const { flaws, manifest } = await verifyDay(folder, day);
  const [flaw] = flaws;
  if (flaw !== undefined)
    return refuse(`in closing.archive "${folder}", ${sayFlaw(flaw)}. Restore the file from a copy.`);
  if (manifest !== null && sha256(manifest.text) !== archive)
    return refuse(
      `in closing.archive "${folder}", ${day}/manifest.json is not the one that the day was closed with. Restore it from a copy.`,
    );
  return null;
}
