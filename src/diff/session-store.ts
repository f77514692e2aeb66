/** Where in time a player's sessions were touched, and the records of a stretch of time. */

import type { StoredRecord } from "../bet.ts";
import type { Instant } from "../clock.ts";
import type { Query } from "../db/client.ts";
import type { TimeRange } from "../window.ts";
import type { Reference } from "./link-store.ts";
import { type RecordRow, recordColumns, toRecord } from "./store.ts";

/**
 * Of each player the times that the marks speak of: of entries, of records, and of the versions they replaced.
 * @param within a time beyond it is taken to be its end: a record may be dated in year 1 or 9999
 */
export async function readTouchedTimes(
  tx: Query,
  productId: string,
  marks: readonly Reference[],
  within: TimeRange,
): Promise<Map<string, Instant[]>> {
  const users = marks.map((mark) => mark.username);
  const refs = marks.map((mark) => mark.ref);
  const rows = await tx<{ username: string; at: Instant }[]>`
    with marks as (select distinct * from unnest(${users}::text[], ${refs}::text[]) as k (username, ref))
    select e.username, e.occurred_at as at from marks k
    join callback_entries e on e.product_id = ${productId} and e.username = k.username and e.txn_id = k.ref
      and e.callback = 'adjustBalance'
    union
    select r.username, greatest(least(r.accounting_date, ${within.to}), ${within.from}) from marks k
    join bet_records r on r.product_id = ${productId} and r.username = k.username
      and (r.bet_id = k.ref or r.round_id = k.ref)
    union
    select v.username, greatest(least(v.accounting_date, ${within.to}), ${within.from}) from marks k
    join bet_record_versions v on v.product_id = ${productId} and v.username = k.username
      and (v.bet_id = k.ref or v.round_id = k.ref)`;
  const byPlayer = Map.groupBy(rows, ({ username }) => username);
  return new Map([...byPlayer].map(([username, own]) => [username, own.map(({ at }) => at)]));
}

/**
 * The records of some players, each dated in a time of the player's own, both ends included.
 * @param most so many at the most
 */
export async function readRecordsWithin(
  tx: Query,
  productId: string,
  spans: ReadonlyMap<string, TimeRange>,
  most: number,
): Promise<StoredRecord[]> {
  const times = [...spans.values()];
  const rows = await tx<RecordRow[]>`
    select ${recordColumns(tx)}
    from unnest(${[...spans.keys()]}::text[], ${times.map(({ from }) => from)}::timestamptz[],
      ${times.map(({ to }) => to)}::timestamptz[]) as k (username, from_at, to_at)
    join bet_records r on r.product_id = ${productId} and r.username = k.username
      and r.accounting_date between k.from_at and k.to_at
    limit ${most}`;
  return rows.map(toRecord);
}

/** The betIds of a player's records that are dated in a range, both ends included. */
export async function readBetIds(
  tx: Query,
  productId: string,
  username: string,
  { from, to }: TimeRange,
): Promise<string[]> {
  const rows = await tx<{ betId: string }[]>`
    select distinct bet_id as "betId" from bet_records
    where product_id = ${productId} and username = ${username} and accounting_date between ${from} and ${to}`;
  return rows.map(({ betId }) => betId);
}
