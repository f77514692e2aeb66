/**
 * Compares the two sides of a pair. `whenOnlyAtProvider`, `whenOnlyInLedger` and `whenOnBothSides` each return the first
 * difference in the order of their checks.
 */

import type { BetStatus, LedgerBet, LedgerStatus } from "../bet.ts";
import { type Instant, parseInstant } from "../clock.ts";
import type { MismatchKind } from "../mismatch.ts";
import { formatMoney, ZERO } from "../money.ts";
import type { MatchSettings, Pair } from "./match.ts";
import { amountsMoved, askedByState } from "./money-moved.ts";
import {
  allowanceOf,
  differByAtMost,
  movedBy,
  type Sums,
  sumBets,
  sumRecords,
  type Tolerance,
} from "./sums.ts";

export interface CompareSettings {
  readonly productId: string;
  /** nothing before this time is compared */
  readonly ledgerStart: Instant;
  /**
   * a bet may stay open this long; a bet without a placement whose first entry is at most this long after
   * `ledgerStart` ran when the ledger began
   */
  readonly stuckOpenAfterMs: number;
  /** the provider lists bets that are still open */
  readonly openBetsListed: boolean;
  readonly tolerance: Tolerance;
}

export type AssessSettings = MatchSettings & CompareSettings;

/** The difference of a pair. The reason is one sentence that names the differing fields and both values. */
export interface Difference {
  readonly kind: MismatchKind;
  readonly reason: string;
}

/**
 * The first difference of a pair. `paid-elsewhere`, `other-player` and `assess` also ask with it whether sides would
 * agree, so what is no disagreement of the sides (a delay, for example) does not belong here.
 * @returns null if the sides agree, or if there is nothing to compare yet
 */
export function comparePair(pair: Pair, settings: CompareSettings): Difference | null {
  if (isBeforeLedger(pair, settings.ledgerStart)) return null;
  const mixed = inSeveralCurrencies(pair.bets);
  if (mixed.length > 0) return mixedDifference(mixed);
  if (pair.bets.length === 0) return whenOnlyAtProvider(pair);
  if (pair.records.length === 0) return whenOnlyInLedger(pair, settings);
  if (pair.agrees) return moneyDifference(pair, settings);
  return whenOnBothSides(pair, settings);
}

/** Whether all of a pair is older than the ledger, so it is not compared. */
export function isBeforeLedger({ records, bets }: Pair, ledgerStart: Instant): boolean {
  return (
    records.every((record) => parseInstant(record.accountingDate, "accountingDate") < ledgerStart) &&
    bets.every((bet) => bet.lastEntryAt < ledgerStart)
  );
}

function whenOnlyAtProvider({ records }: Pair): Difference | null {
  const provider = sumRecords(records);
  if (provider.status === "VOID") return null;
  return {
    kind: "missing-in-ledger",
    reason: `the provider has a bet that is ${describeSums(provider)}, but the ledger has no such bet: no callback for it was received`,
  };
}

function whenOnlyInLedger(pair: Pair, settings: CompareSettings): Difference | null {
  const ledger = sumBets(pair.bets);
  const isTip = pair.bets.every((bet) => bet.tip);
  const isExpected =
    ledger.status === "settled" ||
    (ledger.status === "open" && settings.openBetsListed && !pair.bets.some((bet) => bet.waiting));
  if (isExpected && !isTip) {
    return {
      kind: "missing-at-provider",
      reason: `the ledger has a bet that is ${describeSums(ledger)}, but the provider has no record of it`,
    };
  }
  const money = moneyDifference(pair, settings);
  if (money !== null || ledger.status !== "open") return money;
  return {
    kind: "stuck-open",
    reason: `open in the ledger for too long, with a stake of ${formatMoney(ledger.stake, ledger.currency)}; the provider has no record of it, and neither settleBets nor cancelBets was received`,
  };
}

