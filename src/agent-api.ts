/** What the agent API is asked and what it answers (§4.B, §4.C), in words: the client and the flows share them. */

import type { Amount } from "./money.ts";
import type { TransferType } from "./transfer.ts";

/** Moves credit between the operator and a product (§4.C2, §4.C3). */
export interface MoneyRequest {
  readonly username: string;
  readonly productId: string;
  /** decimal text above 0 with exactly two digits behind the point, as "10.00" (§8) */
  readonly amount: string;
  /** unique among all transfers, chosen by the operator */
  readonly transactionRef: string;
}

/** What the provider says it did at once (§4.C2, §4.C3); only a verification makes it certain. */
export interface MoneyAnswer {
  readonly username: string;
  readonly amount: Amount;
  /** at the product, before and after */
  readonly beforeBalance: Amount;
  readonly balance: Amount;
  /** the transactionRef of the request */
  readonly txId: string;
  /** "SUCCESS" in the interface's sample; other values are not shown there */
  readonly status: string;
  /** JSON object text of the fields the interface does not name, or null where there is none */
  readonly extra: string | null;
}

/** Which transfer to ask about (§4.C4). */
export interface TransferQuestion {
  readonly username: string;
  readonly productId: string;
  readonly transactionRef: string;
  readonly type: TransferType;
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
 * Whether a transfer happened (§4.C4). One that failed may lack every value: null is what was not said.
 * It always speaks of the transactionRef that was asked for.
 */
export type TransferAnswer = (
  | ({ readonly success: true } & AnsweredTransfer)
  | ({ readonly success: false } & KnownFields<AnsweredTransfer>)
) & {
  readonly transactionRef: string;
  /** null: it was not said */
  readonly beforeBalance: Amount | null;
  readonly afterBalance: Amount | null;
  /** the whole answer as it came, up to 1 MiB; any character can stand in it, NUL too */
  readonly raw: string;
};

/** Which move of a game in play to ask about (§4.B5). */
export interface TopUpQuestion {
  readonly username: string;
  /** the refId of its adjustBalance callback */
  readonly transactionId: string;
}

export const TOP_UP_ITEM_TYPES = ["TopUp", "Withdraw"] as const;

export interface TopUpItem {
  /** should be the transactionId that was asked for */
  readonly id: string;
  /** ISO-like text as it came; its form and offset are not shown by the interface. null: it was not said */
  readonly time: string | null;
  /** may be negative where the type is Withdraw */
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
  /** the whole answer as it came, up to 1 MiB; any character can stand in it, NUL too */
  readonly raw: string;
};

/**
 * Every one of these rejects with a ReconError: `bad-request` before anything is sent where the question is none;
 * else one of `provider-*`, whose `answer` is what the provider said, if it said anything.
 */
export interface TransferApi {
  /** POST /deposit (§4.C2). Never sent twice by anything in here. */
  deposit(request: MoneyRequest, signal?: AbortSignal): Promise<MoneyAnswer>;
  /** POST /withdraw (§4.C3). Never sent twice by anything in here. */
  withdraw(request: MoneyRequest, signal?: AbortSignal): Promise<MoneyAnswer>;
  /** POST /verifyDepositWithdraw (§4.C4). */
  verifyDepositWithdraw(question: TransferQuestion, signal?: AbortSignal): Promise<TransferAnswer>;
  /** POST /<topUpPath>/verify-topup (§4.B5). @param topUpPath the product's own path segment */
  verifyTopUp(topUpPath: string, question: TopUpQuestion, signal?: AbortSignal): Promise<TopUpAnswer>;
}
