/** The meaning of each kind of mismatch in one sentence, for the person whom an alert wakes up. */

import type { MismatchKind } from "../mismatch.ts";

export const MEANING_OF_KIND: Readonly<Record<MismatchKind, string>> = {
  "username-differs": "the provider has the bet under another player's name",
  "currency-differs": "the same bet in another currency",
  "missing-in-ledger": "the provider has bets of which no callback was received",
  "missing-at-provider": "the ledger has settled bets that the provider does not know",
  "vanished-at-provider": "the provider had the bets once, and lists them no more",
  "missing-placement": "bets were settled that were never placed",
  "missing-settlement": "bets have ended at the provider and are still open in the ledger",
  "status-differs": "bets ended differently on the two sides, or on one side only",
  "stake-differs": "the same bet with another stake",
  "payout-differs": "the same bet with another payout",
  "round-differs": "the sums of a round differ",
  "net-differs": "both sides agree, but the wallet moved another amount",
  "session-differs": "the sums of a player's session differ",
  "stuck-open": "bets are open in the ledger for too long, and the provider has no record of them",
  "balance-differs": "a callback's balances before and after do not differ by what it moved",
  "provider-inconsistent": "the provider's own record contradicts itself",
  "transfer-inconclusive": "nobody can say whether the transfer was made: a person must decide",
  "transfer-differs": "the transfer was made with another amount, player, product or currency",
  "transfer-late-success": "the transfer was made after the provider had said it was not",
  "top-up-rejected": "the ledger has a top-up that the provider says it did not make",
  "top-up-inconclusive": "nobody can say whether the top-up was made: a person must decide",
  "top-up-differs": "the top-up was made with another amount or player",
  "top-up-late-success": "the top-up was made after the provider had said it was not",
};
