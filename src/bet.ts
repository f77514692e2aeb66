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
  /** the fields that the interface does not name, as JSON text of an object; null: there are none */
  readonly extra: string | null;
}

/** A record that cannot be used, stored with its text for inspection. */
export interface RejectedRecord {
  /** the item as JSON text, numbers as sent */
  readonly raw: string;
  /** names the field and the value */
  readonly reason: string;
}

/** One page of a window, from `betTransactionsV2` (§4.B3). */
export interface BetPage {
  readonly records: readonly BetRecord[];
  readonly rejected: readonly RejectedRecord[];
  /** the cursor of the next page; null: this is the last page */
  readonly nextId: string | null;
  /** when the page was requested */
  readonly requestedAt: Instant;
  /** the provider's time for the answer, without the wait for the request budget (decision 21) */
  readonly tookMs: number;
}

/** A request to `betTransactionsV2`: one page of a range of one product. */
export interface BetPageRequest {
  readonly productId: string;
  readonly from: Instant;
  readonly to: Instant;
  readonly nextId: string | null;
  /** called right before the request is sent, after any wait; an error that it throws rejects the request */
  readonly beforeSending?: () => void;
  /**
   * asked while the request waits for a slot; true: it takes one only when its share of the requests is due (decision
   * 267)
   */
  readonly waitsForTurn?: () => Promise<boolean>;
}

/** The urgencies of requests, the most urgent first. */
export const REQUEST_URGENCIES = ["live", "verify", "confirm", "resweep", "backfill"] as const;
export type RequestUrgency = (typeof REQUEST_URGENCIES)[number];

/** Fetches one page. Rejects with a ReconError with a code of `provider-*`. The default urgency is "live". */
export type FetchBetPage = (
  request: BetPageRequest,
  signal: AbortSignal,
  urgency?: RequestUrgency,
) => Promise<BetPage>;

/**
 * The fields of a stored record that comparing needs, with the times at which its present version was first seen and
 * requested. Texts of unlimited length are left out, so a limit of rows is also one of bytes.
 */
export interface StoredRecord extends Omit<BetRecord, "gameCode" | "gameName" | "extra"> {
  readonly versionSeenAt: Instant;
  readonly requestedAt: Instant;
  /** what the provider lists, if `stake` is 0 because that is nominal (`products[].nominalStakes`) */
  readonly listedStake?: Amount;
}

export type LedgerStatus = "open" | "settled" | "void";

/** What the entries of a bet declared and moved in one currency. */
export interface MoneyInCurrency
  extends Pick<LedgerBet, "currency" | "stake" | "payout" | "reward" | "asked" | "moved"> {}

/** What the ledger says about one bet: the fold of its callback entries. */
export interface LedgerBet {
  readonly productId: string;
  readonly username: string;
  readonly currency: string;
  readonly txnId: string;
  /** the round of the first entry that names a real one; null: no entry does */
  readonly roundId: string | null;
  readonly status: LedgerStatus;
  readonly stake: Amount;
  /** the largest stake that the bet had before adjustments; 0: the player never paid for it */
  readonly largestStake: Amount;
  /** settlement and reward together */
  readonly payout: Amount;
  /** the part of the payout that came as winRewards */
  readonly reward: Amount;
  /** the number of settlements and rewards in `payout`, at least 1 */
  readonly payouts: number;
  /** the money that the wallet moved, signed: negative is money taken from the player */
  readonly moved: Amount;
  /** the number of entries in `moved` */
  readonly movements: number;
  /** the money that the entries asked the wallet to move, signed alike */
  readonly asked: Amount;
  /** what entries of other currencies declared and moved; amounts of two currencies are never added */
  readonly others: readonly MoneyInCurrency[];
  /** the part of the payout that settles paid after which others follow; null: there is no such settle */
  readonly paidInParts: Amount | null;
  /** placed as WAITING and not yet accepted by the provider (§4.A2) */
  readonly waiting: boolean;
  /** the bet has a placeBets entry, or a single-state settle, which also places it */
  readonly placed: boolean;
  /** the bet has no entries but winRewards */
  readonly rewardOnly: boolean;
  readonly tip: boolean;
  /** one entry settled the bet together with other bets of its round, so that only their sums can be compared */
  readonly settledByRound: boolean;
  readonly firstEntryAt: Instant;
  readonly lastEntryAt: Instant;
  /** of any entry: repeats and rewards too */
  readonly lastReceivedAt: Instant;
}

/** The longest bet: no callback or record of one that began earlier is expected any more. */
export const LONGEST_BET_MS = 400 * 24 * 3_600_000;

/** The round of a roundId; null for an empty or `UNKNOWN` one. */
export function realRound(roundId: string | null): string | null {
  return roundId === null || roundId === "" || roundId === "UNKNOWN" ? null : roundId;
}
