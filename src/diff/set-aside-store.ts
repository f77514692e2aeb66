/**
 * Rounds, bets and sessions that could not be compared. They wait for another attempt, and everything else is
 * compared (docs/operations.md#limits).
 */

import type { Instant } from "../clock.ts";
import type { Query } from "../db/client.ts";

/** A round, a bet or a player's sessions that could not be compared. */
export interface SetAside {
  readonly username: string;
  /** "round:…", "bet:…", or "sessions": all sessions of the player that were touched together */
  readonly subject: string;
}

const LONGEST_PAUSE_MS = 24 * 3_600_000;

/**
 * The time of the next attempt at a comparison that took too long. The pause is as long as the subject has been set
 * aside, from an hour to a day.
 */
export async function nextAttempt(
  tx: Query,
  productId: string,
  { username, subject }: SetAside,
  now: Instant,
  shortestMs: number,
): Promise<Instant> {
  const [row] = await tx<{ since: Instant }[]>`
    select since from comparisons_set_aside
    where product_id = ${productId} and username = ${username} and subject = ${subject}`;
  return now + Math.min(Math.max(now - (row?.since ?? now), shortestMs), LONGEST_PAUSE_MS);
}

/** Stores a subject as set aside. One that is set aside already keeps its first time. */
export async function writeSetAside(
  tx: Query,
  productId: string,
  { username, subject }: SetAside,
  why: {
    readonly code: string;
    readonly reason: string;
    readonly now: Instant;
    readonly retryAt: Instant;
  },
): Promise<void> {
  const { code, reason, now, retryAt } = why;
  await tx`
    insert into comparisons_set_aside (product_id, username, subject, code, reason, since, retry_at)
    values (${productId}, ${username}, ${subject}, ${code}, ${reason}, ${now}, ${retryAt})
    on conflict (product_id, username, subject) do update
      set code = excluded.code, reason = excluded.reason, retry_at = excluded.retry_at`;
}

/** The most rows to read. Further rows would say nothing new about the product. */
const MOST_KNOWN = 10_000;

export interface TooLarge extends SetAside {
  readonly isSlow: boolean;
  /** its next attempt is not due yet */
  readonly waits: boolean;
}

/** The subjects of a product that are set aside because they are too large or take too long. */
export async function readTooLarge(tx: Query, productId: string, now: Instant): Promise<TooLarge[]> {
  return await tx<TooLarge[]>`
    select username, subject, code = 'too-slow' as "isSlow", retry_at > ${now} as waits from comparisons_set_aside
    where product_id = ${productId} and code <> 'unusable' limit ${MOST_KNOWN}`;
}

/**
 * Deletes the rows of subjects that have been compared.
 * @param setAsideUntil only rows with an earlier next attempt are deleted: rows with this time or later were set
 * aside just now
 */
export async function deleteSetAside(
  tx: Query,
  productId: string,
  compared: readonly SetAside[],
  setAsideUntil: Instant,
): Promise<void> {
  await tx`
    delete from comparisons_set_aside s
    using unnest(${compared.map((one) => one.username)}::text[], ${compared.map((one) => one.subject)}::text[])
      as k (username, subject)
    where s.product_id = ${productId} and s.username = k.username and s.subject = k.subject
      and s.retry_at < ${setAsideUntil}`;
}
