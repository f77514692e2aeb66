/** The lines that a pair adds to the day's statement, and the day that it counts on. */

import { type LedgerBet, type MoneyInCurrency, realRound, type StoredRecord } from "../bet.ts";
import { type Instant, parseInstant } from "../clock.ts";
import { howSoon } from "../confirmed.ts";
import { type Amount, sumAmounts, ZERO } from "../money.ts";
import {
  type Compared,
  type Counted,
  type MovedMoney,
  NO_SUMS,
  type RewardsAndTips,
  type Shown,
  type SideSums,
} from "../report.ts";
import type { AssessedPair } from "./assess.ts";
import { type CompareSettings, isBeforeLedger, isDebitedBefore, ranAtLedgerStart } from "./compare.ts";
import type { DiffMark } from "./mark-store.ts";
import { amountsMoved, askedByState, expectedMove, stakeOfTip } from "./money-moved.ts";
import { allowanceOf, isRunning, lastEntryOf, sumBets, sumRecords } from "./sums.ts";

/** Both sides of a pair in one currency, and what the wallet moved for it. */
export interface StatementLine extends MovedMoney, RewardsAndTips {
  readonly currency: string;
  readonly provider: SideSums;
  readonly ledger: SideSums;
  /** which sides have the bet in this currency */
  readonly sides: Pick<Shown, "provider" | "ledger">;
  /** nothing but `moved` was looked at, so there is no difference to explain */
  readonly isExempt: boolean;
}

/**
 * The time that decides a pair's day, on both sides: the latest accountingDate; without a record, the time of the
 * last entry.
 */
export function countsAt({ records, bets }: AssessedPair["pair"]): Instant {
  if (records.length === 0) return lastEntryOf(bets);
  return records
    .map((record) => parseInstant(record.accountingDate, "accountingDate"))
    .reduce((a, b) => Math.max(a, b));
}

/** The names of a pair. They do not depend on the order of its records and bets. */
export function nameOfPair({
  records,
  bets,
}: AssessedPair["pair"]): Pick<Counted, "subject" | "betRef" | "betId" | "transactionId"> {
  const firstOf = (ids: readonly string[]) => ids.reduce((a, b) => (b < a ? b : a), ids[0] ?? "");
  const betId = records.length === 0 ? null : firstOf(records.map((record) => record.betId));
  const transactionId = bets.length === 0 ? null : firstOf(bets.map((bet) => bet.txnId));
  const rounds = (bets.length > 0 ? bets : records).flatMap((side) => realRound(side.roundId) ?? []);
  const betRef = transactionId ?? betId ?? "";
  const subject = rounds.length > 0 ? `round:${firstOf(rounds)}` : `bet:${betRef}`;
  return { subject, betRef, betId, transactionId };
}

/**
 * One line of a pair for each currency. A pair that is not compared only says what moved: a bet that ran when the
 * ledger began, or a tip that agrees. Money before the ledger's beginning moved outside. If a tip has `net-differs`,
 * the provider's side is what the tip asked for.
 * @param isMisnamed a `username-differs` stands for it, so it is compared with a record of another player
 */
export function statePair(
  { pair, pending }: AssessedPair,
  settings: CompareSettings,
  isMisnamed = false,
): StatementLine[] {
  const { records, bets } = pair;
  const isTip = bets.length > 0 && bets.every((bet) => bet.tip);
  const others = bets.flatMap((bet) => bet.others);
  const movedIn = (currency: string) =>
    sumAmounts([...bets, ...others].filter((side) => side.currency === currency).map(({ moved }) => moved));
  const sidesIn = (currency: string) => {
    const listed = records.filter((record) => record.currency === currency);
    const held = bets.filter(
      (bet) => bet.currency === currency || bet.others.some((other) => other.currency === currency),
    );
    return {
      provider: listed.length === 0 ? null : { status: sumRecords(listed).status },
      ledger: held.length === 0 ? null : { status: sumBets(held).status },
    };
  };
  if (pending === null && !isMisnamed && isExempt(pair, settings, isTip)) {
    const isOutside = isBeforeLedger(pair, settings.ledgerStart);
    return [...new Set([...bets, ...others].map(({ currency }) => currency))].map((currency) => {
      const [moved, outside] = isOutside ? [ZERO, movedIn(currency)] : [movedIn(currency), ZERO];
      const tips = isOutside ? ZERO : tipsAmong(bets, currency);
      return {
        currency,
        provider: NO_SUMS,
        ledger: NO_SUMS,
        sides: sidesIn(currency),
        moved,
        outside,
        rewards: ZERO,
        tips,
        isExempt: true,
      };
    });
  }
  const currencies = [...new Set([...records, ...bets, ...others].map((side) => side.currency))];
  const debitedBefore = pending !== null && isDebitedBefore(pair, pending.content, settings);
  const sayStakes = (sums: SideSums) => (debitedBefore ? { ...sums, stake: ZERO } : sums);
  return currencies.map((currency) => ({
    currency,
    provider:
      isTip && pending?.content.kind === "net-differs"
        ? { ...NO_SUMS, net: askedByState({ ...pair, records: [] }) }
        : sayStakes(
            stateRecords(
              records.filter((record) => record.currency === currency),
              debitedBefore,
            ),
          ),
    ledger: sayStakes(
      stateBets(
        bets.filter((bet) => bet.currency === currency),
        others.filter((other) => other.currency === currency),
        isTip,
      ),
    ),
    sides: sidesIn(currency),
    moved: movedIn(currency),
    outside: ZERO,
    rewards: rewardsAmong(bets, currency),
    tips: tipsAmong(bets, currency),
    isExempt: false,
  }));
}

