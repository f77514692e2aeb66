/** Reads statements: of a day, closed or open, of two days beside each other, and of a month. */

import { formatInstant, type Instant, showInstant } from "../../clock.ts";
import type {
  ClosedStamp,
  Correction,
  DayStatement,
  DaysCompared,
  Flaw,
  MonthReport,
  OpenDay,
  StatedDay,
} from "../../closed.ts";
import { todayOf } from "../../closing/changed-bets.ts";
import {
  type ClosedDay,
  readClosedDay,
  readClosedDays,
  readClosedDaysOf,
  readLastClosed,
} from "../../closing/closed-day-store.ts";
import { compareDays } from "../../closing/compare-days.ts";
import { sharesOfMonth } from "../../closing/confirmed-days.ts";
import { readConfirmedDays } from "../../closing/confirmed-store.ts";
import { readArrived, readCorrectionsOf } from "../../closing/correction-store.ts";
import { dayAfter, dayOf, type ZonedDay } from "../../closing/day-bounds.ts";
import { bodyOf, canonicalJson, findFlaw } from "../../closing/statement.ts";
import { sumRows, totalsOf, withUnknown } from "../../closing/sum-rows.ts";
import type { Query } from "../../db/client.ts";
import { readEntriesDeletedUpTo } from "../../db/retention-store.ts";
import { inSnapshot } from "../../db/transactions.ts";
import { ReconError } from "../../errors.ts";
import type { DayReport } from "../../report.ts";
import { readFirstBegin } from "../../sync/pull-state-store.ts";
import { sumSent, wereAnySent } from "../../verify/store.ts";
import type { TimeRange } from "../../window.ts";
import { readFailures } from "../../work/work-store.ts";
import type { FlowContext } from "../context.ts";
import { refuseAltered } from "./closed-facts.ts";
import { countAsPending, countWaiting } from "./find-corrections.ts";
import { checkNotLeftOut, NOT_FETCHED, whyOpen } from "./why-open.ts";

/**
 * A day's statement: the stored one if the day is closed in this zone, otherwise today's data.
 * @param isZoneAsked false: a closed day is shown in the zone in which it was closed
 * @param readOpen makes the report of an open day
 * @throws ReconError as `readOpen` does; `not-found` if the time of this date belongs to another closed day
 */
export async function readStatement(
  { sql, config }: FlowContext,
  { isZoneAsked, ...day }: ZonedDay & { readonly isZoneAsked: boolean },
  readOpen: (day: ZonedDay) => Promise<DayReport>,
): Promise<DayStatement> {
  const closed = await readClosedDay(sql, day.day);
  if (closed !== null && (!isZoneAsked || closed.zone === day.zone))
    return { ...toStatement(closed), transfers: await readTransfers(sql, closed) };
  if (closed === null && day.zone === config.closing.zone) await checkNotLeftOut(sql, day.day, day.zone);
  const report = await readOpen(day).catch((error: unknown) => {
    throw closed === null ? error : nameZone(error, closed);
  });
  return {
    ...report,
    ...boundsOf(day),
    totals: totalsOf(report.rows),
    closed: null,
    corrections: (await readArrived(sql, day)).map(toShown),
    transfers: await readTransfers(sql, day),
  };
}

/** @returns null: retention may have deleted rows of the day. It is asked last, because it announces before it deletes. */
async function readTransfers(sql: Query, { from, to }: TimeRange): Promise<DayStatement["transfers"]> {
  const sums = await sumSent(sql, { from, to });
  const mayLack = from < (await readEntriesDeletedUpTo(sql)) && (await wereAnySent(sql));
  return mayLack ? null : sums;
}

/** If the data for another zone were deleted, only the stored statement can be shown. */
function nameZone(error: unknown, { zone }: ClosedDay): unknown {
  if (!(error instanceof ReconError) || error.code !== "bets-deleted") return error;
  const hint = `its stored statement is that of the zone ${zone}: ask for this zone`;
  return new ReconError(error.code, `${error.message}; ${hint}`, { cause: error });
}

/** The sums of a month's closed days, the corrections of these days, and the days that are open. */
export async function readMonth(
  context: FlowContext,
  { month, dates }: { readonly month: string; readonly dates: readonly string[] },
): Promise<MonthReport> {
  return await inSnapshot(context.sql, async (tx) => {
    const { zone } = context.config.closing;
    const days = await readClosedDaysOf(tx, month);
    const closed = new Set(days.map(({ day }) => day));
    const corrections = (await readCorrectionsOf(tx, month)).map(toShown);
    const stored = sumRows(days.flatMap(({ rows }) => rows));
    const [first, last] = [days[0], days.at(-1)];
    const waiting =
      first === undefined || last === undefined
        ? null
        : await countWaiting(context, tx, { from: first.from, to: last.to });
    const rows = waiting === null ? stored : countAsPending(stored, waiting);
    return {
      month,
      zone,
      days: days.map(toStatement),
      rows,
      totals: totalsOf(rows),
      corrections,
      open: await whyOpenAll(
        context,
        tx,
        dates.filter((date) => !closed.has(date)),
        zone,
      ),
      confirmed: sharesOfMonth(
        days,
        await readConfirmedDays(tx, month),
        todayOf({ rows: stored, corrections }),
        context.clock.now(),
      ),
    };
  });
}

/** Why a date of `closing.zone` is open; null: its time is closed. */
export async function readOpenReason(context: FlowContext, date: string): Promise<OpenDay | null> {
  return await inSnapshot(context.sql, async (tx) => {
    if ((await readClosedDay(tx, date)) !== null) return null;
    const [open = null] = await whyOpenAll(context, tx, [date], context.config.closing.zone);
    return open;
  });
}

