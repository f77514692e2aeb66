/** Finds what changed in closed days since they were closed, and stores it as corrections. */

import { parseInstant } from "../../clock.ts";
import { type ChangedBet, type ClosedBet, findChangedBets } from "../../closing/changed-bets.ts";
import {
  deleteClosedBets,
  readClosedBets,
  readClosedSessions,
  writeClosedBets,
} from "../../closing/closed-bet-store.ts";
import { lockClosing, readClosedBounds } from "../../closing/closed-day-store.ts";
import { sayDecisions } from "../../closing/correction-reason.ts";
import {
  type ClosingMark,
  keepMarksBefore,
  readCorrectionTime,
  readNewestMark,
  takeClosingMarks,
  writeCorrections,
  writeMarkAgain,
} from "../../closing/correction-store.ts";
import {
  isOfNewRecord,
  type LoadedBets,
  mayLackRecords,
  namesWithoutEntries,
} from "../../closing/cut-bets.ts";
import { dayAfter, dayAt } from "../../closing/day-bounds.ts";
import type { Query } from "../../db/client.ts";
import { type DeletedTime, readDeletedTime, wereDeleted } from "../../db/retention-store.ts";
import { inOneMoment } from "../../db/transactions.ts";
import { deletedUpTo } from "../../diff/deleted.ts";
import { readTouchedTimes } from "../../diff/session-store.ts";
import { ReconError } from "../../errors.ts";
import { readDecisionsSinceClosing } from "../../mismatches/decision-store.ts";
import type { Counted } from "../../report.ts";
import type { TimeRange } from "../../window.ts";
import { type CompareLimits, type ComparisonContext, REPORT_LIMITS } from "../compare/comparison-context.ts";
import type { FlowContext } from "../context.ts";
import { openReport } from "../reports/read-report.ts";
import { type CountedNeighbourhood, reportActive } from "../reports/report-bets.ts";
import { reportTouched } from "../reports/report-sessions.ts";

/** The limits of one transaction, and of one run; the next run goes on. */
const ROWS_AT_ONCE = 20;
const MARKS_AT_ONCE = 500;
const MOST_TRANSACTIONS = 500;
const DAY_MS = 24 * 3_600_000;
/** In every zone a date with a date after it: providers write the last date of all for "never". */
const LATEST_DAY = Date.UTC(9999, 11, 30);

type ClosedBounds = TimeRange & { readonly day: string };

/**
 * Looks through all marks that were there when it began. Marks of products that are not in the settings stay until they
 * are again. Serialised with closing.
 * @returns the number of corrections
 */
export async function findCorrections(
  context: FlowContext,
  signal: AbortSignal,
  limits: CompareLimits = REPORT_LIMITS,
): Promise<number> {
  const productIds = context.config.products.map(({ productId }) => productId);
  const newest = await readNewestMark(context.sql, productIds);
  let found = 0;
  for (let count = 0; newest > 0 && count < MOST_TRANSACTIONS && !signal.aborted; count += 1) {
    const step = await inOneMoment(context.sql, async (tx) => {
      await lockClosing(tx);
      const { marks, rows } = await takeClosingMarks(tx, productIds, newest, ROWS_AT_ONCE);
      return { rows, corrections: await correctMarked(context, tx, marks, limits) };
    });
    found += step.corrections;
    if (step.rows < ROWS_AT_ONCE) break;
  }
  if (found > 0) context.log.info({ corrections: found }, "later changes of closed days became corrections");
  return found;
}

async function correctMarked(
  context: FlowContext,
  tx: Query,
  marks: readonly ClosingMark[],
  limits: CompareLimits,
): Promise<number> {
  const days = await readClosedBounds(tx);
  if (marks.length === 0 || days.length === 0) return 0;
  let corrections = 0;
  for (const product of context.config.products) {
    const own = marks.filter(({ productId }) => productId === product.productId);
    const comparison = own.length === 0 ? null : await openReport(context, tx, product, limits);
    if (comparison === null) {
      // Without a ledger nothing can be counted yet.
      for (const mark of own) await writeMarkAgain(tx, mark);
      continue;
    }
    const correct = comparison.product.settlement === "session" ? correctSessions : correctBets;
    corrections += await correct(comparison, days, own);
  }
  return corrections;
}

