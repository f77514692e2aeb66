/**
 * Conditions in PostgreSQL. A condition and its alert commit together, so that one of several workers writes the
 * alert.
 */

import type { Instant } from "../clock.ts";
import type { Query, Sql } from "../db/client.ts";
import {
  beginningAlert,
  type Condition,
  type ConditionName,
  endAlert,
  isSame,
  SEEN_AT,
  type StandingCondition,
} from "./condition.ts";
import { recordAlert } from "./store.ts";

export async function readConditions(sql: Query): Promise<StandingCondition[]> {
  return await sql<StandingCondition[]>`
    select kind, subject, product_id as "productId", since, what_when_over as "whatWhenOver", heads
    from alert_conditions order by kind, subject`;
}

/** Begins a condition. A condition that has begun already does not change. */
export async function beginCondition(sql: Sql, condition: Condition, now: Instant): Promise<void> {
  const { kind, subject, productId, whatWhenOver, heads = {} } = condition;
  await sql.begin(async (tx) => {
    const { count } = await tx`
      insert into alert_conditions (kind, subject, product_id, since, what_when_over, heads)
      values (${kind}, ${subject}, ${productId}, ${now}, ${whatWhenOver}, ${JSON.stringify(heads)}::text::jsonb)
      on conflict (kind, subject) do nothing`;
    if (count > 0) await recordAlert(tx, beginningAlert(condition, now));
  });
}

/** Ends a condition. Does nothing if another worker has already ended it. */
export async function endCondition(sql: Sql, condition: StandingCondition, now: Instant): Promise<void> {
  const { kind, subject, since } = condition;
  await sql.begin(async (tx) => {
    const { count } = await tx`
      delete from alert_conditions where kind = ${kind} and subject = ${subject} and since = ${since}`;
    if (count > 0) await recordAlert(tx, endAlert(condition, now));
  });
}

/** Notes that a condition still lasts. Only the process that began the condition does so. */
export async function keepCondition(
  sql: Query,
  { kind, subject }: ConditionName,
  now: Instant,
): Promise<void> {
  await sql`
    update alert_conditions set heads = jsonb_build_object(${SEEN_AT}::text, ${now}::bigint)
    where kind = ${kind} and subject = ${subject}`;
}

/** As `endCondition`, by name. Does nothing if there is no such condition. */
export async function endConditionNamed(sql: Sql, name: ConditionName, now: Instant): Promise<void> {
  const standing = (await readConditions(sql)).find((one) => isSame(one, name));
  if (standing !== undefined) await endCondition(sql, standing, now);
}
