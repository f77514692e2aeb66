/** Whose window is fetched next, over all products and worker processes, in PostgreSQL. */

import type { Instant } from "../clock.ts";
import type { Query, Sql } from "../db/client.ts";
import { LEASE_SECONDS, type LeasedWindow, leasedColumns } from "./leased-window-store.ts";
import type { WindowKind } from "./window-store.ts";

/** Those who fetch live windows, and those who fetch what can wait, each take turns of their own. */
export type FetcherGroup = "live" | "rest";

/** Products that were never served come first. */
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

/** A product of which anything may be asked. */
function awakeSql(sql: Query, now: Instant) {
  return sql`not exists (
      select from pull_states s where s.product_id = t.product_id and s.stopped_until > ${now})
    and not exists (
      select from request_pauses p where p.product_id = t.product_id and p.paused_until > clock_timestamp())
    and not exists (
      -- It answered nothing since its last time-out: one place is enough to wait in.
      select from pull_states s join windows b using (product_id)
      where s.product_id = t.product_id and s.ms_per_hour is null and b.kind <> 'backfill'
        and b.lease_token is not null and b.lease_until > clock_timestamp())`;
}

/**
 * Whether a window `w` may be leased: it is unfinished, due, and nobody works on it. While the provider does not answer for
 * its product, that is the one that tries whether it does again; backfills go on, because a person asked for them.
 */
function mayBeLeasedSql(sql: Query, now: Instant) {
  return sql`w.status in ('planned', 'gap') and (w.next_attempt_at is null or w.next_attempt_at <= ${now})
    and (w.lease_until is null or w.lease_until < clock_timestamp())
    and (w.kind = 'backfill' or w.kind = 'live' and w.status = 'planned' or not exists (
      select from pull_states s where s.product_id = w.product_id and s.probe_at is not null))`;
}

/**
 * Whether a live window `w` lies behind the head: it comes after those that do not, so that a range that cannot be had
 * keeps nothing newer waiting.
 */
function isOldSql(sql: Query) {
  return sql`w.kind = 'live' and w.to_at <= (select s.head from pull_states s where s.product_id = w.product_id)`;
}

/** Whether some product's live window waits for a fetcher: nothing less urgent is begun meanwhile. */
function liveWaitsSql(sql: Query, products: readonly string[], now: Instant) {
  return sql`exists (
    select from pull_turns t
    where t.lanes = 'live' and t.product_id = any(${products as string[]}::text[]) and ${awakeSql(sql, now)}
      and exists (
        select from windows w where w.product_id = t.product_id and w.kind = 'live' and ${mayBeLeasedSql(sql, now)}))`;
}

/** As `leaseInTurn` sees it. */
export async function doesLiveWait(sql: Query, products: readonly string[], now: Instant): Promise<boolean> {
  const [row] = await sql<{ waits: boolean }[]>`select ${liveWaitsSql(sql, products, now)} as waits`;
  return row?.waits ?? false;
}

/**
 * Takes the most urgent window of the product that was served least recently; null: nothing is due of any, or what is
 * not live has to wait because some live window does. A product that somebody fetches for already comes after all others
 * with windows of that urgency, and not at all while it answers nothing; one that is stopped or paused has none.
 * @param products whose windows may be taken; `ensureTurns` knows them
 * @param kinds in the order of their urgency
 * @param most no more windows of these kinds are leased at once, over all processes
 * @param now windows that are due by then
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

/** Lets a window rest that a fault of our own ended, so that it is not tried again and again. */
export async function restWindow(sql: Query, { id }: LeasedWindow, until: Instant): Promise<void> {
  await sql`
    update windows set next_attempt_at = ${until}
    where id = ${id} and lease_token is null and status in ('planned', 'gap')`;
}
