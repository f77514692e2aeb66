/** A round as an odd style writes it line by line: where it is played, and what each line says. */

import type { BetStatus, PayoutStatus } from "../../../src/bet.ts";
import type { Instant } from "../../../src/clock.ts";
import type { Amount } from "../../../src/money.ts";
import type { SandboxPlayer } from "../../../src/sandbox/world/played-round.ts";
import type { Random } from "../../../src/sandbox/world/random.ts";
import type { SandboxGame } from "../../../src/sandbox/world/styles.ts";
import type { NamedAmounts } from "./books.ts";
import type { OddWorldPlan } from "./odd-plan.ts";

/** Where and with whom a round is played. */
export interface RoundContext {
  readonly plan: OddWorldPlan;
  readonly productId: string;
  readonly roundId: string;
  readonly game: SandboxGame;
  readonly player: SandboxPlayer;
  /** who has nothing to do with the round */
  readonly stranger: SandboxPlayer;
  readonly startedAt: Instant;
  readonly random: Random;
}

/** What a callback says of one bet beside its name, its bet and its time. */
export interface EntryTerms {
  /** what the wallet did, signed */
  readonly moved: Amount;
  readonly bet?: Amount;
  readonly payout?: Amount;
  readonly status?: string;
  readonly type?: "BY_TRANSACTION" | "BY_ROUND";
  /** a settle's own flags; without them it has none */
  readonly singleState?: boolean;
  readonly endRound?: boolean;
  readonly skip?: boolean;
  /** lines of one request share this name; without it the line is a request of its own */
  readonly request?: string;
  readonly round?: string;
  /** `moved` is not what the item asks for, and has to be said */
  readonly unasked?: boolean;
}

/** A record's version; what is not given is that of the round. */
export interface Version {
  readonly status: BetStatus;
  readonly stake: Amount;
  readonly payout?: Amount;
  /** the accountingDate; without it the time of the version */
  readonly accountedAt?: Instant;
  readonly payoutStatus?: PayoutStatus;
  readonly username?: string;
  readonly currency?: string;
  readonly round?: string;
  /** without it both ids follow from the record's name */
  readonly ids?: { readonly id: string; readonly betId: string };
}

/** What a fault is about. */
export interface FaultSubject {
  /** names of bets; what their entries moved is at stake */
  readonly bets: readonly string[];
  /** names of records */
  readonly records: readonly string[];
  /** stake and payout as the ledger adds them up; of nothing where it has none */
  readonly ledger: NamedAmounts;
  /** what the mismatch names beside the player; without it the first bet and record, and their round */
  readonly names?: "round" | "nothing";
}
