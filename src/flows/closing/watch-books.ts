/** Checks the books by itself: the closed days and their chain, and whether every complete day adds up (§3.10). */

import { setImmediate as nextTurn } from "node:timers/promises";
import { monotonicMs } from "../../clock.ts";
import type { BooksSeen, UnexplainedRest } from "../../closed.ts";
import { readClosedBounds, readLastNumber } from "../../closing/closed-day-store.ts";
import { dayAt, type ZonedDay } from "../../closing/day-bounds.ts";
import { StatementDays } from "../../closing/statement.ts";
import { findUnexplained } from "../../closing/sums-check-store.ts";
import { allowStatementTime, inSnapshot } from "../../db/transactions.ts";
import { describeError, ReconError } from "../../errors.ts";
import { restAfter } from "../../health/money.ts";
import { isUnexplained } from "../../report.ts";
import { readMoneyStates, writeMoneyState } from "../../work/work-store.ts";
import { REPORT_LIMITS } from "../compare/comparison-context.ts";
import type { FlowContext } from "../context.ts";
import { readReport } from "../reports/read-report.ts";
import { countWaiting } from "./find-corrections.ts";
import { findFlaws } from "./read-statement.ts";
import { findWrongSums } from "./verify-books.ts";

const DAY_MS = 24 * 3_600_000;
/** The most flaws, and the most rests, that a check reports. */
const MOST_FOUND = 20;
/** How many ended days that are still open a check adds up, and for how long. */
const MOST_OPEN_DAYS = 7;
const LONGEST_OPEN_MS = 120_000;
const LONGEST_STATEMENT_MS = 300_000;

/**
 * Checks when a worker starts, once a day, after days were closed, and while something is wrong. Except at a start, checking
 * takes at most a fiftieth of a connection's time.
 */
export async function keepBooksChecked(
  context: FlowContext,
  signal: AbortSignal,
  isStart: boolean,
): Promise<void> {
  const { sql, clock } = context;
  const before = (await readMoneyStates(sql, "")).books;
  const number = await readLastNumber(sql);
  const now = clock.now();
  if (!isStart && before !== null) {
    const { flaws, rests, left, number: known } = before.content;
    const age = now - before.measuredAt;
    const hasChanged = known !== number || flaws.length + rests.length + left.length > 0;
    if (age < (hasChanged ? restAfter(before.tookMs) : DAY_MS)) return;
  }
  const beganMs = monotonicMs();
  const content = { number, ...(await checkBooks(context, signal, before?.content ?? null)) };
  if (signal.aborted) return;
  await writeMoneyState(sql, "books", "", { measuredAt: now, tookMs: monotonicMs() - beganMs, content });
}

async function checkBooks(
  context: FlowContext,
  signal: AbortSignal,
  before: BooksSeen | null,
): Promise<Omit<BooksSeen, "number">> {
  const { flaws: ofChain } = await findFlaws(context, MOST_FOUND);
  const named = new Set(ofChain.map(({ day }) => day));
  // An altered statement does not have the sums of its bets either.
  const ofSums = (await findWrongSums(context, MOST_FOUND)).filter(({ day }) => !named.has(day));
  const closed = await findClosedRests(context, before);
  const flaws = [...ofChain, ...ofSums].slice(0, MOST_FOUND);
  const altered = new Set(flaws.map(({ day }) => day));
  const open = await addUpOpen(context, signal, before);
  const rests = [...closed.rests.filter(({ day }) => !altered.has(day)), ...open.rests];
  return { flaws, rests: rests.slice(0, MOST_FOUND), left: [...closed.left, ...open.left] };
}

/** The unexplained rests of closed days. A day whose change is about to become a correction is judged afterwards. */
async function findClosedRests(
  context: FlowContext,
  before: BooksSeen | null,
): Promise<Pick<BooksSeen, "rests" | "left">> {
  return await inSnapshot(context.sql, async (tx) => {
    await allowStatementTime(tx, LONGEST_STATEMENT_MS);
    const found = await findUnexplained(tx, MOST_FOUND);
    const bounds = found.length === 0 ? [] : await readClosedBounds(tx);
    const rests: UnexplainedRest[] = [];
    const left = new Set<string>();
    for (const one of found) {
      const range = bounds.find(({ day }) => day === one.day);
      const waiting = range === undefined ? null : await countWaiting(context, tx, range);
      const isKnown = before?.rests.some(
        ({ day, productId, currency }) =>
          day === one.day && productId === one.productId && currency === one.currency,
      );
      if (waiting?.has(one.productId) !== true || isKnown) rests.push(one);
      else left.add(one.day);
    }
    return { rests, left: [...left] };
  });
}

/** The unexplained rests of open days: those that had a rest or were left out before, and the last ones that ended. */
async function addUpOpen(
  context: FlowContext,
  signal: AbortSignal,
  before: BooksSeen | null,
): Promise<Pick<BooksSeen, "rests" | "left">> {
  const rests: UnexplainedRest[] = [];
  const left: string[] = [];
  const endsAtMs = monotonicMs() + LONGEST_OPEN_MS;
  for (const day of await chooseOpen(context, before)) {
    const leftMs = Math.floor(endsAtMs - monotonicMs());
    const found = leftMs <= 0 || signal.aborted ? null : await addUpDay(context, day, signal, leftMs);
    if (found === null) left.push(day.day);
    rests.push(...(found ?? before?.rests.filter((one) => one.day === day.day) ?? []));
  }
  return { rests, left };
}

async function chooseOpen(context: FlowContext, before: BooksSeen | null): Promise<ZonedDay[]> {
  const { sql, config, clock } = context;
  const { zone } = config.closing;
  const settled = clock.now() - config.pull.settleDelay;
  const closed = await readClosedBounds(sql);
  const days = new StatementDays(closed, zone);
  const closedTo = closed.at(-1)?.to ?? Number.NEGATIVE_INFINITY;
  const recent = Array.from(
    { length: MOST_OPEN_DAYS },
    (_, back) => dayAt(settled - (back + 1) * DAY_MS, zone).day,
  );
  const known = before === null ? [] : [...before.rests.map(({ day }) => day), ...before.left];
  return [...new Set([...known, ...recent])].flatMap((day) => {
    const time = days.timeOf(day);
    return time === null || time.from < closedTo || time.to > settled ? [] : [{ day, zone, ...time }];
  });
}

/** @returns null: the sums cannot be computed now */
async function addUpDay(
  context: FlowContext,
  day: ZonedDay,
  signal: AbortSignal,
  longestMs: number,
): Promise<UnexplainedRest[] | null> {
  const stopped = AbortSignal.any([signal, AbortSignal.timeout(longestMs)]);
  try {
    const { rows } = await readReport(
      context,
      day,
      stopped,
      REPORT_LIMITS,
      async () => void (await nextTurn()),
    );
    return rows
      .filter(isUnexplained)
      .map(({ productId, currency, rest }) => ({ day: day.day, productId, currency, rest }));
  } catch (error) {
    if (!stopped.aborted && !(error instanceof ReconError)) throw error;
    context.log.warn(
      { day: day.day, error: describeError(error) },
      "an open day could not be added up for the check of the books",
    );
    return null;
  }
}