function whenOnBothSides(pair: Pair, settings: CompareSettings): Difference | null {
  const provider = sumRecords(pair.records);
  const ledger = sumBets(pair.bets);
  const first = currencyDifference(pair) ?? placementDifference(pair, settings);
  if (first !== null) return first;
  const declared =
    statusDifference(pair, provider, ledger) ?? amountDifference(pair, provider, ledger, settings);
  if (declared !== null) return pair.matchedBy === "round" ? roundDifference(provider, ledger) : declared;
  return moneyDifference(pair, settings);
}

/** Bets whose entries have more than one currency. */
export function inSeveralCurrencies(bets: readonly LedgerBet[]): LedgerBet[] {
  return bets.filter(({ others }) => others.length > 0);
}

/** The record does not matter: amounts of two currencies cannot be compared. */
function mixedDifference(mixed: readonly LedgerBet[]): Difference {
  const parts = mixed.flatMap((bet) =>
    [bet, ...bet.others].map(
      ({ currency, asked, moved }) =>
        `in ${currency} they asked for ${formatMoney(asked, currency)} and the wallet moved ${formatMoney(moved, currency)}`,
    ),
  );
  return {
    kind: "currency-differs",
    reason: `the entries of one bet have several currencies: ${parts.join(", ")}`,
  };
}

function currencyDifference({ records, bets }: Pair): Difference | null {
  if (new Set([...records, ...bets].map((side) => side.currency)).size === 1) return null;
  const currenciesOf = (sides: readonly { readonly currency: string }[]) =>
    [...new Set(sides.map((side) => side.currency))].join(" and ");
  return {
    kind: "currency-differs",
    reason: `the currency is ${currenciesOf(records)} at the provider, ${currenciesOf(bets)} in the ledger`,
  };
}

/** Settled bets without a placement that need one. */
export function unplacedOf(bets: readonly LedgerBet[], settings: CompareSettings): LedgerBet[] {
  return bets.filter(
    (bet) =>
      bet.status === "settled" &&
      !bet.placed &&
      !bet.rewardOnly &&
      !bet.tip &&
      !ranAtLedgerStart(bet, settings),
  );
}

function placementDifference(pair: Pair, settings: CompareSettings): Difference | null {
  const unplaced = unplacedOf(pair.bets, settings);
  if (unplaced.length === 0) return null;
  const { stake, currency } = sumRecords(pair.records);
  const held = sumBets(unplaced);
  return {
    kind: "missing-placement",
    reason: `settled in the ledger with a payout of ${formatMoney(held.payout, held.currency)}, but the stake of ${formatMoney(stake, currency)} at the provider was never placed: no placeBets was received`,
  };
}

/** For a bet without a placement, which only a single-state settle could end. */
const UNPLACED_SETTLE = "placeBets, and no settleBets that is single-state,";

/** For a bet that was paid in parts: each settle said that others follow. */
const LAST_SETTLE = "settleBets that ends the bet";

function statusDifference(
  { bets }: Pair,
  provider: Sums<BetStatus>,
  ledger: Sums<LedgerStatus>,
): Difference | null {
  const providerRuns = provider.status === "OPEN" || provider.status === "UNSETTLED";
  if (ledger.status === "open") {
    if (providerRuns) return null;
    const settle = bets.some((bet) => bet.status === "open" && bet.placed) ? "settleBets" : UNPLACED_SETTLE;
    const isPartly = bets.some((bet) => bet.status === "open" && bet.paidInParts !== null);
    const missing = provider.status === "VOID" ? "cancelBets" : isPartly ? LAST_SETTLE : settle;
    const paid =
      provider.status === "VOID"
        ? ""
        : ` with a payout of ${formatMoney(provider.payout, provider.currency)}`;
    return {
      kind: "missing-settlement",
      reason: `${provider.status}${paid} at the provider, still open in the ledger: no ${missing} was received`,
    };
  }
  const agrees = ledger.status === "settled" ? provider.status === "SETTLED" : provider.status === "VOID";
  if (agrees) return null;
  return {
    kind: "status-differs",
    reason: `the bet is ${provider.status} at the provider, ${ledger.status} in the ledger`,
  };
}