async function correctBets(
  comparison: ComparisonContext,
  days: readonly ClosedBounds[],
  marks: readonly ClosingMark[],
): Promise<number> {
  const { tx, product } = comparison;
  const kept = await keepMarksBefore(tx, product.productId, marks, endOf(days));
  return await inPieces(comparison, kept, async (piece) => {
    const neighbourhoods: CountedNeighbourhood[] = [];
    for await (const one of reportActive(comparison, days, piece)) neighbourhoods.push(one);
    const subjects = neighbourhoods.map((one) =>
      subjectsOf(one).map((subject) => [one.username, subject] as const),
    );
    const before = Map.groupBy(
      await readClosedBets(tx, product.productId, subjects.flat()),
      ({ username, subject }) => JSON.stringify([username, subject]),
    );
    const loaded = neighbourhoods.map((one, index) => ({
      ...one,
      isNarrow: one.narrow.size > 0,
      before: (subjects[index] ?? []).flatMap((key) => before.get(JSON.stringify(key)) ?? []),
    }));
    const deleted = await readDeletedTime(tx, product.productId);
    const cut = await findCut(comparison, days, loaded, deleted);
    const changed = loaded.flatMap((one) => {
      const { counted, narrow, ids } = one;
      const found = findChangedBets(
        one.before,
        counted.map((bet) => onDay(bet, days)),
        one.elsewhere.map((bet) => ({ ...bet, day: openDayAt(bet.at, days, comparison) })),
        (bet) => !narrow.has(bet.subject.slice("round:".length)) || ids.has(bet.betRef),
      );
      if (!cut.has(one) || found.length === 0) return found;
      const later = counted.filter(({ at }) => at >= deletedUpTo(deleted)).map((bet) => onDay(bet, days).day);
      const isNew = isOfNewRecord(one, new Set(later));
      logCut(
        comparison,
        found.filter((change) => !isNew(change)),
      );
      return found.filter(isNew);
    });
    return await writeChanged(comparison, changed);
  });
}

/** The neighbourhoods of which rows were deleted. */
async function findCut<Loaded extends LoadedBets>(
  { tx, product: { productId } }: ComparisonContext,
  days: readonly ClosedBounds[],
  loaded: readonly Loaded[],
  deleted: DeletedTime,
): Promise<ReadonlySet<Loaded>> {
  const named = loaded.flatMap((one) => namesWithoutEntries(one).map((name) => ({ one, name })));
  const gone = await wereDeleted(
    tx,
    productId,
    named.map(({ name }) => name),
  );
  return new Set([
    ...loaded.filter((one) => mayLackRecords(one, days, deleted)),
    ...named.filter((_, index) => gone[index]).map(({ one }) => one),
  ]);
}

function logCut({ context, product }: ComparisonContext, changed: readonly ChangedBet[]): void {
  for (const { correction } of changed) {
    const { day, username, betId, transactionId, currency, before, after } = correction;
    context.log.warn(
      { productId: product.productId, day, username, betId, transactionId, currency, before, after },
      "a bet of a closed day changed after one side of it was deleted (retain): its day is not corrected",
    );
  }
}

function subjectsOf({ ids, rounds, marks }: CountedNeighbourhood): string[] {
  const marked = marks.flatMap(({ roundId, betRef }) => [
    ...(roundId === null ? [] : [`round:${roundId}`]),
    ...(betRef === null ? [] : [`bet:${betRef}`]),
  ]);
  return [
    ...new Set([...[...rounds].map((id) => `round:${id}`), ...[...ids].map((id) => `bet:${id}`), ...marked]),
  ];
}

async function correctSessions(
  comparison: ComparisonContext,
  days: readonly ClosedBounds[],
  marks: readonly ClosingMark[],
): Promise<number> {
  const { tx, product, now, sessionQuietMs } = comparison;
  const range = { from: days[0]?.from ?? 0, to: endOf(days) };
  return await inPieces(comparison, marks, async (piece) => {
    const within = { from: range.from - DAY_MS, to: Math.max(now, range.to) };
    const references = piece.map(({ username, betRef }) => ({ username, ref: betRef ?? "" }));
    const touched = await readTouchedTimes(tx, product.productId, references, within);
    for (const { username, betRef } of piece) {
      const [, at] = /^session:(\S+) /.exec(betRef ?? "") ?? [];
      if (at === undefined) continue;
      touched.set(username, [...(touched.get(username) ?? []), parseInstant(at, "session")]);
    }
    let corrections = 0;
    for (const [username, times] of touched) {
      const near = times.filter((at) => at <= range.to + sessionQuietMs);
      for (const cluster of clustersOf(near)) {
        for await (const { span, counted } of reportTouched(
          comparison,
          range,
          new Map([[username, cluster]]),
        )) {
          const before = await readClosedSessions(tx, product.productId, username, span);
          const sessions = counted.map((one) => onDay(one, days));
          corrections += await writeChanged(
            comparison,
            findChangedBets(before, sessions, [], () => true),
          );
        }
      }
    }
    return corrections;
  });
}

