/**
 * The times at which the sessions of a player were touched, the records of a range of time, and which ids and rounds
 * belong to bets.
 */

import type { StoredRecord } from "../bet.ts";
import type { Instant } from "../clock.ts";
import type { Query } from "../db/client.ts";
import type { TimeRange } from "../window.ts";
import type { Reference } from "./link-store.ts";
import { type RecordRow, recordColumns, toRecord } from "./record-store.ts";
import { OF_BETS_ALONE, REWARD_OR_TIP } from "./session-bets.ts";

/**
 * The times of each player's marked entries and records, and of the versions that they replaced.
 * @param within dates of records are clamped to this range, because a record may be dated in year 1 or 9999
 */
export async function readTouchedTimes(
  tx: Query,
  productId: string,
  marks: readonly Reference[],
  within: TimeRange,
): Promise<Map<string, Instant[]>> {
  const users = marks.map((mark) => mark.username);
  const refs = marks.map((mark) => mark.ref);
  // "offset 0" makes PostgreSQL search each id by its index. One condition for both ids would read all of the
  // player's records.
  const recordsOf = (table: ReturnType<Query>, id: ReturnType<Query>) => tx`
    (select r.accounting_date from ${table} r
      where r.product_id = ${productId} and r.username = k.username and r.${id} = k.ref offset 0)`;
  const rows = await tx<{ username: string; at: Instant }[]>`
    with marks as (select distinct * from unnest(${users}::text[], ${refs}::text[]) as k (username, ref))
    select k.username, found.occurred_at as at from marks k
    cross join lateral (select e.occurred_at from callback_entries e
      where e.product_id = ${productId} and e.username = k.username and e.txn_id = k.ref
        and e.callback <> all(${OF_BETS_ALONE as string[]}) offset 0) found
    union
    select k.username, found.occurred_at from marks k
    cross join lateral (select (v.content ->> 'occurred_at')::timestamptz as occurred_at from entry_versions v
      where v.product_id = ${productId} and v.txn_id = k.ref and v.username = k.username
        and v.content ->> 'callback' <> all(${OF_BETS_ALONE as string[]}) offset 0) found
    union
    select k.username, greatest(least(found.accounting_date, ${within.to}), ${within.from}) from marks k
    cross join lateral (
      ${recordsOf(tx`bet_records`, tx`bet_id`)}
      union all
      ${recordsOf(tx`bet_records`, tx`round_id`)}
      union all
      ${recordsOf(tx`bet_record_versions`, tx`bet_id`)}
      union all
      ${recordsOf(tx`bet_record_versions`, tx`round_id`)}
    ) found`;
  const byPlayer = Map.groupBy(rows, ({ username }) => username);
  return new Map([...byPlayer].map(([username, own]) => [username, own.map(({ at }) => at)]));
}

/**
 * The records of some players, each player with a range of accounting dates, both ends included.
 * @param most the most rows to read
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

/** Those of these ids that name a bet of the player, which is no reward or tip alone (`isRewardOrTip`). */
export async function findBetIds(
  tx: Query,
  productId: string,
  references: readonly Reference[],
): Promise<Reference[]> {
  const has = (callbacks: readonly string[]) => tx`exists (select from (select from callback_entries e
      where e.product_id = ${productId} and e.txn_id = k.ref and e.username = k.username
        and e.callback = any(${callbacks as string[]}) offset 0) found)`;
  return await tx<Reference[]>`
    select k.username, k.ref
    from (select distinct * from unnest(${references.map((one) => one.username)}::text[],
      ${references.map((one) => one.ref)}::text[]) as k (username, ref)) k
    where ${has(OF_BETS_ALONE)} or (${has(["cancelBets", "voidSettled"])} and not ${has(REWARD_OR_TIP)})`;
}

/** Those of these ids that an adjustBalance entry of the player has, or had before it was changed or deleted. */
export async function findAdjusted(
  tx: Query,
  productId: string,
  references: readonly Reference[],
): Promise<Reference[]> {
  return await tx<Reference[]>`
    select k.username, k.ref
    from (select distinct * from unnest(${references.map((one) => one.username)}::text[],
      ${references.map((one) => one.ref)}::text[]) as k (username, ref)) k
    where exists (select from (select from callback_entries e
        where e.product_id = ${productId} and e.txn_id = k.ref and e.username = k.username
          and e.callback = 'adjustBalance' offset 0) found)
      or exists (select from (select from entry_versions v
        where v.product_id = ${productId} and v.txn_id = k.ref and v.username = k.username
          and v.content ->> 'callback' = 'adjustBalance' offset 0) found)`;
}

/** Those of these rounds in which the player has a bet that is no reward or tip alone. */
export async function findRoundsOfBets(
  tx: Query,
  productId: string,
  rounds: readonly Reference[],
): Promise<Reference[]> {
  return await tx<Reference[]>`
    select k.username, k.ref
    from (select distinct * from unnest(${rounds.map((one) => one.username)}::text[],
      ${rounds.map((one) => one.ref)}::text[]) as k (username, ref)) k
    where exists (select from (select from callback_entries e
      where e.product_id = ${productId} and e.username = k.username and e.round_id = k.ref
        and e.callback = any(${OF_BETS_ALONE as string[]}) limit 1 offset 0) found)`;
}

/**
 * The beginnings of the sessions of some players that have a mismatch, also a decided one: it explains its
 * difference in the statement until a compared value changes.
 */
export async function readDifferingSessions(
  tx: Query,
  productId: string,
  usernames: readonly string[],
): Promise<{ readonly username: string; readonly at: Instant }[]> {
  return await tx<{ username: string; at: Instant }[]>`
    select username, occurred_at as at from mismatches
    where product_id = ${productId} and username = any(${usernames as string[]}) and subject like 'session:%'
      and (status in ('open', 'acknowledged') or (ceased_at is null and resolved_by <> 'recon'))`;
}
