/** Mismatches: lasting differences between the provider and the ledger. */

import { z } from "zod";
import {
  AMOUNT,
  type AnswerOf,
  CURSOR,
  DATE,
  INSTANT,
  LIST_COUNT,
  listOf,
  NEXT,
  objectOf,
  TEXT,
} from "./answer.ts";
import type { Instant } from "./clock.ts";
import type { Amount } from "./money.ts";

const EXPLAIN_A_STATEMENT = [
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
] as const;
const EXPLAIN_NONE = [
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
/** Every kind, in the order of docs/mismatches.md. If a bet has several differences, `diff/compare.ts` decides which it gets. */
export const MISMATCH_KINDS = [...EXPLAIN_A_STATEMENT, ...EXPLAIN_NONE] as const;
export type MismatchKind = (typeof MISMATCH_KINDS)[number];
/** The kinds that explain no difference of a statement: their `countsOn` and `effect` are null. */
export const KINDS_IN_NO_STATEMENT: readonly MismatchKind[] = EXPLAIN_NONE;

export const MISMATCH_STATUSES = ["open", "acknowledged", "resolved", "ignored"] as const;
export type MismatchStatus = (typeof MISMATCH_STATUSES)[number];

/** The provider's values at the time of the comparison; of a round, its sums. */
export const PROVIDER_SIDE = objectOf({
  id: z.nullable(TEXT),
  betId: z.nullable(TEXT),
  status: z.nullable(TEXT),
  stake: AMOUNT,
  payout: AMOUNT,
  currency: TEXT,
  username: TEXT,
  updatedDate: z.nullable(INSTANT),
  accountingDate: z.nullable(INSTANT),
});
export type ProviderSide = AnswerOf<typeof PROVIDER_SIDE>;

/** The ledger's values at the time of the comparison; of a round, its sums. */
export const LEDGER_SIDE = objectOf({
  txnId: z.nullable(TEXT),
  status: z.nullable(TEXT),
  stake: AMOUNT,
  payout: AMOUNT,
  moved: AMOUNT,
  currency: TEXT,
  username: TEXT,
  firstEntryAt: INSTANT,
  lastEntryAt: INSTANT,
});
export type LedgerSide = AnswerOf<typeof LEDGER_SIDE>;

/** What a mismatch is about in a currency other than its own. */
const OTHER_CURRENCY = objectOf({
  currency: TEXT,
  /** never negative */
  amountAtRisk: AMOUNT,
  /** what the wallet moved minus what it should have moved: above 0 the player has too much */
  effect: AMOUNT,
});
export type OtherCurrency = AnswerOf<typeof OTHER_CURRENCY>;

/** Names a request of the ledger beside the one that a `balance-differs` is about: the one that left another balance. */
export interface NamedRequest {
  readonly productId: string;
  readonly callback: string;
  readonly requestId: string;
  readonly at: string;
}

/** One side of a transfer or a top-up: the provider's answer, or what the operator sent. */
export const TRANSFER_SIDE = objectOf({
  status: z.nullable(TEXT),
  amount: z.nullable(AMOUNT),
  currency: z.nullable(TEXT),
  username: TEXT,
  productId: TEXT,
  /** when the money was sent, or the answer arrived */
  at: INSTANT,
});
export type TransferSide = AnswerOf<typeof TRANSFER_SIDE>;

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

/** The word for no owner, in filters and requests; so it is the name of no owner. */
export const NOBODY = "nobody";

/** Who works on a mismatch or an incident, and what they wait for. */
export const CASE = {
  owner: z.nullable(TEXT.meta({ description: "the person who works on it; null: nobody" })),
  ticket: z.nullable(TEXT.meta({ description: "the provider's ticket about it" })),
  withProvider: z.nullable(
    INSTANT.meta({ description: "since when an answer of the provider is awaited; null: none is" }),
  ),
  remindAt: z.nullable(INSTANT.meta({ description: "when the reminder is due, or was" })),
};

/** A mismatch as commands and HTTP show it. */
export const MISMATCH = objectOf({
  id: TEXT,
  kind: z.enum(MISMATCH_KINDS),
  status: z.enum(MISMATCH_STATUSES),
  productId: TEXT,
  username: TEXT,
  currency: z.nullable(TEXT),
  betId: z.nullable(TEXT),
  transactionId: z.nullable(TEXT),
  roundId: z.nullable(TEXT),
  /** null: not about a transfer or a top-up */
  transactionRef: z.nullable(TEXT),
  /** never negative */
  amountAtRisk: AMOUNT,
  /** null if unknown, or about no player's money */
  effect: z.nullable(
    AMOUNT.meta({
      description:
        "above 0 the player has too much, below 0 too little, after corrections made by hand; null if unknown",
    }),
  ),
  /** of `currency-differs`, and of a `username-differs` whose sides have several currencies: the other ones */
  otherCurrencies: listOf(OTHER_CURRENCY),
  reason: TEXT,
  provider: z.union([PROVIDER_SIDE, TRANSFER_SIDE, z.null()]),
  ledger: z.union([LEDGER_SIDE, TRANSFER_SIDE, z.null()]),
  occurredAt: INSTANT,
  firstSeenAt: INSTANT,
  lastSeenAt: INSTANT,
  /** null: in none, because of its kind or because it no longer holds */
  countsOn: z.nullable(DATE.meta({ description: "the day in whose statement it counts; null: in none" })),
  resolvedAt: z.nullable(INSTANT),
  resolvedBy: z.nullable(TEXT),
  note: z.nullable(TEXT),
  ...CASE,
});
export type Mismatch = AnswerOf<typeof MISMATCH>;

export const MISMATCH_LIST = objectOf({
  mismatches: listOf(MISMATCH),
  next: NEXT,
  cursor: CURSOR,
  ...LIST_COUNT,
});

/** The events of a single mismatch that endpoints get. */
export const MISMATCH_EVENT_TYPES = [
  "mismatch.opened",
  "mismatch.changed",
  "mismatch.decided",
  "mismatch.resolved",
  "mismatch.reopened",
] as const;
export type MismatchEventType = (typeof MISMATCH_EVENT_TYPES)[number];

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
  /** the reviewer who acted; absent: recon */
  readonly by?: string;
}

/** A reminder of a mismatch or an incident whose time has come. */
export interface DueReminder {
  readonly about: "mismatch" | "incident";
  readonly id: number;
  readonly remindAt: Instant;
  readonly kind: string;
  readonly productId: string;
  /** null: nobody's */
  readonly owner: string | null;
  readonly ticket: string | null;
  /** of an incident these are null */
  readonly amount: string | null;
  readonly currency: string | null;
  readonly username: string | null;
  readonly reason: string | null;
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
