/** The bets that have a mismatch. Their records and entries are its evidence. */

import type { Fragment } from "postgres";
import type { Query } from "../db/client.ts";

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
