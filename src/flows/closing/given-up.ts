/** The earlier days that the first closed day shuts out: days are closed in order (§3.10). */

import { dayAt, type ZonedDay } from "../../closing/day-bounds.ts";
import { readFirstFetched } from "../../sync/coverage-store.ts";
import type { FlowContext } from "../context.ts";
import type { Closing } from "./close-days.ts";
import { whyOpen } from "./why-open.ts";

/** The most days to look at, because a request waits for the answer. */
const MOST_DAYS = 31;

/**
 * What finance gave up with the first closed day.
 * @returns sentences that name the complete days among the 31 before it; null: none of these days was the first
 */
export async function sayGivenUp(context: FlowContext, results: readonly Closing[]): Promise<string | null> {
  const [first] = results.flatMap((result) =>
    "closed" in result && result.isNew && result.closed.number === 1 ? [result.closed] : [],
  );
  if (first === undefined) return null;
  const { day } = first;
  const rule = `${day} is the first closed day, and days are closed in order: no day before it can be closed any more, so none has a statement, and retention never deletes its rows.`;
  const complete = await findComplete(context, first);
  if (complete.length === 0) return rule;
  return `${rule} Complete, and given up: ${complete.join(", ")}${complete.length === MOST_DAYS ? ", and perhaps earlier days" : ""}.`;
}

/** The complete days among the last ones before a day, in their order. */
async function findComplete(context: FlowContext, { from, zone }: ZonedDay): Promise<string[]> {
  const { sql, config } = context;
  const fetchedFrom = await readFirstFetched(
    sql,
    config.products.map(({ productId }) => productId),
  );
  const complete: string[] = [];
  let end = from;
  for (let count = 0; count < MOST_DAYS && fetchedFrom !== null && fetchedFrom < end; count += 1) {
    const day = dayAt(end - 1, zone);
    if ((await whyOpen(context, sql, day)) === null) complete.unshift(day.day);
    end = day.from;
  }
  return complete;
}
