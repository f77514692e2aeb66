/**
 * Facts for which a statement's JSON has no key: the bounds of its closed days, and whether they were altered
 * (§3.10).
 */

import { localIso, showInstant } from "../../clock.ts";
import type { DayStatement, MonthReport } from "../../closed.ts";
import { readClosedDay, readClosedDaysOf } from "../../closing/closed-day-store.ts";
import type { ZonedDay } from "../../closing/day-bounds.ts";
import { isAltered } from "../../closing/statement.ts";
import { ReconError } from "../../errors.ts";
import type { FlowContext } from "../context.ts";

/** What a reader should know about a closed day that is shown. */
export interface ClosedFacts extends ZonedDay {
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
  return stored.flatMap((one) => {
    if (one === null) return [];
    const { day, zone, from, to } = one;
    return [{ day, zone, from, to, isAltered: isAltered(one) }];
  });
}

const MINUTE_MS = 60_000;
const DAY_MINUTES = 24 * 60;

const minutesOf = ({ from, to }: ClosedFacts) => Math.round((to - from) / MINUTE_MS);

/** The bounds of a closed day on the clocks of its zone and in UTC, and its length, as after "from". */
export function sayBounds(facts: ClosedFacts): string {
  const { zone, from, to } = facts;
  const local = (at: number) => localIso(at, zone).slice(0, 19).replace("T", " ");
  const [hours, minutes] = [Math.floor(minutesOf(facts) / 60), minutesOf(facts) % 60];
  const utc = zone === "UTC" ? "" : ` (${showInstant(from)} to ${showInstant(to)})`;
  return `${local(from)} to ${local(to)} in ${zone}${utc}, ${hours} h${minutes === 0 ? "" : ` ${minutes} min`}`;
}

/** Sentences about the closed days of a month that are not days of 24 hours in its zone. */
export function sayUnusual({ zone }: MonthReport, facts: readonly ClosedFacts[]): string[] {
  const others = [...Map.groupBy(facts, (one) => one.zone)].filter(([of]) => of !== zone);
  return [
    ...others.map(([of, days]) => {
      const [first, last] = [days[0]?.day, days.at(-1)?.day];
      return days.length === 1
        ? `${first} was closed in ${of}.`
        : `${days.length} days from ${first} to ${last} were closed in ${of}.`;
    }),
    ...facts
      .filter((one) => minutesOf(one) !== DAY_MINUTES)
      .map((one) => `${one.day} is from ${sayBounds(one)}.`),
  ];
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

/** @throws ReconError `conflict` if a closed day was altered: JSON and CSV have no place to say so */
export async function refuseAltered(context: FlowContext, shown: DayStatement | MonthReport): Promise<void> {
  const altered = sayAltered(await readClosedFacts(context, shown));
  if (altered !== null) throw new ReconError("conflict", altered);
}
