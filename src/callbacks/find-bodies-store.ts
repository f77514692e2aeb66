/** Finds the stored bodies of callbacks: those of entries, and those of refused requests that name a bet. */

import type { Instant } from "../clock.ts";
import type { Query } from "../db/client.ts";
import type { TimeRange } from "../window.ts";

/** A stored body. It holds no session token. */
export interface FoundBody {
  readonly id: string;
  readonly callback: string;
  readonly productId: string | null;
  /** null: the field could not be read */
  readonly requestId: string | null;
  readonly statusCode: number;
  readonly body: string;
  readonly receivedAt: Instant;
}

/** The body's id within the entry_id of the built-in wallet; null: another program wrote the entry. */
export function bodyIdOf(entryId: string): string | null {
  const [, id] = /^c(\d{16})-\d{4}$/.exec(entryId) ?? [];
  return id === undefined ? null : String(Number(id));
}

/**
 * The bodies with these ids that are still stored, in the order of their ids.
 * @param mostBytes of all of them together
 * @returns null where they are larger
 */
export async function readBodies(
  sql: Query,
  ids: readonly string[],
  mostBytes: number,
): Promise<FoundBody[] | null> {
  if (ids.length === 0) return [];
  const known = ids.map(Number);
  const [row] = await sql<{ bytes: number }[]>`
    select coalesce(sum(octet_length(body)), 0) as bytes from callback_bodies where id = any(${known}::bigint[])`;
  if ((row?.bytes ?? 0) > mostBytes) return null;
  return await sql<FoundBody[]>`
    select ${columns(sql)} from callback_bodies where id = any(${known}::bigint[]) order by id`;
}

/** What one search reads, oldest first. */
export interface RefusedSearch {
  readonly productId: string;
  /** ids of bets or transactions, any of which the body must name */
  readonly refs: readonly string[];
  /** when the requests were received */
  readonly ranges: readonly TimeRange[];
  /** the most bodies to read, of any product */
  readonly most: number;
}

/**
 * The requests that were refused, and that name one of some ids.
 * @returns `isWhole`: every body of these times was read
 */
export async function findRefusedBodies(
  sql: Query,
  { productId, refs, ranges, most }: RefusedSearch,
): Promise<{ bodies: FoundBody[]; isWhole: boolean }> {
  if (refs.length === 0 || ranges.length === 0) return { bodies: [], isWhole: true };
  // An id stands in a JSON text as JSON writes it.
  const needles = refs.map((ref) => JSON.stringify(ref));
  const [row] = await sql<{ count: number; ids: number[] | null }[]>`
    with read as (
      select b.* from unnest(${ranges.map(({ from }) => from)}::timestamptz[], ${ranges.map(({ to }) => to)}::timestamptz[])
        as r (from_at, to_at)
      cross join lateral (
        select * from callback_bodies where received_at >= r.from_at and received_at < r.to_at
        order by received_at limit ${most}) b
      limit ${most}
    )
    select count(*) as count, array_agg(id order by id) filter (where product_id = ${productId} and status_code <> 0
      and exists (select from unnest(${needles}::text[]) needle where position(needle in body) > 0)) as ids
    from read`;
  const bodies = await sql<FoundBody[]>`
    select ${columns(sql)} from callback_bodies where id = any(${row?.ids ?? []}::bigint[]) order by id`;
  return { bodies, isWhole: (row?.count ?? 0) < most };
}

function columns(sql: Query) {
  return sql`id::text, callback, product_id as "productId", request_id as "requestId", status_code as "statusCode",
    body, received_at as "receivedAt"`;
}
