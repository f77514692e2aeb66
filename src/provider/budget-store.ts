/**
 * The request budget in PostgreSQL, which all worker processes share, with both queue backends. One statement acquires a slot
 * and one releases it; slots are rows, taken with `skip locked`. Considered: BullMQ's limits, which count per queue or per job,
 * and rate-limiter-flexible, which knows neither slots nor urgency.
 */

import { randomUUID } from "node:crypto";
import { REQUEST_URGENCIES } from "../bet.ts";
import type { Query, Sql } from "../db/client.ts";

/** A slot, which a request uses while it is under way. */
export interface RequestSlot {
  readonly slot: number;
  readonly holder: string;
  /** taken in the turn of the request's kind */
  readonly isTurn: boolean;
}

export interface BudgetLimits {
  /** requests under way at the same time, over all processes */
  readonly concurrency: number;
  /** from the start of one request to the start of the next, over all processes; 0: none */
  readonly minIntervalMs: number;
}

/**
 * A statement that selects this commits without waiting for the disk. A crash of the server can lose slots and waiters, which would
 * expire anyway.
 */
const withoutDisk = (sql: Sql) => sql`set_config('synchronous_commit', 'off', true)`;

/** A waiter that has not polled for this long no longer counts. */
const WAITER_SECONDS = 3;
/** How long a slot is leased. A living process renews its slots; those of a dead process become free. */
export const SLOT_LEASE_MS = 5_000;

/** Creates the one row of the budget, unless it exists. The budget is not paused. */
export async function ensureBudget(sql: Sql): Promise<void> {
  await sql`
    insert into request_budget (id, paused_until, next_at) values (1, 'epoch', 'epoch') on conflict (id) do nothing`;
}

/** Creates the slots that do not exist. New slots are free. */
export async function ensureSlots(sql: Sql, slots: number): Promise<void> {
  await sql`
    insert into request_slots (slot, holder, held_until)
    select slot, ${randomUUID()}, 'epoch' from generate_series(1, ${slots}) as slot
    on conflict (slot) do nothing`;
}

/** Which slots a request may take, in what order, and when. */
export interface SlotChoice {
  /** the highest number of a slot that the request may take */
  readonly most: number;
  /**
   * true: the request takes the free slot with the lowest number. false: it takes the highest, and leaves the lower slots to requests
   * that may hang
   */
  readonly fromBelow: boolean;
  /** the request takes a slot only in the turn of its kind (decision 267) */
  readonly onlyInTurn?: boolean;
  /** the name under which `storeWaiter` stored the request; absent: it has not waited yet */
  readonly waiter?: string;
}

/** After nine requests of other kinds, the next slot belongs to a kind that waits: a tenth of all requests (decision 267). */
export const OTHERS_IN_BETWEEN = 9;

/** The kinds of requests that have a share of their own, and their smallest and largest urgency. */
const VERIFY = REQUEST_URGENCIES.indexOf("verify");
const REST = REQUEST_URGENCIES.indexOf("confirm");
const isRest = (urgency: number) => urgency >= REST;

/**
 * Acquires a slot for `SLOT_LEASE_MS`. Simultaneous callers do not wait for each other: each gets a slot of its own.
 * @param urgency smaller is more urgent
 * @param productId null: the request is about no single product
 * @returns null if no slot is free, everything or this product is paused, the last request began too recently, or the
 * next slot belongs to another request that waits
 */
export async function takeSlot(
  sql: Sql,
  urgency: number,
  limits: BudgetLimits,
  productId: string | null,
  choice: SlotChoice = { most: limits.concurrency, fromBelow: false },
): Promise<RequestSlot | null> {
  const { most, fromBelow, onlyInTurn = false, waiter = null } = choice;
  const holder = randomUUID();
  const isSpaced = limits.minIntervalMs > 0;
  const [taken] = await sql<{ slot: number; isTurn: boolean }[]>`
    with open as (
      select id from request_budget
      where id = 1 and paused_until <= clock_timestamp() and next_at <= clock_timestamp()
        and not exists (
          select from request_pauses p where p.product_id = ${productId} and p.paused_until > clock_timestamp())
      ${isSpaced ? sql`for update` : sql``}
    ),
    owed as materialized (
      select coalesce(sum(owed_verify), 0)::int as verify, coalesce(sum(owed_rest), 0)::int as rest from request_slots
    ),
    other as materialized (
      select urgency, since from request_waiters
      where seen_at > clock_timestamp() - make_interval(secs => ${WAITER_SECONDS}) and waiter is distinct from ${waiter}
    ),
    turn as materialized (select ${isTurnSql(sql, urgency, waiter)} as is_turn),
    free as (
      select slot from request_slots
      where slot <= ${most} and held_until <= clock_timestamp() and exists (select from open)
        and ((select is_turn from turn) ${onlyInTurn ? sql`` : sql`or not ${isOthersSql(sql, urgency)}`})
      order by slot ${fromBelow ? sql`` : sql`desc`}
      limit 1
      for update skip locked
    ),
    taken as (
      update request_slots s
      set holder = ${holder}, held_until = clock_timestamp() + make_interval(secs => ${SLOT_LEASE_MS / 1000}),
        owed_verify = owed_verify - case when is_turn and ${urgency === VERIFY} then ${OTHERS_IN_BETWEEN}::int else 0 end,
        owed_rest = owed_rest - case when is_turn and ${isRest(urgency)} then ${OTHERS_IN_BETWEEN}::int else 0 end
      from free, turn where s.slot = free.slot
      returning s.slot
    )
    ${isSpaced ? spaceOut(sql, limits.minIntervalMs) : sql``}
    select slot, (select is_turn from turn) as "isTurn", ${withoutDisk(sql)} from taken`;
  return taken === undefined ? null : { slot: taken.slot, holder, isTurn: taken.isTurn };
}

