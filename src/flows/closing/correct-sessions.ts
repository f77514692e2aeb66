/** Corrects closed days by the sessions that marks name. */

import { parseInstant } from "../../clock.ts";
import { findChangedBets } from "../../closing/changed-bets.ts";
import { readClosedBets, readClosedSessions } from "../../closing/closed-bet-store.ts";
import type { ClosedBounds } from "../../closing/closed-day-store.ts";
import type { ClosingMark } from "../../closing/correction-store.ts";
import { readDeletedTime } from "../../db/retention-store.ts";
import type { Reference } from "../../diff/link-store.ts";
import { readTouchedTimes } from "../../diff/session-store.ts";
import type { ComparisonContext } from "../compare/comparison-context.ts";
import { reportBetsOutside, reportTouched } from "../reports/report-sessions.ts";
import { endOf, onDay } from "./closed-time.ts";
import { findCopiedSessions, logCut } from "./find-cut.ts";
import { inPieces } from "./in-pieces.ts";
import { writeChanged } from "./write-changed.ts";

const DAY_MS = 24 * 3_600_000;

/** @returns the number of corrections */
export async function correctSessions(
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
