/** Finds what changed in closed days since they were closed, and stores it as corrections (decision 151). Counts those that wait. */

import { parseInstant } from "../../clock.ts";
import type { DayStatement, MonthReport } from "../../closed.ts";
import { type ChangedBet, findChangedBets } from "../../closing/changed-bets.ts";
import { readClosedBets, readClosedSessions } from "../../closing/closed-bet-store.ts";
import { lockClosing, readClosedBounds } from "../../closing/closed-day-store.ts";
import { readClosingProducts } from "../../closing/closed-part-store.ts";
import {
  type ClosingMark,
  dropMarksInGaps,
  keepMarksBefore,
  readNewestMark,
  readWaitingMarks,
  takeClosingMarks,
  writeMarkAgain,
} from "../../closing/correction-store.ts";
import { isOfNewRecord } from "../../closing/cut-bets.ts";
import type { ClosedBounds } from "../../closing/statement.ts";
import { sumRows } from "../../closing/sum-rows.ts";
import type { Query } from "../../db/client.ts";
import { readDeletedTime } from "../../db/retention-store.ts";
import { inSnapshot } from "../../db/transactions.ts";
import { deletedUpTo } from "../../diff/deleted.ts";
import type { Reference } from "../../diff/link-store.ts";
import { readTouchedTimes } from "../../diff/session-store.ts";
import { ReconError } from "../../errors.ts";
import { parseAmount } from "../../money.ts";
import { isUnexplained, NOTHING_COUNTED, type ReportRow, toRow } from "../../report.ts";
import type { TimeRange } from "../../window.ts";
import { type CompareLimits, type ComparisonContext, REPORT_LIMITS } from "../compare/comparison-context.ts";
import { type FlowContext, pulledProducts } from "../context.ts";
import { openReport } from "../reports/read-report.ts";
import { type CountedNeighbourhood, reportActive } from "../reports/report-bets.ts";
import { reportBetsOutside, reportTouched } from "../reports/report-sessions.ts";
import { type ClosedFacts, readClosedFacts } from "./closed-facts.ts";
import { findCopied, findCopiedSessions, findCut, logCut } from "./find-cut.ts";
import { endOf, onDay, openDayAt, writeChanged } from "./write-changed.ts";

const MARKS_AT_ONCE = 500;

/**
 * If some marks are too many for one transaction, each is taken alone. A mark that cannot be loaded alone is retried later.
 * @returns the number of corrections
 */
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
            `a change of a closed day cannot be stated yet, and will be retried: ${alone.message}`,
          );
        }
      }
    }
  }
  return corrections;
}

const DAY_MS = 24 * 3_600_000;

/** @returns the number of corrections */
async function correctSessions(
  comparison: ComparisonContext,
  days: readonly ClosedBounds[],
  marks: readonly ClosingMark[],
): Promise<number> {
  const { tx, product, now, sessionQuietMs } = comparison;
  const range = { from: days[0]?.from ?? 0, to: endOf(days) };
  return await inPieces(comparison, marks, async (piece) => {
    const deleted = await readDeletedTime(tx, product.productId);
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
        for await (const near of reportTouched(comparison, range, new Map([[username, cluster]]))) {
          const before = await readClosedSessions(tx, product.productId, username, near.span);
          const sessions = near.counted.map((one) => onDay(one, days));
          const changes = findChangedBets(before, sessions, [], () => true);
          const copied = await findCopiedSessions(comparison, days, near, changes, deleted);
          logCut(comparison, [...copied]);
          corrections += await writeChanged(
            comparison,
            changes.filter((change) => !copied.has(change)),
          );
        }
      }
    }
    corrections += await correctOutside(comparison, days, references);
    return corrections;
  });
}

/** Corrects what moved outside the comparison: bets of a product that settles by sessions. */
async function correctOutside(
  comparison: ComparisonContext,
  days: readonly ClosedBounds[],
  references: readonly Reference[],
): Promise<number> {
  const { tx, product } = comparison;
  const range = { from: days[0]?.from ?? 0, to: endOf(days) };
  const subjects = references.map(({ username, ref }) => [username, `outside:${ref}`] as const);
  const before = await readClosedBets(tx, product.productId, subjects);
  const now = await reportBetsOutside(comparison, [range], references);
  const changes = findChangedBets(
    before,
    now.map((one) => onDay(one, days)),
    [],
    () => true,
  );
  return await writeChanged(comparison, changes);
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

/** @returns the number of corrections */
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
    const found = loaded.map((one) => {
      const { narrow, ids } = one;
      const changes = findChangedBets(
        one.before,
        one.counted.map((bet) => onDay(bet, days)),
        one.elsewhere.map((bet) => ({ ...bet, day: openDayAt(bet.at, days, comparison) })),
        (bet) => !narrow.has(bet.subject.slice("round:".length)) || ids.has(bet.betRef),
      );
      return { one, changes };
    });
    const copied = await findCopied(comparison, days, found, deleted);
    const changed = found.flatMap(({ one, changes }) => {
      const later = one.counted
        .filter(({ at }) => at >= deletedUpTo(deleted))
        .map((bet) => onDay(bet, days).day);
      const isNew = isOfNewRecord(one, new Set(later));
      const corrects = (change: ChangedBet) => !copied.has(change) && (!cut.has(one) || isNew(change));
      logCut(
        comparison,
        changes.filter((change) => !corrects(change)),
      );
      return changes.filter(corrects);
    });
    return await writeChanged(comparison, changed);
  });
}