/** Times with at most a day between them: what lies far apart is loaded apart. */
function clustersOf(times: readonly number[]): number[][] {
  const clusters: number[][] = [];
  for (const at of [...times].sort((a, b) => a - b)) {
    const last = clusters.at(-1);
    if (last !== undefined && at - (last.at(-1) ?? at) <= DAY_MS) last.push(at);
    else clusters.push([at]);
  }
  return clusters;
}

/** Where some marks are too many together, each alone. What cannot be loaded alone either is tried again later. */
async function inPieces(
  { tx, context }: ComparisonContext,
  marks: readonly ClosingMark[],
  correct: (piece: readonly ClosingMark[]) => Promise<number>,
): Promise<number> {
  const sorted = [...marks].sort((a, b) => (a.username < b.username ? -1 : 1));
  let corrections = 0;
  for (let from = 0; from < sorted.length; from += MARKS_AT_ONCE) {
    const piece = sorted.slice(from, from + MARKS_AT_ONCE);
    try {
      corrections += await correct(piece);
    } catch (error) {
      if (!(error instanceof ReconError)) throw error;
      for (const mark of piece) {
        try {
          corrections += await correct([mark]);
        } catch (alone) {
          if (!(alone instanceof ReconError)) throw alone;
          await writeMarkAgain(tx, mark);
          context.log.warn(
            { productId: mark.productId, code: alone.code },
            `a change of a closed day cannot be stated yet, and is tried again: ${alone.message}`,
          );
        }
      }
    }
  }
  return corrections;
}

async function writeChanged(
  { tx, product: { productId } }: ComparisonContext,
  changed: readonly ChangedBet[],
): Promise<number> {
  if (changed.length === 0) return 0;
  await deleteClosedBets(
    tx,
    productId,
    changed.flatMap(({ replaced }) => replaced),
  );
  await writeClosedBets(
    tx,
    productId,
    changed.flatMap(({ now }) => now ?? []),
  );
  const at = await readCorrectionTime(tx);
  const reasons = await withDecisions(tx, productId, changed);
  await writeCorrections(
    tx,
    changed.map(({ correction }, index) => ({
      ...correction,
      reason: reasons[index] ?? correction.reason,
      productId,
    })),
    at,
  );
  return changed.length;
}

/** The reasons, which begin with what people decided where nothing else changed. */
async function withDecisions(
  tx: Query,
  productId: string,
  changed: readonly ChangedBet[],
): Promise<string[]> {
  const decided = changed.filter((one) => one.isDecision);
  const decisions = await readDecisionsSinceClosing(
    tx,
    productId,
    decided.map(({ now, correction }) => ({ subject: "", betRef: "", ...now, ...correction })),
  );
  return changed.map((one) => {
    const said = sayDecisions(decisions[decided.indexOf(one)] ?? []);
    return [...said, one.correction.reason].join(" ");
  });
}

function endOf(days: readonly ClosedBounds[]): number {
  return days.at(-1)?.to ?? 0;
}

/** The date of a moment that is not in closed time. */
function openDayAt(at: number, days: readonly ClosedBounds[], { context }: ComparisonContext): string {
  const { zone } = context.config.closing;
  const last = days.at(-1);
  const next = last === undefined || at < last.to ? null : dayAfter({ ...last, zone }, zone);
  return next !== null && at < next.to ? next.day : dayAt(Math.min(at, LATEST_DAY), zone).day;
}

/** The closed day on which something counts. */
function onDay<One extends Counted>(one: One, days: readonly ClosedBounds[]): One & Pick<ClosedBet, "day"> {
  let [low, high] = [0, days.length - 1];
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if ((days[middle]?.from ?? 0) <= one.at) low = middle;
    else high = middle - 1;
  }
  return { ...one, day: days[low]?.day ?? "" };
}
