/** What to do about each kind of mismatch, in a sentence or two. */

import type { MismatchKind } from "../../../mismatch.ts";

const ASK_FOR_CALLBACK =
  "Have the provider send the callback again, or correct the player's balance by hand and resolve this with the correction.";
const BEFORE_PAYING =
  "Correct the side that is wrong: the provider its record, or you the balance, with the correction noted here.";

export const WHAT_TO_DO: Readonly<Record<MismatchKind, string>> = {
  "username-differs":
    "Find out who really played: one of the two players has the other's money. Have the provider correct the name, or move the money.",
  "currency-differs":
    "Have the provider say in which currency the bet was played; the other side must be corrected.",
  "missing-in-ledger": ASK_FOR_CALLBACK,
  "missing-at-provider":
    "Ask the provider what became of the bet. If it was never played there, the player's money must be put back.",
  "vanished-at-provider":
    "Ask the provider why its record is gone. If the bet was void, a cancel has been lost: put the player's money back.",
  "missing-placement":
    "The stake was never taken, or its callback was lost. Look in your own books before you correct anything.",
  "missing-settlement": ASK_FOR_CALLBACK,
  "status-differs":
    "Look which side ended the bet last, and have the other one follow: a settle, cancel or rollback has been lost.",
  "stake-differs": BEFORE_PAYING,
  "payout-differs": BEFORE_PAYING,
  "round-differs":
    "Look at the whole round below: bets that cannot be told apart by their ids add up to different sums.",
  "net-differs":
    "Both sides agree on the bet, so the wallet moved too much or too little: correct the player's balance by the amount at risk.",
  "session-differs": "Look at the adjustBalance entries below for one that is missing or stands twice.",
  "stuck-open": "Ask the provider whether the bet is known there. If not, give the stake back.",
  "balance-differs":
    "Look in the wallet for what else moved between the two balances: something was booked beside the callback.",
  "provider-inconsistent": "Tell the provider: its record cannot be right, whatever the ledger says.",
  "transfer-inconclusive":
    "Find it in the provider's statement, then close the transfer with what you found.",
  "transfer-differs": "Have the provider correct it, which resolves this by itself, or correct your side.",
  "transfer-late-success":
    "If you paid the player back, the money is there twice: take it back, then resolve this.",
  "top-up-rejected":
    "Your wallet moved the money and the provider says that it never did: give it back or take it back, then resolve this.",
  "top-up-inconclusive": "Find it in the provider's statement, then close it with what you found.",
  "top-up-differs": "Have the provider correct it, which resolves this by itself, or correct your side.",
  "top-up-late-success":
    "If you gave the money back or took it back after the rejection, undo that: the top-up stands. Then resolve this.",
};
