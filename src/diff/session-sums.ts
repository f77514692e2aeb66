/** A session and its sums: what its entries declare, and what the wallet moved for them. */

import type { LedgerBet, StoredRecord } from "../bet.ts";
import { type CallbackEntry, inLedgerOrder } from "../callback.ts";
import { type Instant, parseInstant } from "../clock.ts";
import { type Amount, sumAmounts, ZERO } from "../money.ts";
import type { SideSums } from "../report.ts";
import { amountsListed, stakeOfTip } from "./money-moved.ts";
import { allowanceOf, differByAtMost, type Tolerance } from "./tolerance.ts";

/**
 * A player's entries and records in one currency without a pause longer than the quiet time, or several such runs that a
 * record joins.
 */
export interface PlayerSession {
  readonly username: string;
  readonly currency: string;
  /** the times of its first and last movement, reward, tip or record */
  readonly firstAt: Instant;
  readonly lastAt: Instant;
  /** adjustBalance entries, and all entries of the rewards and tips; in ledger order */
  readonly entries: readonly CallbackEntry[];
  readonly records: readonly StoredRecord[];
  /** the rewards and tips: each counts at the time of its first entry */
  readonly bets: readonly LedgerBet[];
}

/** The place of a record in time. */
export function accountedAt(record: StoredRecord): Instant {
  return parseInstant(record.accountingDate, "accountingDate");
}

/** The sums of both sides of a session. */
export interface SessionSums {
  readonly provider: SideSums;
  /** debits and tips, credits and rewards; `net` is what the wallet moved. A session has no bets. */
  readonly ledger: SideSums;
  /** what the entries ask to be moved */
  readonly declared: Amount;
}

export function sumSession(session: PlayerSession): SessionSums {
  const played = session.records.filter((record) => record.betStatus !== "VOID");
  // A tip's callback may say no amount, or skip the balance. Then its record's stake is compared with nothing. A record with
  // a payout is no tip.
  const unsaid = new Set(
    session.bets
      .filter((bet) => bet.tip && bet.status !== "void" && stakeOfTip(bet).eq(ZERO))
      .map(({ txnId }) => txnId),
  );
  const stake = sumAmounts(
    played
      .filter(({ betId, id, payout }) => !payout.eq(ZERO) || !(unsaid.has(betId) || unsaid.has(id)))
      .map((record) => record.stake),
  );
  const payout = sumAmounts(played.map((record) => record.payout));
  const movements = movementsOf(session);
  return {
    provider: { bets: played.length, stake, payout, net: payout.minus(stake) },
    ledger: {
      bets: 0,
      stake: sumAmounts(movements.map((one) => one.taken)),
      payout: sumAmounts(movements.map((one) => one.given)),
      net: sumAmounts(movements.map((one) => one.moved)),
    },
    declared: sumAmounts(movements.map((one) => one.asked)),
  };
}

/** An adjustBalance entry, a reward or a tip: what it declares, and what the wallet moved for it. */
export interface Movement {
  /** such as "the debit ref-1" */
  readonly name: string;
  readonly taken: Amount;
  readonly given: Amount;
  /** given − taken */
  readonly asked: Amount;
  readonly moved: Amount;
  /** the number of amounts in `moved` */
  readonly amounts: number;
}

/** Everything that a session asks the wallet to move. */
export function movementsOf({ entries, bets }: PlayerSession): Movement[] {
  const adjustments = entries.filter(({ callback }) => callback === "adjustBalance");
  const repeats = repeatsAmong(adjustments);
  return [
    ...adjustments.map((entry) => {
      const isRepeat = repeats.has(entry);
      const taken = isRepeat ? ZERO : (entry.betAmount ?? ZERO);
      const given = isRepeat ? ZERO : (entry.payoutAmount ?? ZERO);
      const asked = given.minus(taken);
      const name = `${isRepeat ? "the repeat of " : ""}the ${entry.status === "DEBIT" ? "debit" : "credit"} ${entry.txnId}`;
      const moved = entry.moved ?? (entry.skipBalanceUpdate ? ZERO : asked);
      return { name, taken, given, asked, moved, amounts: 1 };
    }),
    ...bets.map((bet) => {
      const { tip, txnId, status, payout, moved, movements } = bet;
      const taken = tip ? stakeOfTip(bet) : ZERO;
      const given = tip || status === "void" ? ZERO : payout;
      const name = `the ${tip ? "tip" : "reward"} ${txnId}`;
      return { name, taken, given, asked: given.minus(taken), moved, amounts: movements };
    }),
  ];
}

/** What each adjustBalance entry asks to be moved; a repeat, or one that is skipped, asks for nothing. @param entries of one player */
export function askedByAdjustments(entries: readonly CallbackEntry[]): Map<CallbackEntry, Amount> {
  const sorted = [...entries].sort(inLedgerOrder);
  const repeats = repeatsAmong(sorted);
  return new Map(
    sorted.map((entry) => [
      entry,
      repeats.has(entry) || entry.skipBalanceUpdate
        ? ZERO
        : (entry.payoutAmount ?? ZERO).minus(entry.betAmount ?? ZERO),
    ]),
  );
}

/**
 * The entries whose reference was used before with the same content. They declare nothing new, but money that they moved
 * counts. An equal entry of another request that moved money is no repeat (§4.A8).
 */
function repeatsAmong(entries: readonly CallbackEntry[]): ReadonlySet<CallbackEntry> {
  const known = new Map<string, Set<string>>();
  const repeats = new Set<CallbackEntry>();
  for (const entry of entries) {
    const content = JSON.stringify([
      entry.txnId,
      entry.status,
      (entry.betAmount ?? ZERO).toFixed(),
      (entry.payoutAmount ?? ZERO).toFixed(),
    ]);
    const requests = known.get(content) ?? new Set();
    const movedNothing = entry.moved?.eq(ZERO) ?? true;
    if (requests.size > 0 && (movedNothing || requests.has(entry.requestId))) repeats.add(entry);
    known.set(content, requests.add(entry.requestId));
  }
  return repeats;
}

/**
 * The allowed difference of a session's sums: the tolerance times the number of amounts on the side that has more.
 */
export function allowanceOfSession(
  { records, entries, currency }: PlayerSession,
  tolerance: Tolerance,
): Amount {
  return allowanceOf(tolerance, currency, Math.max(amountsListed(records), entries.length));
}

/** Whether the declared sums of both sides agree. */
export function isClosed(session: PlayerSession, tolerance: Tolerance): boolean {
  const { provider, declared } = sumSession(session);
  return differByAtMost(declared, provider.net, allowanceOfSession(session, tolerance));
}
