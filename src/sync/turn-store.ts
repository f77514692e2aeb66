/** Decides which product's window is fetched next, over all products and worker processes (decision 112). */

import type { Instant } from "../clock.ts";
import type { Query, Sql } from "../db/client.ts";
import { LEASE_SECONDS, type LeasedWindow, leasedColumns } from "./leased-window-store.ts";
import type { WindowKind } from "./window-store.ts";

/** Fetchers of live windows and fetchers of all other windows have separate turns. */
export type FetcherGroup = "live" | "rest";

/** Adds the turns of new products. Products that were never served come first. */
export async function ensureTurns(
  sql: Query,
  group: FetcherGroup,
  products: readonly string[],
): Promise<void> {
  await sql`
    insert into pull_turns (product_id, lanes, served_at)
    select product_id, ${group}, 'epoch' from unnest(${products as string[]}::text[]) as product_id
    on conflict do nothing`;
}

/**
 * Whether a fetcher may begin with the product of a turn `t`: it is neither stopped nor paused, and no other fetcher
 * waits for its first answer since a time-out.
 */
function awakeSql(sql: Query, now: Instant) {
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
 * Whether a window `w` may be leased: it is unfinished and due, and nobody works on it. While its product is in an
 * outage, only planned live windows (the probe) and backfills may be leased (decision 119).
 */
function mayBeLeasedSql(sql: Query, now: Instant) {
  return sql`w.status in ('planned', 'gap') and (w.next_attempt_at is null or w.next_attempt_at <= ${now})
    and (w.lease_until is null or w.lease_until < clock_timestamp())
    and (w.kind = 'backfill' or w.kind = 'live' and w.status = 'planned' or not exists (
      select from pull_states s where s.product_id = w.product_id and s.probe_at is not null))`;
}

/**
 * Whether a live window `w` ends before the head. Such windows come after newer ones, so that a range which always
 * fails delays no newer time.
 */
function isOldSql(sql: Query) {
  return sql`w.kind = 'live' and w.to_at <= (select s.head from pull_states s where s.product_id = w.product_id)`;
}

/** Whether a live window of any product waits for a fetcher. No other window begins meanwhile (decision 112). */
function liveWaitsSql(sql: Query, products: readonly string[], now: Instant) {
  return sql`exists (
    select from pull_turns t
    where t.lanes = 'live' and t.product_id = any(${products as string[]}::text[]) and ${awakeSql(sql, now)}
      and exists (
        select from windows w where w.product_id = t.product_id and w.kind = 'live' and ${mayBeLeasedSql(sql, now)}))`;
}

/** Whether a live window waits for a fetcher, by the rule of `leaseInTurn`. */
export async function doesLiveWait(sql: Query, products: readonly string[], now: Instant): Promise<boolean> {
  const [row] = await sql<{ waits: boolean }[]>`select ${liveWaitsSql(sql, products, now)} as waits`;
  return row?.waits ?? false;
}

/**
 * Leases the most urgent window of the product that was served least recently; null: no window is due, or the windows
 * must wait for a live one. Among windows of one urgency, products that are being fetched already come last. Products
 * that are stopped or paused are skipped.
 * @param products the products to lease from; `ensureTurns` must have added them
 * @param kinds the most urgent first
 * @param most the most windows of these kinds to lease at once, over all processes
 * @param now the time by which windows must be due
 */
export async function leaseInTurn(
  sql: Sql,
  group: FetcherGroup,
  products: readonly string[],
  kinds: readonly WindowKind[],
  most: number,
  now: Instant,
): Promise<LeasedWindow | null> {
  const due = mayBeLeasedSql(sql, now);
  const isLeased = sql`b.kind = any(${kinds as WindowKind[]}::text[])
    and b.lease_token is not null and b.lease_until > clock_timestamp()`;
  const mayBegin = group === "live" ? sql`true` : sql`not ${liveWaitsSql(sql, products, now)}`;
  const [row] = await sql<LeasedWindow[]>`
    with turn as materialized (
      select t.product_id, first.id
      from pull_turns t
      cross join lateral (
        select w.id, k.urgency
        from unnest(${kinds as WindowKind[]}::text[]) with ordinality as k (kind, urgency)
        cross join lateral (
          select id from windows w
          where w.product_id = t.product_id and w.kind = k.kind and ${due}
          order by ${isOldSql(sql)}, w.from_at limit 1
        ) w
        order by k.urgency limit 1
      ) first
      where t.lanes = ${group} and t.product_id = any(${products as string[]}::text[])
        and ${awakeSql(sql, now)} and ${mayBegin} and (select count(*) from windows b where ${isLeased}) < ${most}
      order by first.urgency, exists (
          select from windows b where b.product_id = t.product_id and ${isLeased}
        ), t.served_at, t.product_id
      limit 1
      for update of t skip locked
    ),
    served as (
      update pull_turns t set served_at = clock_timestamp() from turn
      where t.product_id = turn.product_id and t.lanes = ${group}
    )
    update windows w
    set lease_token = gen_random_uuid(), lease_until = clock_timestamp() + make_interval(secs => ${LEASE_SECONDS})
    where w.id = (
      select w.id from windows w where w.id = (select id from turn) and ${due} for update skip locked)
    returning ${leasedColumns(sql)}`;
  return row ?? null;
}

/** Postpones a window that a fault of this program ended, so that it is not tried without pause. */
export async function restWindow(sql: Query, { id }: LeasedWindow, until: Instant): Promise<void> {
  await sql`
    update windows set next_attempt_at = ${until}
    where id = ${id} and lease_token is null and status in ('planned', 'gap')`;
}
