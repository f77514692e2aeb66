/** What the JSON of a shown statement has no key for: whether its closed days were altered (§3.10). */

import type { DayStatement, MonthReport } from "../../closed.ts";
import { readClosedDay, readClosedDaysOf } from "../../closing/closed-day-store.ts";
import { isAltered } from "../../closing/statement.ts";
import { ReconError } from "../../errors.ts";
import type { FlowContext } from "../context.ts";

/** What a person should know about a closed day that is shown. */
export interface ClosedFacts {
  readonly day: string;
  /** the stored statement does not have its own hash; the chain is only checked as a whole (`verifyChain`) */
  readonly isAltered: boolean;
}

/** The facts of the closed days of a statement, in their order; none: no day of it is closed. */
export async function readClosedFacts(
  { sql }: FlowContext,
  shown: DayStatement | MonthReport,
): Promise<ClosedFacts[]> {
  const stored =
    "month" in shown
      ? await readClosedDaysOf(sql, shown.month)
      : shown.closed === null
        ? []
        : [await readClosedDay(sql, shown.day)];
  return stored.flatMap((one) => (one === null ? [] : [{ day: one.day, isAltered: isAltered(one) }]));
}

/** What names the altered days, and the command that proves it, as after a colon; null: none was altered. */
export function sayAltered(facts: readonly ClosedFacts[]): string | null {
  const days = facts.filter((one) => one.isAltered).map(({ day }) => day);
  if (days.length === 0) return null;
  const what =
    days.length === 1
      ? `the stored statement of ${days[0]} was altered after it was closed, so do not use its figures`
      : `the stored statements of ${days.join(", ")} were altered after they were closed, so do not use their figures`;
  return `${what} ("recon report --verify" proves it)`;
}

/** @throws ReconError `conflict` where a closed day was altered: JSON and CSV have no place to say so */
export async function refuseAltered(context: FlowContext, shown: DayStatement | MonthReport): Promise<void> {
  const altered = sayAltered(await readClosedFacts(context, shown));
  if (altered !== null) throw new ReconError("conflict", altered);
}
