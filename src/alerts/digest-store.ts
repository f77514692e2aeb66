/** The sums of the daily digest, from PostgreSQL. */

import type { Instant } from "../clock.ts";
import type { Query } from "../db/client.ts";
import { AGES, type Unresolved } from "./digest.ts";

/** Open and acknowledged mismatches by age and currency, youngest first. */
export async function sumUnresolved(sql: Query, now: Instant): Promise<Unresolved[]> {
  const days = AGES.flatMap(({ days }) => (days === null ? [] : [days]));
  return await sql<Unresolved[]>`
    select (select count(*)::integer from unnest(${days}::integer[]) as older (days)
        where first_seen_at <= ${now}::timestamptz - make_interval(days => older.days)) as "ageIndex",
      currency, sum(amount_at_risk) as amount, count(*) as count
    from mismatches where status in ('open', 'acknowledged')
    group by 1, 2 order by 1, 2 nulls last`;
}
