/** Finds bets, players and requests by the ids that a person has. Every search uses an index, and has a limit. */

import { CALLBACKS } from "../callback.ts";
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

/** A request that the callbacks server answered with success. Balances are decimal text. */
export interface FoundRequest {
  readonly productId: string;
  readonly callback: string;
  readonly balanceBefore: string;
  readonly balanceAfter: string;
}

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
}

/** The mismatches about some subjects of a player, the newest first. */
export async function findMismatches(
  sql: Query,
  { productId, username }: Pick<FoundKey, "productId" | "username">,
  subjects: readonly string[],
): Promise<MismatchOfBet[]> {
  return await sql<MismatchOfBet[]>`
    select id, kind, status from mismatches
    where product_id = ${productId} and username = ${username} and subject = any(${subjects as string[]}::text[])
    order by id desc limit 20`;
}