/** The reason of a day that is ready to be closed. */
export const READY_TO_CLOSE = "The day is complete and can be closed.";

/** The reasons of several open days, without dates that have no day of their own. If a day is closed, the later ones wait for the next. */
async function whyOpenAll(
  context: FlowContext,
  tx: Query,
  dates: readonly string[],
  zone: string,
): Promise<OpenDay[]> {
  const [first] = await readClosedDays(tx, 0, 1);
  const last = await readLastClosed(tx);
  const next = last === null ? null : dayAfter(last, zone);
  const now = context.clock.now();
  const begin = await readFirstBegin(tx);
  const open: OpenDay[] = [];
  for (const date of dates) {
    const own = next?.day === date ? next : dayOf(date, zone);
    // The time of a date between closed days belongs to the one before it, and is closed.
    const isLeftOut = first !== undefined && date > first.day && next !== null && date < next.day;
    if (own === null || isLeftOut) continue;
    const reason = await reasonOf(own);
    open.push({ day: date, reason });
  }
  return open;

  async function reasonOf(day: ZonedDay): Promise<string> {
    if (first !== undefined && day.day < first.day)
      return `It lies before the first closed day, ${first.day}, and days are closed in order.`;
    if (day.to > now) return `The day has not ended; it ends at ${showInstant(day.to)}.`;
    if (next !== null && day.day > next.day) return `An earlier day is open: ${next.day}.`;
    const reason = await whyOpen(context, tx, day);
    if (reason === NOT_FETCHED && begin !== null && day.to <= begin)
      return "It lies before the first fetched day (recon backfill fetches it).";
    return reason ?? (await waitsBecause(context, tx, day, now));
  }
}

async function waitsBecause(
  { config }: FlowContext,
  tx: Query,
  { day, to }: ZonedDay,
  now: Instant,
): Promise<string> {
  const { after } = config.closing;
  if (after === null) return READY_TO_CLOSE;
  if (to + after > now) return `The day is complete; closing.after ends at ${showInstant(to + after)}.`;
  const { error } = await readFailures(tx, { work: "closing", subject: "" });
  const tried = `${day} stays open. `;
  if (error?.startsWith(tried)) return error.slice(tried.length);
  return "The day is complete; the worker closes it at its next run.";
}

const DAYS_AT_ONCE = 100;

/** Checks the chain of all closed days. @returns the first flaw; null: there is none */
export async function verifyChain(
  context: FlowContext,
): Promise<{ readonly days: number; readonly flaw: Flaw | null }> {
  const { days, flaws } = await findFlaws(context, 1);
  return { days, flaw: flaws[0] ?? null };
}

/**
 * Compares each closed day with its hash, its corrections, and the day before as it is stored.
 * @param most stops at this number of flaws
 * @returns the number of days without a flaw, as far as the check went, and the flaws in the order of their days
 */
export async function findFlaws(
  { sql }: FlowContext,
  most: number,
): Promise<{ readonly days: number; readonly flaws: readonly Flaw[] }> {
  return await inSnapshot(sql, async (tx) => {
    const flaws: Flaw[] = [];
    let before: ClosedDay | null = null;
    let days = 0;
    for (;;) {
      const batch: ClosedDay[] = await readClosedDays(tx, before?.number ?? 0, DAYS_AT_ONCE);
      for (const day of batch) {
        const what = findFlaw(day, before) ?? (await findAlteredCorrection(tx, day));
        if (what === null) days += 1;
        else flaws.push({ day: day.day, what });
        if (flaws.length >= most) return { days, flaws };
        before = day;
      }
      if (batch.length < DAYS_AT_ONCE) return { days, flaws };
    }
  });
}

async function findAlteredCorrection(tx: Query, day: ClosedDay): Promise<string | null> {
  const stored = await readArrived(tx, day);
  return canonicalJson(stored) === canonicalJson(day.corrections)
    ? null
    : "does not have the corrections that were stored when it was closed";
}

function toStatement({
  day,
  zone,
  from,
  to,
  rows,
  corrections,
  number,
  closedAt,
  hash,
  previousHash,
  acceptedGaps,
}: ClosedDay): StatedDay {
  const closed: ClosedStamp = { number, closedAt: formatInstant(closedAt), hash, previousHash };
  const body = bodyOf({
    rows: rows.map(withUnknown),
    corrections: corrections.map(toShown),
    acceptedGaps,
  });
  return { day, zone, ...boundsOf({ from, to }), totals: totalsOf(rows), closed, ...body };
}

function toShown(correction: Correction): Correction {
  const { before, after } = correction;
  return { ...correction, before: withUnknown(before), after: withUnknown(after) };
}

function boundsOf({ from, to }: TimeRange) {
  return { from: formatInstant(from), to: formatInstant(to) };
}

/**
 * @param read reads the statement of one of the days
 * @throws ReconError `conflict` if a closed day was altered: the change of its figures would prove nothing
 */
export async function readAgainst<Day>(
  context: FlowContext,
  { day, against }: { readonly day: Day; readonly against: Day },
  read: (day: Day) => Promise<DayStatement>,
): Promise<DaysCompared> {
  const readSound = async (one: Day) => {
    const statement = await read(one);
    await refuseAltered(context, statement);
    return statement;
  };
  return compareDays(await readSound(day), await readSound(against));
}
