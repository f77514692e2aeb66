/**
 * Finds bets, players, rounds and requests by an id. Every search has a limit. It uses the indexes that exist,
 * because each further index would slow every write of records and entries.
 */

import { CALLBACKS } from "../callback.ts";
import type { Instant } from "../clock.ts";
import type { Query } from "../db/client.ts";
import type { MismatchKind, MismatchStatus } from "../mismatch.ts";

/** A bet that one of the sides has. */
export interface FoundKey {
  readonly productId: string;
  readonly username: string;
  readonly roundId: string | null;
  /** the betId or id of a record, or the txn id of an entry */
  readonly ref: string;
}

/** The bets with this id on either side. */
export async function findBets(
  sql: Query,
  products: readonly string[],
  ref: string,
  most: number,
): Promise<FoundKey[]> {
  const own = sql`product_id = any(${products as string[]}::text[])`;
  return await sql<FoundKey[]>`
    select distinct product_id as "productId", username, round_id as "roundId", ref from (
      (select product_id, username, round_id, bet_id as ref from bet_records where ${own} and bet_id = ${ref} limit ${most})
      union all
      (select product_id, username, round_id, id from bet_records where ${own} and id = ${ref} limit ${most})
      union all
      (select product_id, username, round_id, txn_id from callback_entries where ${own} and txn_id = ${ref} limit ${most})
    ) found
    order by 1, 2, 3, 4 limit ${most}`;
}

/** The bets of a player's round on either side. */
export async function findBetsOfRound(
  sql: Query,
  products: readonly string[],
  { username, roundId }: { readonly username: string; readonly roundId: string },
  most: number,
): Promise<FoundKey[]> {
  const own = sql`product_id = any(${products as string[]}::text[]) and username = ${username} and round_id = ${roundId}`;
  return await sql<FoundKey[]>`
    select distinct product_id as "productId", username, round_id as "roundId", ref from (
      (select product_id, username, round_id, bet_id as ref from bet_records where ${own} limit ${most})
      union all
      (select product_id, username, round_id, txn_id from callback_entries where ${own} limit ${most})
    ) found
    order by 1, 2, 3, 4 limit ${most}`;
}

/** Some bets, and whether everything was searched for them. */
export interface LimitedSearch {
  readonly keys: readonly FoundKey[];
  readonly isWhole: boolean;
}

/**
 * Finds the bets of rounds with this id, of any player. The indexes of rounds begin with the player, so the search
 * goes through the players one by one: 50,000 take less than a second.
 * @param mostPlayers the number of players of each side after which the search ends
 */
export async function findRounds(
  sql: Query,
  products: readonly string[],
  roundId: string,
  { most, mostPlayers }: { readonly most: number; readonly mostPlayers: number },
): Promise<LimitedSearch> {
  const search = async (table: "bet_records" | "callback_entries", ref: "bet_id" | "txn_id") =>
    await sql<{ players: number; keys: FoundKey[] }[]>`
      with recursive each_player as (
        select p as product_id, (
          select username from ${sql(table)} where product_id = p order by username limit 1
        ) as username from unnest(${products as string[]}::text[]) p
        union all
        select before.product_id, (
          select t.username from ${sql(table)} t
          where t.product_id = before.product_id and t.username > before.username order by t.username limit 1
        ) from each_player before where before.username is not null
      ), players as materialized (
        select product_id, username from each_player where username is not null limit ${mostPlayers}
      )
      select (select count(*)::integer from players) as players, array(
        select json_build_object('productId', product_id, 'username', username, 'roundId', ${roundId}::text, 'ref', ref)
        from players cross join lateral (
          select t.${sql(ref)} as ref from ${sql(table)} t
          where t.product_id = players.product_id and t.username = players.username and t.round_id = ${roundId}
          limit ${most}
        ) bets limit ${most}
      ) as keys`;
  const sides = await Promise.all([search("bet_records", "bet_id"), search("callback_entries", "txn_id")]);
  const keys = sides.flatMap(([side]) => side?.keys ?? []);
  return { keys, isWhole: sides.every(([side]) => (side?.players ?? 0) < mostPlayers) };
}

/** The bets that a request named, among the newest entries: no index begins with the request. */
export async function findBetsOfRequest(
  sql: Query,
  products: readonly string[],
  requestId: string,
  { most, mostEntries }: { readonly most: number; readonly mostEntries: number },
): Promise<LimitedSearch> {
  const keys = await sql<FoundKey[]>`
    select distinct product_id as "productId", username, round_id as "roundId", txn_id as ref from (
      select product_id, username, round_id, txn_id, request_id from callback_entries
      order by received_at desc limit ${mostEntries}
    ) newest
    where request_id = ${requestId} and product_id = any(${products as string[]}::text[])
    order by 1, 2, 4 limit ${most}`;
  const [more] = await sql<{ isThere: boolean }[]>`
    select exists (select from callback_entries order by received_at desc offset ${mostEntries}) as "isThere"`;
  return { keys, isWhole: more?.isThere === false };
}

