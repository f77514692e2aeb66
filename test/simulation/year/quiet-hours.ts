/** Notes hours without any record as fetched, all at once. A thinned year has tens of thousands of them. */

import type { Instant } from "../../../src/clock.ts";
import type { Sql } from "../../../src/db/client.ts";
import type { World } from "../../../src/sandbox/world/world.ts";
import type { TimeRange } from "../../../src/window.ts";

const HOUR_MS = 3_600_000;

/** The newest time is left to the worker. */
const LEFT_MS = HOUR_MS;

/** What the worker would fetch and find empty, from the point at which live pulling and its resweeps continue. */
export async function skipQuietHours(
  sql: Sql,
  world: World,
  productId: string,
  now: Instant,
  ageMs: number,
): Promise<void> {
  const [state] = await sql<{ head: Instant; sweptUntil: Instant; isFree: boolean }[]>`
    select head, coalesce(r.swept_until, p.begin) as "sweptUntil",
      not exists (select from windows w where w.product_id = p.product_id and w.kind in ('live', 'lost', 'resweep')
        and w.status in ('planned', 'gap')) as "isFree"
    from pull_states p left join resweep_states r on r.product_id = p.product_id and r.age_ms = ${ageMs}
    where p.product_id = ${productId}`;
  if (state === undefined || !state.isFree) return;
  const quiet = (from: Instant, to: Instant): TimeRange | null => {
    const [first] = world.recordsIn(productId, { from, to: to + HOUR_MS }, now);
    const until = first === undefined ? to : Math.min(to, Date.parse(first.accountingDate));
    const end = Math.floor(until / HOUR_MS) * HOUR_MS;
    return end - from >= HOUR_MS ? { from, to: end } : null;
  };
  const live = quiet(state.head, now - LEFT_MS);
  if (live !== null) {
    await note(sql, productId, "live", live, now);
    await sql`update pull_states set head = ${live.to} where product_id = ${productId}`;
  }
  const resweep = quiet(state.sweptUntil, Math.min(now - ageMs, state.head) - LEFT_MS);
  if (resweep === null) return;
  await note(sql, productId, "resweep", resweep, now);
  await sql`
    insert into resweep_states (product_id, age_ms, swept_until) values (${productId}, ${ageMs}, ${resweep.to})
    on conflict (product_id, age_ms) do update set swept_until = excluded.swept_until`;
}

async function note(
  sql: Sql,
  productId: string,
  kind: string,
  { from, to }: TimeRange,
  now: Instant,
): Promise<void> {
  await sql`
    insert into windows (product_id, kind, from_at, to_at, status, started_at, fetched_at, pages)
    select ${productId}, ${kind}, at, least(at + interval '1 hour', ${to}::timestamptz), 'done', ${now}::timestamptz,
      ${now}::timestamptz, 1
    from generate_series(${from}::timestamptz, ${to}::timestamptz - interval '1 millisecond', interval '1 hour') as at`;
}
