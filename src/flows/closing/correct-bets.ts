/** Corrects closed days by the bets that marks name. */

import { type ChangedBet, findChangedBets } from "../../closing/changed-bets.ts";
import { readClosedBets } from "../../closing/closed-bet-store.ts";
import type { ClosedBounds } from "../../closing/closed-day-store.ts";
import { type ClosingMark, keepMarksBefore } from "../../closing/correction-store.ts";
import { isOfNewRecord } from "../../closing/cut-bets.ts";
import { readDeletedTime } from "../../db/retention-store.ts";
import { deletedUpTo } from "../../diff/deleted.ts";
import type { ComparisonContext } from "../compare/comparison-context.ts";
import { type CountedNeighbourhood, reportActive } from "../reports/report-bets.ts";
import { endOf, onDay, openDayAt } from "./closed-time.ts";
import { findCopied, findCut, logCut } from "./find-cut.ts";
import { inPieces } from "./in-pieces.ts";
import { writeChanged } from "./write-changed.ts";

/** @returns the number of corrections */
export async function correctBets(
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
