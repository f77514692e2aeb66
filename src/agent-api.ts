/** The answers of the agent API about money (§4.B, §4.C), which the client and the flows share. */

import type { MoneyRequest, TopUpQuestion, TransferQuestion } from "./agent-endpoints.ts";
import type { Amount } from "./money.ts";

/** The immediate answer to a deposit or withdrawal (§4.C2, §4.C3). Only a verification makes the outcome certain. */
export interface MoneyAnswer {
  readonly username: string;
  readonly amount: Amount;
  /** the player's balance at the product, before and after */
  readonly beforeBalance: Amount;
  readonly balance: Amount;
  /** the transactionRef of the request */
  readonly txId: string;
  /** "SUCCESS" in the interface's sample; other values are not shown there */
  readonly status: string;
  /** the fields that the interface does not name, as JSON text of an object; null: there are none */
  readonly extra: string | null;
}

interface AnsweredTransfer {
  readonly username: string;
  readonly productId: string;
  /** ISO 4217 */
  readonly currency: string;
  readonly amount: Amount;
}

type KnownFields<Fields> = { readonly [Name in keyof Fields]: Fields[Name] | null };

/**
 * Whether a transfer happened (§4.C4). The answer about a failed transfer may lack every value; null: not answered.
 * The transactionRef is always the one of the question.
 */
export type TransferAnswer = (
  | ({ readonly success: true } & AnsweredTransfer)
  | ({ readonly success: false } & KnownFields<AnsweredTransfer>)
) & {
  readonly transactionRef: string;
  /** null: not answered */
  readonly beforeBalance: Amount | null;
  readonly afterBalance: Amount | null;
  /** the text of the answer, up to 256 KiB; may contain any character, also NUL */
  readonly raw: string;
};

export const TOP_UP_ITEM_TYPES = ["TopUp", "Withdraw"] as const;

export interface TopUpItem {
  /** should be the transactionId of the question */
  readonly id: string;
  /** ISO-like text as it came, because the interface shows neither its form nor its offset; null: not answered */
  readonly time: string | null;
  /** may be negative if the type is Withdraw */
  readonly amount: Amount;
  readonly type: (typeof TOP_UP_ITEM_TYPES)[number];
  readonly username: string;
}

/** Code 0: it happened, with at least one item. Code 1: it failed, with none (§4.B5). Any other code is an error. */
export type TopUpAnswer = (
  | { readonly code: 0; readonly data: readonly TopUpItem[] }
  | { readonly code: 1; readonly data: null }
) & {
  readonly message: string;
  /** the text of the answer, up to 256 KiB; may contain any character, also NUL */
  readonly raw: string;
};

/**
 * All methods reject with a ReconError: `bad-request` for an invalid question, before anything is sent; otherwise a
 * code of `provider-*`, whose `answer` holds the provider's answer, if there was one.
 */
export interface TransferApi {
  /** POST /deposit (§4.C2). This program never sends it twice. */
  deposit(request: MoneyRequest, signal?: AbortSignal): Promise<MoneyAnswer>;
  /** POST /withdraw (§4.C3). This program never sends it twice. */
  withdraw(request: MoneyRequest, signal?: AbortSignal): Promise<MoneyAnswer>;
  /** POST /verifyDepositWithdraw (§4.C4). */
  verifyDepositWithdraw(question: TransferQuestion, signal?: AbortSignal): Promise<TransferAnswer>;
  /** POST /<topUpPath>/verify-topup (§4.B5). @param topUpPath the product's own path segment */
  verifyTopUp(topUpPath: string, question: TopUpQuestion, signal?: AbortSignal): Promise<TopUpAnswer>;
}
