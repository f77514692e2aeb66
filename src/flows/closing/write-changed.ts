/** Writes what changed in closed days as corrections, and the bets as they are counted from then on. */

import type { ChangedBet, ClosedBet } from "../../closing/changed-bets.ts";
import { deleteClosedBets, writeClosedBets } from "../../closing/closed-bet-store.ts";
import { readClosedBounds } from "../../closing/closed-day-store.ts";
import { confirmedDaysOf } from "../../closing/confirmed-days.ts";
import { addConfirmed } from "../../closing/confirmed-store.ts";
import { reasonsOf, sayDecisions, seemsToArrive } from "../../closing/correction-reason.ts";
import { readCorrectionTime, writeCorrections } from "../../closing/correction-store.ts";
import { dayAfter, dayAt } from "../../closing/day-bounds.ts";
import type { ClosedBounds } from "../../closing/statement.ts";
import type { Query } from "../../db/client.ts";
import { readDecisionsSinceClosing } from "../../mismatches/explaining-store.ts";
import type { Counted } from "../../report.ts";
import { readFormerDates } from "../../sync/record-version-store.ts";
import type { ComparisonContext } from "../compare/comparison-context.ts";

/** In every zone a date with a date after it: providers write the last date of all for "never". */
const LATEST_DAY = Date.UTC(9999, 11, 30);

/** The end of the closed time; 0: nothing is closed. */
export function endOf(days: readonly ClosedBounds[]): number {
  return days.at(-1)?.to ?? 0;
}

/** The date of a moment that is not in closed time. */
export function openDayAt(at: number, days: readonly ClosedBounds[], { context }: ComparisonContext): string {
  const { zone } = context.config.closing;
  const last = days.at(-1);
  const next = last === undefined || at < last.to ? null : dayAfter({ ...last, zone }, zone);
  return next !== null && at < next.to ? next.day : dayAt(Math.min(at, LATEST_DAY), zone).day;
}

/** The closed day on which something counts. */
export function onDay<One extends Counted>(
  one: One,
  days: readonly ClosedBounds[],
): One & Pick<ClosedBet, "day"> {
  let [low, high] = [0, days.length - 1];
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if ((days[middle]?.from ?? 0) <= one.at) low = middle;
    else high = middle - 1;
  }
  return { ...one, day: days[low]?.day ?? "" };
}

/** @returns the number of corrections */
export async function writeChanged(
  comparison: ComparisonContext,
  changed: readonly ChangedBet[],
): Promise<number> {
  const {
    tx,
    product: { productId },
  } = comparison;
  if (changed.length === 0) return 0;
  const rows = await deleteClosedBets(
    tx,
    productId,
    changed.flatMap(({ replaced }) => replaced),
  );
  await writeClosedBets(
    tx,
    productId,
    changed.flatMap(({ now }) => now ?? []),
    true,
  );
  await addConfirmed(
    tx,
    productId,
    confirmedDaysOf(
      changed.flatMap(({ now }) => now ?? []),
      changed.flatMap(({ replaced }) => replaced),
    ),
  );
  const replaced = changed.map((one) => {
    const own = rows.splice(0, one.replaced.length).filter((row) => row !== null);
    return own.length === 0 ? null : `[${own.join(",")}]`;
  });
  const at = await readCorrectionTime(tx);
  const reasons = await withDecisions(tx, productId, changed, await reasonsWithOrigins(comparison, changed));
  await writeCorrections(
    tx,
    changed.map(({ correction }, index) => ({
      ...correction,
      reason: reasons[index] ?? "",
      productId,
    })),
    at,
    replaced,
  );
  return changed.length;
}

/** The reasons. A bet that came back, or came from an open day, has no stored row that tells the day; its record does. */
async function reasonsWithOrigins(
  comparison: ComparisonContext,
  changed: readonly ChangedBet[],
): Promise<string[]> {
  const { tx, product } = comparison;
  const arrivals = changed.filter(({ change }) => seemsToArrive(change));
  const dates = await readFormerDates(
    tx,
    product.productId,
    arrivals.map(({ correction: { username, betId } }) => ({ username, betId: betId ?? "" })),
  );
  const days = dates.some((own) => own.length > 0) ? await readClosedBounds(tx) : [];
  const dayOfDate = (at: number) =>
    days.find(({ from, to }) => from <= at && at < to)?.day ?? openDayAt(at, days, comparison);
  return reasonsOf(
    changed.map((one) => {
      const former = (dates[arrivals.indexOf(one)] ?? []).map(dayOfDate);
      const otherDay = former.find((day) => day !== one.correction.day) ?? one.change.otherDay;
      return { ...one.change, otherDay };
    }),
  );
}

/** The reasons. If nothing else changed, they begin with the decisions about mismatches. */
async function withDecisions(
  tx: Query,
  productId: string,
  changed: readonly ChangedBet[],
  reasons: readonly string[],
): Promise<string[]> {
  const decided = changed.filter((one) => one.isDecision);
  const decisions = await readDecisionsSinceClosing(
    tx,
    productId,
    decided.map(({ now, correction }) => ({ subject: "", betRef: "", ...now, ...correction })),
  );
  return changed.map((one, index) => {
    const said = sayDecisions(decisions[decided.indexOf(one)] ?? []);
    return [...said, reasons[index] ?? ""].join(" ");
  });
}
