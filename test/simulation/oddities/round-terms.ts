/** The terms of a written round: its circumstances, entries, records and fault. */

import type { BetStatus, PayoutStatus } from "../../../src/bet.ts";
import type { Instant } from "../../../src/clock.ts";
import type { Amount } from "../../../src/money.ts";
import type { SandboxPlayer } from "../../../src/sandbox/world/played-round.ts";
import type { Random } from "../../../src/sandbox/world/random.ts";
import type { SandboxGame } from "../../../src/sandbox/world/styles.ts";
import type { NamedAmounts } from "./books.ts";
import type { OddWorldPlan } from "./odd-plan.ts";

/** The product, the players and the time of a round. */
export interface RoundContext {
  readonly plan: OddWorldPlan;
  readonly productId: string;
  readonly roundId: string;
  readonly game: SandboxGame;
  readonly player: SandboxPlayer;
  /** a player who is not in the round */
  readonly stranger: SandboxPlayer;
  readonly startedAt: Instant;
  readonly random: Random;
}

/** The values of an entry, besides its callback, bet and time. */
export interface EntryTerms {
  /** the signed move of the wallet */
  readonly moved: Amount;
  readonly bet?: Amount;
  readonly payout?: Amount;
  readonly status?: string;
  readonly type?: "BY_TRANSACTION" | "BY_ROUND";
  /** the flags of a settlement; default: no flags */
  readonly singleState?: boolean;
  readonly endRound?: boolean;
  readonly skip?: boolean;
  /** lines of one request share this name; default: a request of its own */
  readonly request?: string;
  readonly round?: string;
  /** default: the player's */
  readonly currency?: string;
  /** `moved` differs from the item's amounts, so the ledger must contain `moved` */
  readonly unasked?: boolean;
}

/** A version of a record. Missing values are those of the round. */
export interface Version {
  readonly status: BetStatus;
  readonly stake: Amount;
  readonly payout?: Amount;
  /** the accountingDate; default: the time of the version */
  readonly accountedAt?: Instant;
  readonly payoutStatus?: PayoutStatus;
  readonly username?: string;
  readonly currency?: string;
  readonly round?: string;
  /** default: both ids come from the record's name */
  readonly ids?: { readonly id: string; readonly betId: string };
}

/** The bets and records of a fault. */
export interface FaultSubject {
  /** names of bets; the moves of their entries are at risk */
  readonly bets: readonly string[];
  /** names of records */
  readonly records: readonly string[];
  /** the ledger's sums of stake and payout; `NOTHING` if the ledger has none */
  readonly ledger: NamedAmounts;
  /** what the mismatch names besides the player; default: the first bet and record, and their round */
  readonly names?: "round" | "nothing";
}
