/** Bets and sessions of which each state is known: what either side holds, on which moment it counts, and until when. */

import type { BetRecord, BetStatus } from "../../../src/bet.ts";
import type { CallbackEntry } from "../../../src/callback.ts";
import type { Instant } from "../../../src/clock.ts";
import type { MismatchKind } from "../../../src/mismatch.ts";
import { type Amount, ZERO } from "../../../src/money.ts";
import type { ShownVersion } from "../../../src/sandbox/world/world-plan.ts";
import type { TimeRange } from "../../../src/window.ts";

/** The sums of one side. */
export interface Side {
  readonly bets: number;
  readonly stake: Amount;
  readonly payout: Amount;
  readonly net: Amount;
}

export const NO_SIDE: Side = { bets: 0, stake: ZERO, payout: ZERO, net: ZERO };

/** What a part of a bet counts for. */
interface Count {
  /** decides the day */
  readonly at: Instant;
  readonly provider: Side;
  readonly ledger: Side;
}

/** What is true from a moment on. */
export interface BetState {
  readonly from: Instant;
  readonly counts: readonly Count[];
  /** a side still runs, so nothing of the bet may be deleted */
  readonly isOpen: boolean;
}

/** A change that an operator makes in the ledger with plain SQL. */
interface LedgerEdit {
  readonly at: Instant;
  readonly entryId: string;
  /** decimal text; null: the entry is deleted */
  readonly payout: string | null;
}

/** A bet, a round or a session, from its beginning to its last change. */
export interface ChangingBet {
  readonly story: string;
  readonly productId: string;
  readonly username: string;
  readonly currency: string;
  /** every txn id, betId and record id */
  readonly ids: readonly string[];
  readonly startedAt: Instant;
  readonly entries: readonly CallbackEntry[];
  readonly records: readonly (readonly ShownVersion[])[];
  readonly edits: readonly LedgerEdit[];
  /** in their order */
  readonly states: readonly BetState[];
  /** the kinds of mismatches that may be opened about it */
  readonly mayShow: readonly MismatchKind[];
  /** the kind that must be found; null: none must */
  readonly mustShow: MismatchKind | null;
  /** times that must be fetched again, from a moment on, before the provider's change is known */
  readonly refetch: readonly (TimeRange & { readonly after: Instant })[];
}

/** The state at a moment; null: the bet has not begun. */
export function stateAt({ states }: ChangingBet, now: Instant): BetState | null {
  return states.findLast(({ from }) => from <= now) ?? null;
}

export function settled(stake: Amount, payout: Amount, bets = 1): Side {
  return { bets, stake, payout, net: payout.minus(stake) };
}

export function running(stake: Amount): Side {
  return { bets: 1, stake, payout: ZERO, net: stake.neg() };
}

interface Names {
  readonly productId: string;
  readonly username: string;
  readonly currency: string;
  readonly txnId: string;
  readonly roundId: string | null;
}

type EntryParts = Pick<CallbackEntry, "callback" | "status" | "occurredAt" | "receivedAt" | "moved"> &
  Partial<Pick<CallbackEntry, "betAmount" | "payoutAmount">>;

/** @param number distinguishes the entries of a bet */
export function entry(names: Names, number: number, parts: EntryParts): CallbackEntry {
  return {
    entryId: `e-${names.txnId}-${number}`,
    requestId: `q-${names.txnId}-${number}`,
    ...names,
    betAmount: null,
    payoutAmount: null,
    transactionType: null,
    singleState: null,
    endRound: null,
    skipBalanceUpdate: false,
    balanceBefore: null,
    balanceAfter: null,
    ...parts,
  };
}

export function place(names: Names, at: Instant, stake: Amount, receivedAt = at + 1_000): CallbackEntry {
  const moved = stake.neg();
  return entry(names, 1, {
    callback: "placeBets",
    status: "OPEN",
    occurredAt: at,
    receivedAt,
    betAmount: stake,
    moved,
  });
}

export function settle(
  names: Names,
  at: Instant,
  stake: Amount,
  payout: Amount,
  receivedAt = at + 1_000,
): CallbackEntry {
  return entry(names, 2, {
    callback: "settleBets",
    status: "SETTLED",
    occurredAt: at,
    receivedAt,
    betAmount: stake,
    payoutAmount: payout,
    moved: payout,
  });
}

/** A version of a record. @param shownAt the time from which the report shows it */
export function shown(
  { txnId, roundId, ...names }: Names,
  { shownAt, accountedAt }: { readonly shownAt: Instant; readonly accountedAt: Instant },
  betStatus: BetStatus,
  stake: Amount,
  payout: Amount,
): ShownVersion {
  const record: BetRecord = {
    id: `r-${txnId}`,
    betId: txnId,
    ...names,
    roundId: roundId ?? txnId,
    accountingDate: new Date(accountedAt).toISOString(),
    updatedDate: new Date(Math.max(shownAt, accountedAt)).toISOString(),
    stake,
    payout,
    gameCode: "year-1",
    gameName: "A long year",
    betStatus,
    payoutStatus: payoutStatusOf(betStatus, stake, payout),
    extra: null,
  };
  return { at: shownAt, accountedAt, record };
}

function payoutStatusOf(status: BetStatus, stake: Amount, payout: Amount): BetRecord["payoutStatus"] {
  if (status !== "SETTLED") return "UNKNOWN";
  if (payout.eq(stake)) return "DRAW";
  return payout.gt(stake) ? "WIN" : "LOSE";
}
