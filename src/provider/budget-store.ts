/** The request budget in PostgreSQL, so that all worker processes share it on either queue backend. */

import { randomUUID } from "node:crypto";
import type { Sql } from "../db/client.ts";

/** A place held while a request is under way. */
export interface Place {
  readonly slot: number;
  readonly holder: string;
}

export interface BudgetLimits {
  /** requests under way at the same time, over all processes */
  readonly concurrency: number;
  /** from the start of one request to the start of the next, over all processes; 0: none */
  readonly minIntervalMs: number;
}

/** A waiter that asks no more is forgotten after this; a place whose holder died comes free after its own time. */
const WAITER_SECONDS = 3;

/** The budget's one row, open from the beginning. */
export async function ensureBudget(sql: Sql): Promise<void> {
  await sql`
    insert into request_budget (id, paused_until, next_at) values (1, 'epoch', 'epoch') on conflict (id) do nothing`;
}

/**
 * Takes a place, unless none is free, all are paused, the last request began too short ago, or somebody more urgent
 * waits. Also null where another process was quicker: then it is worth asking again.
 * @param urgency smaller is more urgent
 * @param holdMs after this the place is free again, whatever became of its holder
 */
export async function takePlace(
  sql: Sql,
  urgency: number,
  limits: BudgetLimits,
  holdMs: number,
): Promise<Place | null> {
  const holder = randomUUID();
  const isSpaced = limits.minIntervalMs > 0;
  const [taken] = await sql<{ slot: number }[]>`
    with open as (
      select id from request_budget
      where id = 1 and paused_until <= clock_timestamp() and next_at <= clock_timestamp()
      ${isSpaced ? sql`for update` : sql``}
    ),
    taken as (
      insert into request_slots as held (slot, holder, held_until)
      select free.slot, ${holder}, clock_timestamp() + make_interval(secs => ${holdMs / 1000})
      from open cross join generate_series(1, ${limits.concurrency}) as free (slot)
      left join request_slots s on s.slot = free.slot and s.held_until > clock_timestamp()
      where s.slot is null and not exists (
        select from request_waiters
        where urgency < ${urgency} and seen_at > clock_timestamp() - make_interval(secs => ${WAITER_SECONDS})
      )
      order by random() limit 1
      on conflict (slot) do update set holder = excluded.holder, held_until = excluded.held_until
        where held.held_until <= clock_timestamp()
      returning slot
    )
    ${isSpaced ? spaceOut(sql, limits.minIntervalMs) : sql``}
    select slot from taken`;
  return taken === undefined ? null : { slot: taken.slot, holder };
}

function spaceOut(sql: Sql, minIntervalMs: number) {
  return sql`, spaced as (
    update request_budget set next_at = clock_timestamp() + make_interval(secs => ${minIntervalMs / 1000})
    where id = 1 and exists (select from taken)
  )`;
}

/** The less urgent let a waiter pass, as long as it keeps asking. */
export async function rememberWaiter(sql: Sql, waiter: string, urgency: number): Promise<void> {
  await sql`
    insert into request_waiters (waiter, urgency, seen_at) values (${waiter}, ${urgency}, clock_timestamp())
    on conflict (waiter) do update set seen_at = excluded.seen_at`;
}

export async function givePlaceBack(sql: Sql, place: Place): Promise<void> {
  await sql`delete from request_slots where slot = ${place.slot} and holder = ${place.holder}`;
}

/** Somebody who waited has a place, or gave up. */
export async function forgetWaiter(sql: Sql, waiter: string): Promise<void> {
  await sql`delete from request_waiters where waiter = ${waiter}`;
}

/** Nobody asks the provider anything before this many milliseconds have passed. */
export async function pauseRequests(sql: Sql, pauseMs: number): Promise<void> {
  await sql`
    update request_budget
    set paused_until = greatest(paused_until, clock_timestamp() + make_interval(secs => ${pauseMs / 1000}))
    where id = 1`;
}
