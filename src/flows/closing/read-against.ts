/** Reads two days' statements, and puts them beside each other. */

import type { DayStatement, DaysCompared } from "../../closed.ts";
import { compareDays } from "../../closing/compare-days.ts";
import type { FlowContext } from "../context.ts";
import { refuseAltered } from "./closed-facts.ts";

/**
 * @param read reads the statement of one of the days
 * @throws ReconError `conflict` if a closed day was altered: the change of its figures would prove nothing
 */
export async function readAgainst<Day>(
  context: FlowContext,
  { day, against }: { readonly day: Day; readonly against: Day },
  read: (day: Day) => Promise<DayStatement>,
): Promise<DaysCompared> {
  const readSound = async (one: Day) => {
    const statement = await read(one);
    await refuseAltered(context, statement);
    return statement;
  };
  return compareDays(await readSound(day), await readSound(against));
}
