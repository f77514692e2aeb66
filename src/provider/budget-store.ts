/** The request budget in PostgreSQL, so that all worker processes share it on either queue backend. */

import { randomUUID } from "node:crypto";
import type { Query, Sql } from "../db/client.ts";

/** A place held while a request is under way. */
export interface RequestSlot {
  readonly slot: number;
  readonly holder: string;
}

export interface BudgetLimits {
  /** requests under way at the same time, over all processes */
  readonly concurrency: number;
  /** from the start of one request to the start of the next, over all processes; 0: none */
  readonly minIntervalMs: number;
}

/**
 * Nobody waits for the disk: what a crash of the server forgets of places and waiters comes free by itself. It holds for
 * the statement that selects it.
 */
const unhurried = (sql: Sql) => sql`set_config('synchronous_commit', 'off', true)`;

/** A waiter that asks no more is forgotten after this. */
const WAITER_SECONDS = 3;
/** So long the places of a process that died stay taken; one that lives renews its own. */
export const SLOT_LEASE_MS = 5_000;

/** The budget's one row, open from the beginning. */
export async function ensureBudget(sql: Sql): Promise<void> {
  await sql`
    insert into request_budget (id, paused_until, next_at) values (1, 'epoch', 'epoch') on conflict (id) do nothing`;
}

/** So many places, free from the beginning. */
export async function ensureSlots(sql: Sql, slots: number): Promise<void> {
  await sql`
    insert into request_slots (slot, holder, held_until)
    select slot, ${randomUUID()}, 'epoch' from generate_series(1, ${slots}) as slot
    on conflict (slot) do nothing`;
}

/** Which places a request may take. */
export interface Choice {
  /** the highest one */
  readonly most: number;
  /** the lowest of those that are free; else the highest, which leaves the lower ones to what may hang */
  readonly fromBelow: boolean;
}

/**
 * Takes a place for `SLOT_LEASE_MS`, unless none is free, all or this product are paused, the last request began too
 * short ago, or somebody more urgent waits. Those who ask at the same time do not wait for each other: each gets a place
 * of its own, while there are any.
 * @param urgency smaller is more urgent
 * @param productId null: the request is about no single product
 */
export async function takeSlot(
  sql: Sql,
  urgency: number,
  limits: BudgetLimits,
  productId: string | null,
  { most, fromBelow }: Choice = { most: limits.concurrency, fromBelow: false },
): Promise<RequestSlot | null> {
  const holder = randomUUID();
  const isSpaced = limits.minIntervalMs > 0;
  const [taken] = await sql<{ slot: number }[]>`
    with open as (
      select id from request_budget
      where id = 1 and paused_until <= clock_timestamp() and next_at <= clock_timestamp()
        and not exists (
          select from request_pauses p where p.product_id = ${productId} and p.paused_until > clock_timestamp())
      ${isSpaced ? sql`for update` : sql``}
    ),
    free as (
      select slot from request_slots
      where slot <= ${most} and held_until <= clock_timestamp()
        and exists (select from open)
        and not exists (
          select from request_waiters
          where urgency < ${urgency} and seen_at > clock_timestamp() - make_interval(secs => ${WAITER_SECONDS})
        )
      order by slot ${fromBelow ? sql`` : sql`desc`}
      limit 1
      for update skip locked
    ),
    taken as (
      update request_slots s
      set holder = ${holder}, held_until = clock_timestamp() + make_interval(secs => ${SLOT_LEASE_MS / 1000})
      from free where s.slot = free.slot
      returning s.slot
    )
    ${isSpaced ? spaceOut(sql, limits.minIntervalMs) : sql``}
    select slot, ${unhurried(sql)} from taken`;
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
    on conflict (waiter) do update set seen_at = excluded.seen_at returning ${unhurried(sql)}`;
}

export async function releaseSlot(sql: Sql, slot: RequestSlot): Promise<void> {
  await sql`
    update request_slots set held_until = 'epoch'
    where slot = ${slot.slot} and holder = ${slot.holder}
    returning ${unhurried(sql)}`;
}

/** Whether anybody who is as urgent waits, and all places are taken. */
export async function isPlaceWanted(sql: Sql, urgency: number, slots: number): Promise<boolean> {
  const [row] = await sql<{ wanted: boolean }[]>`
    select exists (
      select from request_waiters
      where urgency <= ${urgency} and seen_at > clock_timestamp() - make_interval(secs => ${WAITER_SECONDS})
    ) and not exists (
      select from request_slots where slot <= ${slots} and held_until <= clock_timestamp()
    ) as wanted`;
  return row?.wanted ?? false;
}

/** Somebody who waited has a place, or gave up. */
export async function forgetWaiter(sql: Sql, waiter: string): Promise<void> {
  await sql`delete from request_waiters where waiter = ${waiter} returning ${unhurried(sql)}`;
}

/** Keeps the places of those who still hold theirs. */
export async function renewSlots(sql: Sql, holders: readonly string[]): Promise<void> {
  await sql`
    update request_slots set held_until = clock_timestamp() + make_interval(secs => ${SLOT_LEASE_MS / 1000})
    where holder = any(${holders as string[]}::uuid[]) returning ${unhurried(sql)}`;
}

/**
 * Nobody asks for this product before so many milliseconds have passed. Where another product is paused already the
 * provider means all of them, and so it does where the request was about no single product: then nobody asks anything.
 */
export async function pauseRequests(sql: Sql, productId: string | null, pauseMs: number): Promise<void> {
  const until = sql`clock_timestamp() + make_interval(secs => ${pauseMs / 1000})`;
  if (productId !== null) {
    await sql`
      insert into request_pauses as p (product_id, paused_until) values (${productId}, ${until})
      on conflict (product_id) do update set paused_until = greatest(p.paused_until, excluded.paused_until)`;
  }
  const isGeneral =
    productId === null
      ? sql`true`
      : sql`exists (
          select from request_pauses where product_id <> ${productId} and paused_until > clock_timestamp())`;
  await sql`
    update request_budget set paused_until = greatest(paused_until, ${until}) where id = 1 and ${isGeneral}`;
}

/** So long nobody asks for this product, in milliseconds; 0: it is not paused. */
export async function readPauseMs(sql: Sql, productId: string): Promise<number> {
  const [row] = await sql<{ ms: number }[]>`
    select ceil(extract(epoch from paused_until - clock_timestamp()) * 1000)::integer as ms
    from request_pauses where product_id = ${productId} and paused_until > clock_timestamp()`;
  return row?.ms ?? 0;
}

/** Waiters that ask no more since an hour died while they waited; nobody lets them pass any more. */
export async function forgetDeadWaiters(sql: Query): Promise<void> {
  await sql`delete from request_waiters where seen_at < clock_timestamp() - interval '1 hour'`;
}