/**
 * The allowed difference of a pair's money, and whether the pair was compared and agrees. A bet without a record
 * agrees only if it is void.
 */
export function howCompared(
  { pair, pending }: AssessedPair,
  currency: string,
  settings: CompareSettings,
): Compared {
  const { records, bets } = pair;
  const hasBoth = bets.length > 0 && (records.length > 0 || bets.every((bet) => bet.status === "void"));
  return {
    allowance: allowanceOf(settings.tolerance, currency, amountsMoved(pair)),
    agrees: pending === null && hasBoth,
  };
}

/** Whether one of the sides still runs. Until both have ended, their money need not agree. */
export function stillRuns({ records, bets }: AssessedPair["pair"]): boolean {
  return records.some(isRunning) || bets.some((bet) => bet.status === "open");
}

function isExempt(pair: AssessedPair["pair"], settings: CompareSettings, isTip: boolean): boolean {
  return (
    isTip ||
    isBeforeLedger(pair, settings.ledgerStart) ||
    pair.bets.some((bet) => ranAtLedgerStart(bet, settings))
  );
}

/** @param debitedBefore the stakes were debited before the ledger began, so no entry of the ledger is to match them */
function stateRecords(records: readonly StoredRecord[], debitedBefore: boolean): SideSums {
  const listed = records.filter((record) => record.betStatus !== "VOID");
  const net = sumAmounts(listed.map(expectedMove));
  return {
    bets: listed.length,
    stake: sumAmounts(listed.map((record) => record.stake)),
    payout: sumAmounts(listed.map((record) => record.payout)),
    net: debitedBefore ? net.plus(sumAmounts(records.map((record) => record.stake))) : net,
  };
}

/** @param others the money that entries of this currency moved for bets of another one, which are counted there */
function stateBets(bets: readonly LedgerBet[], others: readonly MoneyInCurrency[], isTip: boolean): SideSums {
  const held = isTip ? [] : bets.filter((bet) => bet.status !== "void");
  const declared = isTip ? [] : [...held, ...others];
  return {
    bets: held.length,
    stake: sumAmounts(declared.map(({ stake }) => stake)),
    payout: sumAmounts(declared.map(({ payout }) => payout)),
    net: sumAmounts([...bets, ...others].map(({ moved }) => moved)),
  };
}

/** The part of the payout of `stateBets` that was rewards. */
function rewardsAmong(bets: readonly LedgerBet[], currency: string): Amount {
  const paid = bets
    .filter(({ tip }) => !tip)
    .flatMap((bet) => (bet.status === "void" ? bet.others : [bet, ...bet.others]));
  return sumAmounts(paid.filter((one) => one.currency === currency).map(({ reward }) => reward));
}

function tipsAmong(bets: readonly LedgerBet[], currency: string): Amount {
  const tips = bets
    .filter(({ tip }) => tip)
    .flatMap((bet) => [bet, ...bet.others.map((other) => ({ ...bet, ...other }))]);
  return sumAmounts(tips.filter((one) => one.currency === currency).map(stakeOfTip));
}

/** How soon a pair that agrees and has ended was confirmed. */
export function confirmedOf(
  pair: AssessedPair["pair"],
  at: Instant,
  agrees: boolean,
): Pick<Counted, "confirmed"> {
  if (!agrees || stillRuns(pair)) return {};
  const { records, bets } = pair;
  const seen = [...records.map((one) => one.versionSeenAt), ...bets.map((one) => one.lastReceivedAt)];
  return {
    confirmed: howSoon(
      at,
      seen.reduce((a, b) => Math.max(a, b), Number.NEGATIVE_INFINITY),
    ),
  };
}

/** Tells of a player's pairs whether one of the marks names them. */
export function isMarkedFor(waiting: readonly DiffMark[]): (assessed: AssessedPair) => boolean {
  const rounds = new Set(waiting.map((mark) => mark.roundId).filter((round) => round !== null));
  const refs = new Set(waiting.map((mark) => mark.betRef).filter((ref) => ref !== null));
  return ({ pair: { records, bets } }) =>
    records.some((record) => refs.has(record.betId) || refs.has(record.id)) ||
    bets.some((bet) => refs.has(bet.txnId)) ||
    [...records, ...bets].some((side) => rounds.has(realRound(side.roundId) ?? ""));
}