/** Whether the next slot belongs to a request's kind. Among confirm fetches, resweeps and backfills it belongs to the oldest waiter. */
function isTurnSql(sql: Sql, urgency: number, waiter: string | null) {
  if (urgency === VERIFY) return sql`(select verify >= ${OTHERS_IN_BETWEEN} from owed)`;
  if (!isRest(urgency)) return sql`false`;
  return sql`(select rest >= ${OTHERS_IN_BETWEEN} from owed) and not exists (
    select from other where urgency >= ${REST}
      and since < coalesce((select since from request_waiters where waiter = ${waiter}), clock_timestamp()))`;
}

/** Whether a more urgent request waits, or one whose turn it is. */
function isOthersSql(sql: Sql, urgency: number) {
  return sql`exists (
    select from other, owed
    where other.urgency < ${urgency}
      or other.urgency = ${VERIFY} and owed.verify >= ${OTHERS_IN_BETWEEN}
      or other.urgency >= ${REST} and owed.rest >= ${OTHERS_IN_BETWEEN})`;
}

function spaceOut(sql: Sql, minIntervalMs: number) {
  return sql`, spaced as (
    update request_budget set next_at = clock_timestamp() + make_interval(secs => ${minIntervalMs / 1000})
    where id = 1 and exists (select from taken)
  )`;
}

/** Stores that a request waits. While it keeps polling, less urgent requests get only the slots of their share. */
export async function storeWaiter(sql: Sql, waiter: string, urgency: number): Promise<void> {
  await sql`
    insert into request_waiters (waiter, urgency, seen_at) values (${waiter}, ${urgency}, clock_timestamp())
    on conflict (waiter) do update set seen_at = excluded.seen_at returning ${withoutDisk(sql)}`;
}

/** The most that a kind can be owed for each slot. After a long time without such requests it limits their burst. */
const MOST_OWED = 2 * OTHERS_IN_BETWEEN;

/**
 * Frees a slot, and counts the requests that it served towards the shares of other kinds (decision 267).
 * @param served the number of requests, all of this urgency
 */
export async function releaseSlot(
  sql: Sql,
  { slot, holder, isTurn }: RequestSlot,
  urgency: number,
  served: number,
): Promise<void> {
  const owes = (isOwn: boolean) => (isTurn && isOwn ? 0 : served);
  await sql`
    with owed as (
      select ${MOST_OWED}::int * count(*)::int as most, sum(owed_verify)::int as verify, sum(owed_rest)::int as rest
      from request_slots
    )
    update request_slots s
    set held_until = 'epoch',
      owed_verify = owed_verify + least(${owes(urgency === VERIFY)}, greatest(owed.most - owed.verify, 0)),
      owed_rest = owed_rest + least(${owes(isRest(urgency))}, greatest(owed.most - owed.rest, 0))
    from owed
    where s.slot = ${slot} and s.holder = ${holder}
    returning ${withoutDisk(sql)}`;
}

/** Whether all slots are taken, and a request of this urgency, or a more urgent one, waits. */
export async function isSlotWanted(sql: Sql, urgency: number, slots: number): Promise<boolean> {
  const [row] = await sql<{ wanted: boolean }[]>`
    select exists (
      select from request_waiters
      where urgency <= ${urgency} and seen_at > clock_timestamp() - make_interval(secs => ${WAITER_SECONDS})
    ) and not exists (
      select from request_slots where slot <= ${slots} and held_until <= clock_timestamp()
    ) as wanted`;
  return row?.wanted ?? false;
}

/** Removes the waiter of a request that has acquired a slot, or has given up. */
export async function removeWaiter(sql: Sql, waiter: string): Promise<void> {
  await sql`delete from request_waiters where waiter = ${waiter} returning ${withoutDisk(sql)}`;
}

/**
 * Renews the leases of these holders' slots. A released slot stays free: a renewal that reaches PostgreSQL after the release would
 * otherwise hold an unused slot.
 */
export async function renewSlots(sql: Sql, holders: readonly string[]): Promise<void> {
  await sql`
    update request_slots set held_until = clock_timestamp() + make_interval(secs => ${SLOT_LEASE_MS / 1000})
    where holder = any(${holders as string[]}::uuid[]) and held_until > 'epoch' returning ${withoutDisk(sql)}`;
}

/**
 * Pauses the requests about a product, after a 429. If another product is paused already, or the refused request was about no single
 * product, the provider limits the whole account, and all requests pause. Pausing all of them at once would let one product that is
 * always refused stop the others.
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

/** The remaining pause of a product, in milliseconds; 0: none. */
export async function readPauseMs(sql: Sql, productId: string): Promise<number> {
  const [row] = await sql<{ ms: number }[]>`
    select ceil(extract(epoch from paused_until - clock_timestamp()) * 1000)::integer as ms
    from request_pauses where product_id = ${productId} and paused_until > clock_timestamp()`;
  return row?.ms ?? 0;
}

/** Removes waiters that have not polled for an hour: their processes have ended. */
export async function removeDeadWaiters(sql: Query): Promise<void> {
  await sql`delete from request_waiters where seen_at < clock_timestamp() - interval '1 hour'`;
}
