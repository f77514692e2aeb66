/** What bets count for on closed days, when the bets themselves are deleted. */

import type { Query } from "../db/client.ts";

/** The rows of a round, a bet or a session. */
export interface ForgottenBet {
  readonly username: string;
  readonly subject: string;
  /** one bet of the round, or the session; null: all */
  readonly betRef: string | null;
  /** null: all */
  readonly currency: string | null;
}

/** Deletes what some rounds, bets and sessions count for. The statements of the closed days stay (§3.10). */
export async function forgetClosedBets(
  tx: Query,
  productId: string,
  forgotten: readonly ForgottenBet[],
): Promise<void> {
  if (forgotten.length === 0) return;
  const column = (of: (one: ForgottenBet) => string | null) => forgotten.map(of);
  await tx`
    delete from closed_bets b
    using unnest(${column(({ username }) => username)}::text[], ${column(({ subject }) => subject)}::text[],
      ${column(({ betRef }) => betRef)}::text[], ${column(({ currency }) => currency)}::text[])
      as gone (username, subject, bet_ref, currency)
    where b.product_id = ${productId} and b.username = gone.username and b.subject = gone.subject
      and (gone.bet_ref is null or b.bet_ref = gone.bet_ref) and (gone.currency is null or b.currency = gone.currency)`;
}
