/** Mismatches and the deletion of old rows: which bets are evidence of a mismatch, and which mismatches may go. */

import type { Fragment } from "postgres";
import type { Instant } from "../clock.ts";
import type { Query } from "../db/client.ts";
import type { TimeRange } from "../window.ts";

/**
 * The mismatches that may be deleted: of bets of a range of time, ended and last seen before its end. Open and
 * acknowledged ones stay, and those with an adjustment, whose reference must not count twice.
 */
export interface ExpiredMismatches extends TimeRange {
  /** those of earlier time have expired although their difference may still exist; null: none have */
  readonly lastingTo: Instant | null;
}

/** An expired mismatch whose difference may still exist. */
export interface LastingMismatch extends NamedByMismatch {
  readonly id: number;
  readonly productId: string;
  /** the provider's name of the player, if it differs */
  readonly otherName: string | null;
}

/**
 * Deletes expired mismatches whose difference has ended, the oldest first.
 * @returns their number
 */
export async function deleteEndedMismatches(
  tx: Query,
  old: ExpiredMismatches,
  most: number,
): Promise<number> {
  const rows = await tx<{ id: number }[]>`
    select id from mismatches where ${isOld(tx, old)} and ${isOver(tx, old)}
    order by last_seen_at limit ${most} for update skip locked`;
  return await deleteMismatches(
    tx,
    rows.map(({ id }) => id),
  );
}

/**
 * Locks the next expired mismatches whose difference may still exist.
 * @param after the number of the last one before
 */
export async function lockLasting(
  tx: Query,
  old: ExpiredMismatches,
  after: number,
  most: number,
): Promise<LastingMismatch[]> {
  return await tx<LastingMismatch[]>`
    select id, product_id as "productId", username, subject, bet_id as "betId", transaction_id as "transactionId", round_id as "roundId",
      case when kind = 'username-differs' then provider ->> 'username' end as "otherName"
    from mismatches where ${isOld(tx, old)} and (${isOver(tx, old)}) is not true and occurred_at < ${old.lastingTo} and id > ${after}
    order by id limit ${most} for update skip locked`;
}

/** The ids that unexpired mismatches of some players name. */
export async function readNamedByOthers(
  tx: Query,
  productId: string,
  usernames: readonly string[],
  old: ExpiredMismatches,
): Promise<NamedByMismatch[]> {
  const others = tx`(${isOld(tx, old)} and (${isOver(tx, old)} or occurred_at < ${old.lastingTo})) is not true`;
  return await readNamedByMismatches(tx, productId, usernames, others);
}

/** Deletes mismatches with their histories, comments and places in incidents. @returns their number */
export async function deleteMismatches(tx: Query, ids: number[]): Promise<number> {
  if (ids.length === 0) return 0;
  // The events name their mismatch by a foreign key, so they go first.
  await tx`delete from mismatch_events where mismatch_id = any(${ids})`;
  await tx`delete from comments where about = 'mismatch' and about_id = any(${ids})`;
  await tx`delete from incident_members where mismatch_id = any(${ids})`;
  await tx`delete from mismatches where id = any(${ids})`;
  await tx`insert into rows_added (table_name, product_id, added) values ('mismatches', '', ${-ids.length})`;
  return ids.length;
}

function isOld(tx: Query, { from, to }: ExpiredMismatches): Fragment {
  return tx`status in ('resolved', 'ignored') and last_seen_at >= ${from} and last_seen_at < ${to}
    and occurred_at >= ${from} and occurred_at < ${to} and coalesce(resolved_at, last_seen_at) < ${to}
    and not exists (select from adjustments a where a.mismatch_id = mismatches.id)`;
}

function isOver(tx: Query, { to }: ExpiredMismatches): Fragment {
  return tx`(resolved_by = 'recon' or ceased_at < ${to})`;
}

/** The ids that a mismatch names. */
export interface NamedByMismatch {
  /** the player, under either name if the two sides name different players */
  readonly username: string;
  readonly subject: string;
  readonly betId: string | null;
  readonly transactionId: string | null;
  readonly roundId: string | null;
}

/**
 * The ids that the mismatches of some players name, in any status.
 * @param which a condition for the mismatches
 */
export async function readNamedByMismatches(
  tx: Query,
  productId: string,
  usernames: readonly string[],
  which: Fragment = tx`true`,
): Promise<NamedByMismatch[]> {
  const names = tx`subject, bet_id as "betId", transaction_id as "transactionId", round_id as "roundId"`;
  return await tx<NamedByMismatch[]>`
    select username, ${names} from mismatches
    where product_id = ${productId} and username = any(${usernames as string[]}) and ${which}
    union all
    select provider ->> 'username', ${names} from mismatches
    where product_id = ${productId} and kind = 'username-differs'
      and provider ->> 'username' = any(${usernames as string[]}) and ${which}`;
}
