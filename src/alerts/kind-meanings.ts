/** The meaning of each kind of mismatch in one sentence, for the person who receives an alert. */

import type { MismatchKind } from "../mismatch.ts";

export const MEANING_OF_KIND: Readonly<Record<MismatchKind, string>> = {
  "username-differs": "the provider has the bet under another player's name",
  "currency-differs": "the two sides have the same bet in different currencies",
  "missing-in-ledger": "the provider has bets for which no callback was received",
  "missing-at-provider": "the ledger has settled bets that the provider does not know",
  "vanished-at-provider": "the provider listed the bets once, and no longer lists them",
  "missing-placement": "bets were settled without a placement",
  "missing-settlement": "bets have ended at the provider and are still open in the ledger",
  "status-differs": "bets ended differently on the two sides, or on one side only",
  "stake-differs": "the two sides have the same bet with different stakes",
  "payout-differs": "the two sides have the same bet with different payouts",
  "round-differs": "the sums of a round differ",
  "net-differs": "both sides agree, but the wallet moved another amount",
  "session-differs": "the sums of a player's session differ",
  "stuck-open": "bets have been open in the ledger for too long, and the provider has no record of them",
  "balance-differs": "the balances before and after a callback do not differ by the amount that it moved",
  "provider-inconsistent": "the provider's own record contradicts itself",
  "transfer-inconclusive": "the outcome of the transfer is unknown: ops must decide",
  "transfer-differs": "the provider has booked the transfer with another amount, player, product or currency",
  "transfer-late-success": "the provider booked a transfer that it had reported as failed",
  "top-up-rejected": "the ledger has a top-up that failed at the provider",
  "top-up-inconclusive": "the outcome of the top-up is unknown: ops must decide",
  "top-up-differs": "the provider has booked the top-up with another amount or player",
  "top-up-late-success": "the provider booked a top-up that it had reported as failed",
};
