/** A bet as the provider reports it (§2.4), and as the ledger has it. */

import type { Instant } from "./clock.ts";
import type { Amount } from "./money.ts";

export const BET_STATUSES = ["OPEN", "SETTLED", "UNSETTLED", "VOID"] as const;
export type BetStatus = (typeof BET_STATUSES)[number];

export const PAYOUT_STATUSES = ["LOSE", "WIN", "DRAW", "UNKNOWN"] as const;
export type PayoutStatus = (typeof PAYOUT_STATUSES)[number];

/** One bet record (§2.4). */
export interface BetRecord {
  readonly id: string;
  readonly betId: string;
  readonly username: string;
  /** ISO 4217 */
  readonly currency: string;
  /** ISO 8601 with an offset */
  readonly accountingDate: string;
  /** ISO 8601 with an offset */
  readonly updatedDate: string;
  readonly stake: Amount;
  /** includes the stake */
  readonly payout: Amount;
  readonly productId: string;
  readonly gameCode: string;
  readonly gameName: string;
  readonly roundId: string;
  readonly betStatus: BetStatus;
  readonly payoutStatus: PayoutStatus;
  /** JSON object text of the fields the interface does not name, or null where there is none */
  readonly extra: string | null;
}

/** A record that cannot be used, kept for people with its text. */
export interface RejectedRecord {
  /** the item as JSON text, numbers as sent */
  readonly raw: string;
  /** names the field and the value */
  readonly reason: string;
}

/** One chunk of a `betTransactionsV2` answer (§4.B3). */
export interface BetPage {
  readonly records: readonly BetRecord[];
  readonly rejected: readonly RejectedRecord[];
  /** cursor of the next chunk; null: this was the last */
  readonly nextId: string | null;
  /** when it was asked for */
  readonly requestedAt: Instant;
  /** how long the provider took to answer */
  readonly tookMs: number;
}

/** What to ask `betTransactionsV2` for: one chunk of one range of one product. */
export interface BetPageRequest {
  readonly productId: string;
  readonly from: Instant;
  readonly to: Instant;
  readonly nextId: string | null;
  /** runs right before the request is sent, however long it had to wait; what it throws is the answer */
  readonly beforeSending?: () => void;
}

/** What a request is for, in the order in which requests are let through. */
export const REQUEST_URGENCIES = ["live", "verify", "confirm", "resweep", "backfill"] as const;
export type RequestUrgency = (typeof REQUEST_URGENCIES)[number];

/**
 * Asks the provider for one chunk; rejects with a ReconError whose code is one of `provider-*`.
 * Without an urgency the request is as urgent as a live one.
 */
export type FetchBetPage = (
  request: BetPageRequest,
  signal: AbortSignal,
  urgency?: RequestUrgency,
) => Promise<BetPage>;

/**
 * What comparing needs of a record in our own copy, with when its present version was first seen and requested. Each
 * of its texts is short, unlike those that are left out.
 */
export interface StoredRecord extends Omit<BetRecord, "gameCode" | "gameName" | "extra"> {
  readonly versionSeenAt: Instant;
  readonly requestedAt: Instant;
}

export type LedgerStatus = "open" | "settled" | "void";

/** What the ledger says about one bet: the fold of its callback entries. */
export interface LedgerBet {
  readonly productId: string;
  readonly username: string;
  readonly currency: string;
  readonly txnId: string;
  /** of its first entry that names one; null: none does */
  readonly roundId: string | null;
  readonly status: LedgerStatus;
  readonly stake: Amount;
  /** settlement and reward together */
  readonly payout: Amount;
  /** how many settlements and rewards `payout` is the sum of, at least 1 */
  readonly payouts: number;
  /** what the wallet really did, signed: negative is money taken from the player */
  readonly moved: Amount;
  /** how many entries `moved` is the sum of */
  readonly movements: number;
  /** what the entries asked the wallet to do, signed alike */
  readonly asked: Amount;
  /** placed as WAITING and not yet taken: the provider still considers it (§4.A2) */
  readonly waiting: boolean;
  /** a placeBets entry is known, or a single-state settle, which places and settles in one */
  readonly placed: boolean;
  /** made of winRewards entries alone */
  readonly rewardOnly: boolean;
  readonly tip: boolean;
  /** one entry settled it together with other bets of its round: only their sums can be compared */
  readonly settledByRound: boolean;
  readonly firstEntryAt: Instant;
  readonly lastEntryAt: Instant;
  readonly lastReceivedAt: Instant;
}

/** An empty or `UNKNOWN` roundId is no round. */
export function realRound(roundId: string | null): string | null {
  return roundId === null || roundId === "" || roundId === "UNKNOWN" ? null : roundId;
}
