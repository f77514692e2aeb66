/** What to do about each kind of mismatch, in a sentence or two. */

import type { MismatchKind } from "../../../mismatch.ts";

const ASK_FOR_CALLBACK =
  "Ask the provider to send the callback again. Or correct the player's balance by hand, and resolve this mismatch with the correction.";
const CORRECT_ONE_SIDE =
  "Find out which side is wrong. Either the provider corrects the record, or you correct the balance and record the correction here.";

export const WHAT_TO_DO: Readonly<Record<MismatchKind, string>> = {
  "username-differs":
    "Find out who played: one of the two players has the other's money. Ask the provider to correct the name, or move the money.",
  "currency-differs":
    "Ask the provider in which currency the bet was played. Then correct the side that has another one.",
  "missing-in-ledger": ASK_FOR_CALLBACK,
  "missing-at-provider":
    "Ask the provider for the outcome of the bet. If nobody played the bet there, give the player's money back.",
  "vanished-at-provider":
    "Ask the provider why the record is gone. If the bet was void, a cancel was lost: give the player's money back.",
  "missing-placement":
    "The wallet never took the stake, or the callback was lost. Check your own books before you correct anything.",
  "missing-settlement": ASK_FOR_CALLBACK,
  "status-differs":
    "A settle, cancel or rollback was lost. Find the side that ended the bet last, and correct the other side.",
  "stake-differs": CORRECT_ONE_SIDE,
  "payout-differs": CORRECT_ONE_SIDE,
  "round-differs":
    "Compare the whole round below. Its bets cannot be distinguished by their ids, and their sums differ.",
  "net-differs":
    "Both sides agree on the bet, but the wallet moved too much or too little. Correct the player's balance by the amount at risk.",
  "session-differs": "Check the adjustBalance entries below. One may be missing, or be there twice.",
  "stuck-open": "Ask the provider whether they know the bet. If not, give the stake back.",
  "balance-differs": "Check the wallet. Something else moved money between the two balances.",
  "provider-inconsistent":
    "Report the record to the provider. The record contradicts itself, whatever the ledger says.",
  "transfer-inconclusive": "Find the transfer in the provider's statement. Then close it with your finding.",
  "transfer-differs":
    "Ask the provider to correct their side, which resolves this mismatch. Or correct your side.",
  "transfer-late-success":
    "If you paid the player back, the player has the money twice. Take the payment back, then resolve this mismatch.",
  "top-up-rejected":
    "Your wallet moved the money, but the provider never did. Reverse the move, then resolve this mismatch.",
  "top-up-inconclusive": "Find the top-up in the provider's statement. Then close it with your finding.",
  "top-up-differs":
    "Ask the provider to correct their side, which resolves this mismatch. Or correct your side.",
  "top-up-late-success":
    "The top-up is valid. If you reversed the move after the rejection, undo that. Then resolve this mismatch.",
};