function amountDifference(
  pair: Pair,
  provider: Sums<BetStatus>,
  ledger: Sums<LedgerStatus>,
  settings: CompareSettings,
): Difference | null {
  if (ledger.status === "void") return null;
  const { currency } = provider;
  const stakeIsKnown = !pair.bets.some((bet) => ranAtLedgerStart(bet, settings));
  const tipWithoutAmount =
    pair.bets.every((bet) => bet.tip) && (provider.stake.eq(ZERO) || ledger.stake.eq(ZERO));
  const allowance = (amounts: "stakes" | "payouts") =>
    allowanceOf(settings.tolerance, currency, Math.max(provider[amounts], ledger[amounts]));
  const sameStake = differByAtMost(provider.stake, ledger.stake, allowance("stakes"));
  if (stakeIsKnown && !tipWithoutAmount && !sameStake) {
    return {
      kind: "stake-differs",
      reason: `the stake is ${formatMoney(provider.stake, currency)} at the provider, ${formatMoney(ledger.stake, currency)} in the ledger`,
    };
  }
  if (
    ledger.status === "settled" &&
    !differByAtMost(provider.payout, ledger.payout, allowance("payouts")) &&
    !pair.bets.every((bet) => bet.tip)
  ) {
    return {
      kind: "payout-differs",
      reason: `paid out ${formatMoney(provider.payout, currency)} at the provider, ${formatMoney(ledger.payout, currency)} in the ledger`,
    };
  }
  return null;
}

function roundDifference(provider: Sums<BetStatus>, ledger: Sums<LedgerStatus>): Difference {
  return {
    kind: "round-differs",
    reason: `the bets of the round that no id matches are ${describeSums(provider)} at the provider, ${describeSums(ledger)} in the ledger`,
  };
}

/** The declared amounts agree, but the wallet may have moved another amount. */
function moneyDifference(pair: Pair, settings: CompareSettings): Difference | null {
  if (pair.bets.some((bet) => ranAtLedgerStart(bet, settings))) return null;
  const moved = movedBy(pair.bets);
  const asked = askedByState(pair);
  const ledger = sumBets(pair.bets);
  const allowance = allowanceOf(settings.tolerance, ledger.currency, amountsMoved(pair));
  if (differByAtMost(moved, asked, allowance)) return null;
  const what = pair.matchedBy === "round" && pair.bets.length > 1 ? "round" : "bet";
  return {
    kind: "net-differs",
    reason: `the wallet moved ${formatMoney(moved, ledger.currency)}, but a ${what} that is ${describeSums(ledger)} asks for ${formatMoney(asked, ledger.currency)}`,
  };
}

/** Tips and rewards of their own have no placement that could be older than the ledger. */
export function ranAtLedgerStart(bet: LedgerBet, settings: CompareSettings): boolean {
  if (bet.placed || bet.tip || bet.rewardOnly) return false;
  return bet.firstEntryAt - settings.ledgerStart <= settings.stuckOpenAfterMs;
}

/**
 * Whether the stakes of a pair were debited before the ledger began, so that neither side's stake counts. Not for two
 * players: the advice about them follows from the sides alone.
 */
export function isDebitedBefore(
  { bets }: Pick<Pair, "bets">,
  { kind }: Pick<Difference, "kind">,
  settings: CompareSettings,
): boolean {
  if (kind === "username-differs" || bets.length === 0) return false;
  return bets.every((bet) => ranAtLedgerStart(bet, settings));
}

function describeSums({ status, stake, payout, currency }: Sums<BetStatus | LedgerStatus>): string {
  return `${status} with a stake of ${formatMoney(stake, currency)} and a payout of ${formatMoney(payout, currency)}`;
}
