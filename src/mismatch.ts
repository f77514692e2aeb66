/** A lasting difference between the provider and the ledger: data, never an exception. */

import type { Instant } from "./clock.ts";
import type { Amount } from "./money.ts";

/** Every kind, in the order of the table that decides which one a bet gets. */
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

/** What the provider's answer, or the operator, says of a transfer or a top-up. The amount is decimal text. */
export interface TransferSide {
  readonly status: string | null;
  readonly amount: string | null;
  readonly currency: string | null;
  readonly username: string;
  readonly productId: string;
  /** when it was sent, or answered */
  readonly at: string;
}

/** What a comparison found wrong with one subject; it becomes a mismatch when its graces are over. */
export interface Finding {
  readonly kind: MismatchKind;
  readonly productId: string;
  readonly username: string;
  readonly currency: string | null;
  /** with product, player and kind the identity of the mismatch: "bet:…", "round:…", "session:…", "transfer:…" */
  readonly subject: string;
  readonly betId: string | null;
  readonly transactionId: string | null;
  readonly roundId: string | null;
  /** of a transfer or a top-up */
  readonly transactionRef: string | null;
  /** never negative */
  readonly amountAtRisk: Amount;
  /** one sentence that names the differing fields and both values */
  readonly reason: string;
  readonly provider: ProviderSide | TransferSide | null;
  readonly ledger: LedgerSide | TransferSide | null;
  /** when the bet happened, as far as either side says */
  readonly occurredAt: Instant;
}

/** A mismatch as commands and HTTP show it. */
export interface Mismatch extends Omit<Finding, "subject" | "amountAtRisk" | "occurredAt"> {
  readonly id: string;
  readonly status: MismatchStatus;
  /** decimal text, never negative */
  readonly amountAtRisk: string;
  readonly occurredAt: string;
  readonly firstSeenAt: string;
  readonly lastSeenAt: string;
  readonly resolvedAt: string | null;
  readonly resolvedBy: string | null;
  readonly note: string | null;
}

/** What became of a mismatch in the transaction at hand: alerts are made of these. */
export interface MismatchChange {
  readonly id: number;
  readonly kind: MismatchKind;
  readonly productId: string;
  /** `refresh` is still open with other values; `acknowledge` and `ignore` are a person's */
  readonly change: "open" | "reopen" | "refresh" | "acknowledge" | "resolve" | "ignore";
  /** decimal text: what is at risk now */
  readonly amount: string;
  readonly currency: string | null;
  readonly at: Instant;
  readonly occurredAt: Instant;
}

export function isMismatchKind(text: string): text is MismatchKind {
  return (MISMATCH_KINDS as readonly string[]).includes(text);
}

export function isMismatchStatus(text: string): text is MismatchStatus {
  return (MISMATCH_STATUSES as readonly string[]).includes(text);
}