/** The products at which a player has a record or an entry. */
export async function findProductsOfPlayer(
  sql: Query,
  products: readonly string[],
  username: string,
): Promise<string[]> {
  const rows = await sql<{ productId: string }[]>`
    select p as "productId" from unnest(${products as string[]}::text[]) p
    where exists (select from bet_records where product_id = p and username = ${username})
      or exists (select from callback_entries where product_id = p and username = ${username})
    order by 1`;
  return rows.map(({ productId }) => productId);
}

/** How far the latest bets of a player are searched. */
interface LatestLimits {
  readonly most: number;
  /** of a player with at most so many records and entries, all are searched */
  readonly mostOwn: number;
  /** otherwise the newest records of each product, and the newest entries of all */
  readonly mostNewest: number;
}

/**
 * The latest bets of a player on either side, the newest first. No index has a player's rows in order of time, so the rows
 * of one who plays much are looked for among the newest of all.
 */
export async function findLatestOfPlayer(
  sql: Query,
  products: readonly string[],
  username: string,
  { most, mostOwn, mostNewest }: LatestLimits,
): Promise<LimitedSearch> {
  const own = sql`product_id = any(${products as string[]}::text[]) and username = ${username}`;
  const records = sql`product_id, username, round_id, bet_id as ref, accounting_date as at`;
  const entries = sql`product_id, username, round_id, txn_id as ref, received_at as at`;
  const latest = async (rows: ReturnType<typeof sql>) =>
    await sql<(FoundKey & { readonly count: number })[]>`
      with found as materialized (${rows})
      select product_id as "productId", username, round_id as "roundId", ref, (select count(*)::integer from found) as count
      from found group by 1, 2, 3, 4 order by max(at) desc, ref limit ${most}`;
  const all = await latest(sql`
    (select ${records} from bet_records where ${own} limit ${mostOwn + 1})
    union all
    (select ${entries} from callback_entries where ${own} limit ${mostOwn + 1})`);
  const isWhole = (all[0]?.count ?? 0) <= mostOwn;
  const found = isWhole
    ? all
    : await latest(sql`
        select newest.* from unnest(${products as string[]}::text[]) p cross join lateral (
          select product_id, username, round_id, bet_id as ref, accounting_date as at from bet_records
          where product_id = p order by accounting_date desc limit ${mostNewest}
        ) newest where username = ${username}
        union all
        select newest.* from (
          select ${entries} from callback_entries order by received_at desc limit ${mostNewest}
        ) newest where ${own}`);
  return { isWhole, keys: found.map(({ count: _, ...key }) => key) };
}

/** A request that the callbacks server answered with success. Balances are decimal text. */
export interface FoundRequest {
  readonly productId: string;
  readonly callback: string;
  readonly balanceBefore: string;
  readonly balanceAfter: string;
}

/** The requests with this id that the callbacks server answered with success, in all products. */
export async function findRequests(
  sql: Query,
  products: readonly string[],
  requestId: string,
): Promise<FoundRequest[]> {
  return await sql<FoundRequest[]>`
    select product_id as "productId", callback, balance_before as "balanceBefore", balance_after as "balanceAfter"
    from callback_requests
    where product_id = any(${products as string[]}::text[]) and callback = any(${[...CALLBACKS]}::text[])
      and request_id = ${requestId}
    order by 1, 2`;
}

/** A transfer or a top-up with this ref. */
export interface FoundTransfer {
  readonly kind: "transfer" | "top-up";
  readonly productId: string;
  readonly username: string;
  readonly status: string;
  readonly currency: string;
  /** decimal text */
  readonly amount: string;
}

/** The transfers and top-ups with this ref. */
export async function findTransfers(sql: Query, ref: string, most: number): Promise<FoundTransfer[]> {
  const columns = sql`product_id as "productId", username, status, currency, amount`;
  return await sql<FoundTransfer[]>`
    (select 'transfer' as kind, ${columns} from transfers where transaction_ref = ${ref})
    union all
    (select 'top-up' as kind, ${columns} from top_ups where transaction_ref = ${ref} limit ${most})
    order by 1, 2, 3`;
}

export interface MismatchOfBet {
  readonly id: number;
  readonly kind: MismatchKind;
  readonly status: MismatchStatus;
  /** when and by whom it was resolved or ignored; null: it is open or acknowledged */
  readonly resolvedAt: Instant | null;
  readonly resolvedBy: string | null;
}

/** The mismatches about some subjects of a player, the newest first. */
export async function findMismatches(
  sql: Query,
  { productId, username }: Pick<FoundKey, "productId" | "username">,
  subjects: readonly string[],
): Promise<MismatchOfBet[]> {
  return await sql<MismatchOfBet[]>`
    select id, kind, status, resolved_at as "resolvedAt", resolved_by as "resolvedBy" from mismatches
    where product_id = ${productId} and username = ${username} and subject = any(${subjects as string[]}::text[])
    order by id desc limit 20`;
}
