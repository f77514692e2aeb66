/**
 * Requests with an `Idempotency-Key`, and their answers (docs/api.md#repeat-a-request). A row is a claim first: of several requests with
 * one key, one does the work. A claim is a lease that its process renews until the answer. If the process is killed, a later request takes
 * the claim over.
 */

import type { Instant } from "../clock.ts";
import type { Query } from "../db/client.ts";
import { type DroppedRows, dropOldest } from "../db/drop-rows.ts";
import type { TimeRange } from "../window.ts";

/** For how long a key is known. */
export const KEEP_KEYS_MS = 24 * 3_600_000;
/**
 * A claim that was not renewed for so long counts as one of a killed process. If the process only stalled, the work is done twice: what
 * creates something stores the answer in the same transaction, so one of the two fails; everything else may be repeated.
 */
export const CLAIM_MS = 2 * 60_000;

export interface KeyedRequest {
  /** a hash of who asks, the method, the path and the key */
  readonly id: string;
  /** a hash of the query and the body */
  readonly bodyHash: string;
}

export interface KeptAnswer {
  readonly status: number;
  /** JSON text */
  readonly answer: string;
  /** the header; null: none */
  readonly location: string | null;
}

/** @param claim a random id of the request that will answer */
export async function claimKey(
  sql: Query,
  { id, bodyHash }: KeyedRequest,
  claim: string,
  now: Instant,
): Promise<"claimed" | "other-body" | "in-use" | KeptAnswer> {
  const { count } = await sql`
    insert into idempotency_keys as k (id, body_hash, claim, claimed_at)
    values (${id}, ${bodyHash}, ${claim}, ${now})
    on conflict (id) do update
    set body_hash = excluded.body_hash, claim = excluded.claim, claimed_at = excluded.claimed_at,
      status = null, answer = null, location = null
    where k.claimed_at < ${now - KEEP_KEYS_MS}
      or (k.status is null and k.claimed_at < ${now - CLAIM_MS} and k.body_hash = excluded.body_hash)`;
  if (count > 0) return "claimed";
  const [row] = await sql<
    { bodyHash: string; status: number | null; answer: string; location: string | null }[]
  >`
    select body_hash as "bodyHash", status, answer, location from idempotency_keys where id = ${id}`;
  // Released between the two statements: the caller asks again.
  if (row === undefined) return "in-use";
  if (row.bodyHash !== bodyHash) return "other-body";
  const { status, answer, location } = row;
  return status === null ? "in-use" : { status, answer, location };
}

/** Begins the lease anew. Does nothing if the request was answered, or another one took the claim over. */
export async function renewClaim(
  sql: Query,
  { id }: KeyedRequest,
  claim: string,
  now: Instant,
): Promise<void> {
  await sql`
    update idempotency_keys set claimed_at = ${now} where id = ${id} and claim = ${claim} and status is null`;
}

/** @returns false if the answer is stored already, or another request took the claim over */
export async function keepAnswer(
  sql: Query,
  { id }: KeyedRequest,
  claim: string,
  { status, answer, location }: KeptAnswer,
): Promise<boolean> {
  const { count } = await sql`
    update idempotency_keys set status = ${status}, answer = ${answer}, location = ${location}
    where id = ${id} and claim = ${claim} and status is null`;
  return count > 0;
}

/** Gives up a claim without an answer: the next request does the work. */
export async function releaseKey(sql: Query, { id }: KeyedRequest, claim: string): Promise<void> {
  await sql`delete from idempotency_keys where id = ${id} and claim = ${claim} and status is null`;
}

/** Deletes the keys of a range of time, as `dropOldest` does. */
export function dropOldKeys(sql: Query, range: TimeRange, most: number): Promise<DroppedRows> {
  return dropOldest(sql, { table: "idempotency_keys", key: "id", at: "claimed_at" }, range, most);
}
