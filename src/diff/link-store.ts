/**
 * Loads what a comparison needs beside a player's own records and entries: bets of other players with the same id,
 * all items of a request, and rejected records.
 */

import type { CallbackEntry } from "../callback.ts";
import type { Query } from "../db/client.ts";
import { requestIdSql } from "../db/statement.ts";
import type { DiffMark } from "./mark-store.ts";

/** A player's bet or record, named by one of its ids. */
export interface Reference {
  readonly username: string;
  readonly ref: string;
}

/** The most rows with the same id to read. An id that many players share identifies none of them. */
const MOST_NAMESAKES = 100;

/** Records of other players that have the id of one of these bets. */
export async function readRecordsOfOthers(
  tx: Query,
  productId: string,
  bets: readonly Reference[],
): Promise<DiffMark[]> {
  if (bets.length === 0) return [];
  return await tx<DiffMark[]>`
    select found.username, null as "roundId", found.bet_id as "betRef"
    from unnest(${bets.map((one) => one.username)}::text[], ${bets.map((one) => one.ref)}::text[]) as k (username, ref)
    cross join lateral (
      (select r.username, r.bet_id from bet_records r
        where r.product_id = ${productId} and r.bet_id = k.ref and r.username <> k.username limit ${MOST_NAMESAKES})
      union
      (select r.username, r.bet_id from bet_records r
        where r.product_id = ${productId} and r.id = k.ref and r.username <> k.username limit ${MOST_NAMESAKES})
    ) found`;
}

/** Ledger bets of other players that have an id of one of these records. */
export async function readBetsOfOthers(
  tx: Query,
  productId: string,
  records: readonly Reference[],
): Promise<DiffMark[]> {
  if (records.length === 0) return [];
  return await tx<DiffMark[]>`
    select distinct found.username, null as "roundId", found.txn_id as "betRef"
    from unnest(${records.map((one) => one.username)}::text[], ${records.map((one) => one.ref)}::text[])
      as k (username, ref)
    cross join lateral (
      select e.username, e.txn_id from callback_entries e
      where e.product_id = ${productId} and e.txn_id = k.ref and e.username <> k.username
        and e.callback <> 'adjustBalance'
      limit ${MOST_NAMESAKES}
    ) found`;
}

/** Parts of these ledger bets under the player's name in another case. */
export async function readBetsOfNamesakes(
  tx: Query,
  productId: string,
  bets: readonly Reference[],
): Promise<DiffMark[]> {
  if (bets.length === 0) return [];
  const found = await readBetsOfOthers(tx, productId, bets);
  const names = new Set(bets.map(({ username, ref }) => JSON.stringify([username.toLowerCase(), ref])));
  return found.filter(({ username, betRef }) => names.has(JSON.stringify([username.toLowerCase(), betRef])));
}

/**
 * Bets with an open `username-differs` mismatch against one of these records: the records have changed, so compare
 * the bets again.
 */
export async function readMisnamedBy(
  tx: Query,
  productId: string,
  records: readonly Reference[],
): Promise<DiffMark[]> {
  if (records.length === 0) return [];
  return await tx<DiffMark[]>`
    select m.username, null as "roundId", m.transaction_id as "betRef"
    from mismatches m
    where m.product_id = ${productId} and m.kind = 'username-differs' and m.status in ('open', 'acknowledged')
      and (m.provider ->> 'username', m.bet_id) in (
        select * from unnest(${records.map((one) => one.username)}::text[], ${records.map((one) => one.ref)}::text[]))`;
}

/**
 * The bets of all items of some requests, as [username, txnId]. Items of one request share its time, player, callback
 * and id.
 */
export async function readBetsOfRequests(
  tx: Query,
  productId: string,
  entries: readonly (Pick<CallbackEntry, "username" | "requestId" | "occurredAt"> & { callback: string })[],
): Promise<[string, string][]> {
  if (entries.length === 0) return [];
  const rows = await tx<{ username: string; txnId: string }[]>`
    select distinct e.username, e.txn_id as "txnId"
    from unnest(${entries.map((one) => one.username)}::text[], ${entries.map((one) => one.callback)}::text[],
      ${entries.map((one) => one.requestId)}::text[], ${entries.map((one) => one.occurredAt)}::timestamptz[])
      as k (username, callback, request_id, occurred_at)
    join callback_entries e on e.occurred_at >= k.occurred_at
      and e.occurred_at < k.occurred_at + interval '1 millisecond'
      and e.product_id = ${productId} and e.username = k.username and e.callback = k.callback
      and ${tx.unsafe(requestIdSql("e.request_id"))} = k.request_id`;
  return rows.map(({ username, txnId }) => [username, txnId]);
}

/** The username in a rejected record's JSON text. The index of `rejected_records` uses the same expression. */
const NAMED_PLAYER = String.raw`substring(r.raw from '"username"\s*:\s*"((?:[^"\\]|\\.)*)"')`;

/** The bets among these that a rejected record names. Such a bet is not missing at the provider. */
export async function readRejected(
  tx: Query,
  productId: string,
  bets: readonly Reference[],
): Promise<Reference[]> {
  if (bets.length === 0) return [];
  return await tx<Reference[]>`
    select k.username, k.ref
    from unnest(${bets.map((one) => one.username)}::text[], ${bets.map((one) => one.ref)}::text[]) as k (username, ref)
    where exists (
      select from rejected_records r
      where r.product_id = ${productId}
        and ${tx.unsafe(NAMED_PLAYER)} = substring(to_json(k.username)::text from '^"(.*)"$')
        and (strpos(r.raw, to_json(k.ref)::text) > 0 or k.ref ~ '^[0-9]+$' and r.raw ~ (':' || k.ref || '[,}]')))`;
}
