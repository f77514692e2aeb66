/** What bets count for on closed days, when the bets themselves are deleted. */

import type { Query } from "../db/client.ts";

/** Deletes what some rounds and bets count for. The statements of the closed days stay (§3.10). */
export async function forgetClosedBets(
  tx: Query,
  productId: string,
  subjects: readonly { readonly username: string; readonly subject: string }[],
): Promise<void> {
  if (subjects.length === 0) return;
  await tx`
    delete from closed_bets b
    using unnest(${subjects.map(({ username }) => username)}::text[], ${subjects.map(({ subject }) => subject)}::text[])
      as gone (username, subject)
    where b.product_id = ${productId} and b.username = gone.username and b.subject = gone.subject`;
}
