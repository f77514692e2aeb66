/** Mismatches: lasting differences between the provider and the ledger. */

import type { Instant } from "./clock.ts";
import type { Amount } from "./money.ts";

/** Every kind, in the order of docs/mismatches.md. If a bet has several differences, it gets the first. */
export const MISMATCH_KINDS = [
  "username-differs",
  "currency-differs",
  "missing-in-ledger",
  "missing-at-provider",
  "vanished-at-provider",
  "missing-placement",
  "missing-settlement",
  "status-differs",
  "stake-differs",
  "payout-differs",
  "round-differs",
  "net-differs",
  "session-differs",
  "stuck-open",
  "balance-differs",
  "provider-inconsistent",
  "transfer-inconclusive",
  "transfer-differs",
  "transfer-late-success",
  "top-up-rejected",
  "top-up-inconclusive",
  "top-up-differs",
  "top-up-late-success",
] as const;
export type MismatchKind = (typeof MISMATCH_KINDS)[number];

export const MISMATCH_STATUSES = ["open", "acknowledged", "resolved", "ignored"] as const;
export type MismatchStatus = (typeof MISMATCH_STATUSES)[number];

/** The provider's values at the time of the comparison; of a round, its sums. Amounts are decimal text. */
export interface ProviderSide {
  readonly id: string | null;
  readonly betId: string | null;
  readonly status: string | null;
  readonly stake: string;
  readonly payout: string;
  readonly currency: string;
  readonly username: string;
  readonly updatedDate: string | null;
  readonly accountingDate: string | null;
}

/** The ledger's values at the time of the comparison; of a round, its sums. Amounts are decimal text. */
export interface LedgerSide {
  readonly txnId: string | null;
  readonly status: string | null;
  readonly stake: string;
  readonly payout: string;
  readonly moved: string;
  readonly currency: string;
  readonly username: string;
  readonly firstEntryAt: string;
  readonly lastEntryAt: string;
}

/** What a mismatch is about in a currency other than its own. Amounts are decimal text. */
export interface OtherCurrency {
  readonly currency: string;
  /** never negative */
  readonly amountAtRisk: string;
  /** what the wallet moved minus what it should have moved: above 0 the player has too much */
  readonly effect: string;
}

/** Names a request of the ledger beside the one that a `balance-differs` is about: the one that left another balance. */
export interface NamedRequest {
  readonly productId: string;
  readonly callback: string;
  readonly requestId: string;
  readonly at: string;
}

/**
 * One side of a transfer or a top-up: the provider's answer, or what the operator sent. The amount is decimal text.
 */
export interface TransferSide {
  readonly status: string | null;
  readonly amount: string | null;
  readonly currency: string | null;
  readonly username: string;
  readonly productId: string;
  /** when the money was sent, or the answer arrived */
  readonly at: string;
}

/** The content of a mismatch: what a comparison says about one subject. Id, status and history come when it is stored. */
export interface MismatchContent {
  readonly kind: MismatchKind;
  readonly productId: string;
  readonly username: string;
  readonly currency: string | null;
  /** identifies the mismatch together with product, player and kind: "bet:…", "round:…", "session:…", "transfer:…" */
  readonly subject: string;
  readonly betId: string | null;
  readonly transactionId: string | null;
  readonly roundId: string | null;
  /** null: not about a transfer or a top-up */
  readonly transactionRef: string | null;
  /** never negative */
  readonly amountAtRisk: Amount;
  /** moved − expected, if the comparison knows more of it than the sides say; absent: it follows from the sides */
  readonly effect?: Amount;
  /** one sentence that names the differing fields and both values */
  readonly reason: string;
  readonly provider: ProviderSide | TransferSide | null;
  /**
   * with the `otherCurrencies` of the mismatch, or with the request before it, because a change of them is a change of the
   * ledger's values
   */
  readonly ledger:
    | (LedgerSide & {
        readonly otherCurrencies?: readonly OtherCurrency[];
        readonly previous?: readonly NamedRequest[];
      })
    | TransferSide
    | null;
  /** when the bet happened: the time of its first entry, else the record's accountingDate */
  readonly occurredAt: Instant;
}

/** A mismatch as commands and HTTP show it. */
export interface Mismatch
  extends Omit<MismatchContent, "subject" | "amountAtRisk" | "effect" | "ledger" | "occurredAt"> {
  readonly id: string;
  readonly status: MismatchStatus;
  /** decimal text, never negative */
  readonly amountAtRisk: string;
  /**
   * signed decimal text: above 0 the player has too much, below 0 too little, after all corrections that were made by hand;
   * null: unknown, or about no player's money
   */
  readonly effect: string | null;
  /** of `currency-differs`, and of a `username-differs` whose sides have several currencies: the other ones */
  readonly otherCurrencies: readonly OtherCurrency[];
  readonly ledger: LedgerSide | TransferSide | null;
  /** YYYY-MM-DD: the day in whose statement it counts; null: in none, because of its kind or because it no longer holds */
  readonly countsOn: string | null;
  readonly occurredAt: string;
  readonly firstSeenAt: string;
  readonly lastSeenAt: string;
  readonly resolvedAt: string | null;
  readonly resolvedBy: string | null;
  readonly note: string | null;
}

/** The kinds from `balance-differs` on explain no difference of a statement, and no player's money is wrong by them. */
export const KINDS_IN_NO_STATEMENT: readonly MismatchKind[] = MISMATCH_KINDS.slice(
  MISMATCH_KINDS.indexOf("balance-differs"),
);

/** One change of a mismatch in a transaction. Incidents count these changes. */
export interface MismatchChange {
  readonly id: number;
  readonly kind: MismatchKind;
  readonly productId: string;
  /**
   * `restore`: open again because an action was undone; `refresh`: still open, with other values; `acknowledge`
   * and `ignore`: by ops
   */
  readonly change: "open" | "reopen" | "restore" | "refresh" | "acknowledge" | "resolve" | "ignore";
  /** decimal text: the present amount at risk */
  readonly amount: string;
  readonly currency: string | null;
  readonly at: Instant;
  readonly occurredAt: Instant;
}

export function isMismatchStatus(text: string): text is MismatchStatus {
  return (MISMATCH_STATUSES as readonly string[]).includes(text);
}

/** The last decision of ops about a mismatch of a closed day. */
export interface Decision {
  readonly mismatchId: number;
  /** open: it was opened again */
  readonly status: "resolved" | "ignored" | "open";
  readonly by: string;
  readonly note: string | null;
  /** those that were made since the day was closed; amounts are decimal text */
  readonly adjustments: readonly {
    readonly ref: string;
    readonly amount: string;
    readonly currency: string;
  }[];
}