function subjectsOf({ ids, rounds, txnIds, marks }: CountedNeighbourhood): string[] {
  const marked = marks.flatMap(({ roundId, betRef }) => [
    ...(roundId === null ? [] : [`round:${roundId}`]),
    ...(betRef === null ? [] : [`bet:${betRef}`, `outside:${betRef}`]),
  ]);
  return [
    ...new Set([
      ...[...rounds].map((id) => `round:${id}`),
      ...[...ids].map((id) => `bet:${id}`),
      ...[...txnIds].map((id) => `outside:${id}`),
      ...marked,
    ]),
  ];
}

/** The limits of one transaction, and of one run; the next run continues. */
const ROWS_AT_ONCE = 20;
const MOST_TRANSACTIONS = 500;

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
    const step = await inSnapshot(context.sql, async (tx) => {
      await lockClosing(tx);
      // A bet of the day that is being closed may have changed since: its mark waits for the day's statement.
      const closing = new Set(await readClosingProducts(tx));
      const others = productIds.filter((productId) => !closing.has(productId));
      const { marks, rows } = await takeClosingMarks(tx, others, newest, ROWS_AT_ONCE);
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
    const { settlement } = comparison.product;
    if (settlement !== "session") corrections += await correctBets(comparison, days, own);
    if (settlement !== "bets") corrections += await correctSessions(comparison, days, own);
  }
  return corrections;
}

/** The number of waiting changes of each product that has some. */
export type WaitingCorrections = ReadonlyMap<string, number>;

/** The most marks of a product to look at. */
const MOST_MARKS = 1_000;

/** The changed rounds, bets and sessions that can concern closed time within a range. */
export async function countWaiting(
  { config, clock }: Pick<FlowContext, "config" | "clock">,
  tx: Query,
  { from, to }: TimeRange,
): Promise<WaitingCorrections> {
  const waiting = new Map<string, number>();
  for (const productId of pulledProducts(config)) {
    const marks = await readWaitingMarks(tx, productId, clock.now(), MOST_MARKS);
    if (marks.length === 0) continue;
    const kept = await keepMarksBefore(tx, productId, marks, to, from);
    const changing = await dropMarksInGaps(tx, productId, kept);
    const changed = new Set(
      changing.map(({ username, roundId, betRef }) => JSON.stringify([username, roundId ?? betRef])),
    );
    if (changed.size > 0) waiting.set(productId, changed.size);
  }
  return waiting;
}

/** Counts an unexplained rest as pending if a change of its product is about to become a correction. */
export function countAsPending(rows: readonly ReportRow[], waiting: WaitingCorrections): ReportRow[] {
  const undecided = rows
    .filter((row) => isUnexplained(row) && waiting.has(row.productId))
    .map(({ productId, currency, rest }) =>
      toRow(productId, { ...NOTHING_COUNTED, currency, pending: parseAmount(rest, "rest") }, true),
    );
  return sumRows([...rows, ...undecided]);
}

/** @param shown a day or a month; the result is empty if none of it is closed, or nothing waits */
export async function readWaiting(
  context: FlowContext,
  shown: DayStatement | MonthReport,
): Promise<WaitingCorrections> {
  const facts: readonly ClosedFacts[] = await readClosedFacts(context, shown);
  const [first, last] = [facts[0], facts.at(-1)];
  if (first === undefined || last === undefined) return new Map();
  return await inSnapshot(context.sql, (tx) => countWaiting(context, tx, { from: first.from, to: last.to }));
}

/** "2 corrections are being written." @returns null: none is */
export function sayWaiting(waiting: WaitingCorrections): string | null {
  const count = [...waiting.values()].reduce((sum, one) => sum + one, 0);
  if (count === 0) return null;
  const many = count === 1 ? "1 correction is" : `${count} corrections are`;
  return `${many} being written: changes of ${[...waiting.keys()].join(", ")} that are not in these figures yet.`;
}
