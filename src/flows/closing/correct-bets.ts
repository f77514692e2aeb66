/** Corrects closed days by the bets that marks name. */

import { type ChangedBet, findChangedBets } from "../../closing/changed-bets.ts";
import { readClosedBets } from "../../closing/closed-bet-store.ts";
import type { ClosedBounds } from "../../closing/closed-day-store.ts";
import { type ClosingMark, keepMarksBefore } from "../../closing/correction-store.ts";
import {
  isOfNewRecord,
  type LoadedBets,
  mayLackRecords,
  namesWithoutEntries,
} from "../../closing/cut-bets.ts";
import { type DeletedTime, readDeletedTime, wereDeleted } from "../../db/retention-store.ts";
import { deletedUpTo } from "../../diff/deleted.ts";
import type { ComparisonContext } from "../compare/comparison-context.ts";
import { type CountedNeighbourhood, reportActive } from "../reports/report-bets.ts";
import { endOf, onDay, openDayAt } from "./closed-time.ts";
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
