/**
 * Decides which product's window is fetched next, with one statement over all products and worker processes (decision 267). BullMQ's
 * order would not do: it knows neither which requests are under way nor which product another process served.
 */

import type { Instant } from "../clock.ts";
import type { Query, Sql } from "../db/client.ts";
import { LEASE_SECONDS, type LeasedWindow, leasedColumns } from "./leased-window-store.ts";

/** The kinds of windows that products take turns in. Backfills have their own turns (`run-backfills.ts`). */
export const LANES = ["live", "confirm", "resweep"] as const;
export type Lane = (typeof LANES)[number];

/** Adds turns for new products. Products that were never served come first. */
export async function ensureTurns(sql: Query, lane: Lane, products: readonly string[]): Promise<void> {
  await sql`
    insert into pull_turns (product_id, lanes, served_at)
    select product_id, ${lane}, 'epoch' from unnest(${products as string[]}::text[]) as product_id
    on conflict do nothing`;
}

/**
 * Whether a fetcher may serve the product of a turn `t`: it is neither stopped nor paused, and no other fetcher waits for its first
 * answer since a time-out.
 */
function mayServeSql(sql: Query, now: Instant) {
  return sql`not exists (
      select from pull_states s where s.product_id = t.product_id and s.stopped_until > ${now})
    and not exists (
      select from request_pauses p where p.product_id = t.product_id and p.paused_until > clock_timestamp())
    and not exists (
      -- A product without an answer since its last time-out uses one fetcher at a time.
      select from pull_states s join windows b using (product_id)
      where s.product_id = t.product_id and s.ms_per_hour is null and b.kind <> 'backfill'
        and b.lease_token is not null and b.lease_until > clock_timestamp())`;
}

/**
 * Whether a window `w` may be leased: it is unfinished and due, and not leased. While its product is in an outage, only planned live
 * windows (the probe) and backfills may be leased. Confirm fetches and resweeps would fail too, and their growing delays would outlast
 * the outage. Backfills continue: an operator requested them, and their attempts are counted.
 */
function mayBeLeasedSql(sql: Query, now: Instant) {
  return sql`w.status in ('planned', 'gap') and (w.next_attempt_at is null or w.next_attempt_at <= ${now})
    and (w.lease_until is null or w.lease_until < clock_timestamp())
    and (w.kind = 'backfill' or w.kind = 'live' and w.status = 'planned' or not exists (
      select from pull_states s where s.product_id = w.product_id and s.probe_at is not null))`;
}

/**
 * Whether a live window `w` ends before the head. Such windows come after newer ones, because a range that always fails must not delay
 * newer time. In every tenth turn of a product they come first: under load there is always newer time.
 */
function isOldSql(sql: Query) {
  return sql`w.to_at <= (select s.head from pull_states s where s.product_id = w.product_id)`;
}

/** The lanes whose windows come before those of a kind. */
const COMES_AFTER: Readonly<Record<Lane | "backfill", readonly Lane[]>> = {
  live: [],
  confirm: ["live"],
  resweep: ["live", "confirm"],
  backfill: ["live"],
};

/** Whether a window that is more urgent than `kind` waits for a fetcher, of any product. */
function moreUrgentWaitsSql(sql: Query, kind: Lane | "backfill", products: readonly string[], now: Instant) {
  return sql`exists (
    select from pull_turns t
    where t.lanes = any(${COMES_AFTER[kind] as Lane[]}::text[]) and t.product_id = any(${products as string[]}::text[])
      and ${mayServeSql(sql, now)}
      and exists (
        select from windows w where w.product_id = t.product_id and w.kind = t.lanes and ${mayBeLeasedSql(sql, now)}))`;
}

/** Whether a window that is more urgent than `kind` waits for a fetcher, by the rule of `leaseInTurn`. */
export async function doesMoreUrgentWait(
  sql: Query,
  kind: Lane | "backfill",
  products: readonly string[],
  now: Instant,
): Promise<boolean> {
  const [row] = await sql<{ waits: boolean }[]>`
    select ${moreUrgentWaitsSql(sql, kind, products, now)} as waits`;
  return row?.waits ?? false;
}

/**
 * Leases the next window of the product that was served least recently; null: no window is due, or the due windows must wait for more
 * urgent ones. Products that are being fetched already come last. Products that are stopped or paused are skipped.
 * @param products the products to lease from; `ensureTurns` must have added them
 * @param most the most windows of this kind to lease at once, over all processes
 * @param now the time by which windows must be due
 * @param isReserved true: a window is leased although more urgent ones wait; its requests wait for their share
 */
export async function leaseInTurn(
  sql: Sql,
  lane: Lane,
  products: readonly string[],
  most: number,
  now: Instant,
  isReserved = false,
): Promise<LeasedWindow | null> {
  const due = mayBeLeasedSql(sql, now);
  const isLeased = sql`b.kind = ${lane} and b.lease_token is not null and b.lease_until > clock_timestamp()`;
  const mayBegin = isReserved ? sql`true` : sql`not ${moreUrgentWaitsSql(sql, lane, products, now)}`;
  // Resweeps and confirm fetches in the order in which they were planned. In order of time, old ones that keep arriving would hold up
  // new ones.
  const order =
    lane === "live" ? sql`coalesce(${isOldSql(sql)}, false) <> (t.leases % 10 = 9), w.from_at` : sql`w.id`;
  const [row] = await sql<LeasedWindow[]>`
    with turn as materialized (
      select t.product_id, first.id
      from pull_turns t
      cross join lateral (
        select w.id from windows w
        where w.product_id = t.product_id and w.kind = ${lane} and ${due}
        order by ${order} limit 1
      ) first
      where t.lanes = ${lane} and t.product_id = any(${products as string[]}::text[])
        and ${mayServeSql(sql, now)} and ${mayBegin} and (select count(*) from windows b where ${isLeased}) < ${most}
      order by exists (
          select from windows b where b.product_id = t.product_id and ${isLeased}
        ), t.served_at, t.product_id
      limit 1
      for update of t skip locked
    ),
    served as (
      update pull_turns t set served_at = clock_timestamp(), leases = t.leases + 1 from turn
      where t.product_id = turn.product_id and t.lanes = ${lane}
    )
    update windows w
    set lease_token = gen_random_uuid(), lease_until = clock_timestamp() + make_interval(secs => ${LEASE_SECONDS})
    where w.id = (
      select w.id from windows w where w.id = (select id from turn) and ${due} for update skip locked)
    returning ${leasedColumns(sql)}`;
  return row ?? null;
}

/** Delays a window after an internal error, so it is not retried without a pause. */
export async function delayWindow(sql: Query, { id }: LeasedWindow, until: Instant): Promise<void> {
  await sql`
    update windows set next_attempt_at = ${until}
    where id = ${id} and lease_token is null and status in ('planned', 'gap')`;
}
