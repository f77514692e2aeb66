/**
 * What could not be compared, and waits to be tried again while everything else is compared
 * (docs/operations.md#limits).
 */

import type { Instant } from "../clock.ts";
import type { Query } from "../db/client.ts";

/** What belongs together and could not be compared. */
export interface SetAside {
  readonly username: string;
  /** "round:…", "bet:…", or "sessions": all of the player's that were touched together */
  readonly subject: string;
}

const LONGEST_PAUSE_MS = 24 * 3_600_000;

/** When what takes too long is tried again: each time after as long as it has been set aside already, a day at the most. */
export async function nextTrial(
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

/** Keeps what was set aside; what was already is still set aside since then. */
export async function keepSetAside(
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

/** A row is read whole, and nobody needs more of them to see that something is wrong. */
const MOST_KNOWN = 10_000;

export interface TooMuch extends SetAside {
  readonly isSlow: boolean;
  /** it is not to be tried again yet */
  readonly waits: boolean;
}

/** What is set aside of a product because there is too much of it, or takes too long. */
export async function readTooMuch(tx: Query, productId: string, now: Instant): Promise<TooMuch[]> {
  return await tx<TooMuch[]>`
    select username, subject, code = 'too-slow' as "isSlow", retry_at > ${now} as waits from comparisons_set_aside
    where product_id = ${productId} and code <> 'unusable' limit ${MOST_KNOWN}`;
}

/**
 * What has been compared is set aside no longer.
 * @param setAsideUntil what has just been set aside is tried again at this time
 */
export async function endSetAside(
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
