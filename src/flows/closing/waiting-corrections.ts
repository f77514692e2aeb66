/** Changes of closed days that are about to become corrections: until then, what they leave unexplained is pending (§3.10). */

import type { DayStatement, MonthReport } from "../../closed.ts";
import { dropMarksInGaps, keepMarksBefore, readWaitingMarks } from "../../closing/correction-store.ts";
import { sumRows } from "../../closing/sum-rows.ts";
import type { Query } from "../../db/client.ts";
import { inSnapshot } from "../../db/transactions.ts";
import { parseAmount } from "../../money.ts";
import { isUnexplained, NOTHING_COUNTED, type ReportRow, toRow } from "../../report.ts";
import type { TimeRange } from "../../window.ts";
import { type FlowContext, pulledProducts } from "../context.ts";
import { type ClosedFacts, readClosedFacts } from "./closed-facts.ts";

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
