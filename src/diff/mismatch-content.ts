/**
 * The content of a mismatch: its player, its subject, the amount at risk, and both sides at the time of the
 * comparison.
 */

import { type LedgerBet, realRound, type StoredRecord } from "../bet.ts";
import { parseInstant } from "../clock.ts";
import type { MismatchContent, OtherCurrency } from "../mismatch.ts";
import { type Amount, formatAmount, sumAmounts, ZERO } from "../money.ts";
import {
  type CompareSettings,
  type Difference,
  inSeveralCurrencies,
  isDebitedBefore,
  unplacedOf,
} from "./compare.ts";
import type { Pair } from "./match.ts";
import {
  amountAtRisk,
  askedByState,
  effectOfPair,
  type RiskInCurrency,
  risksByCurrency,
} from "./money-moved.ts";
import { firstEntryOf, ledgerSide, movedBy, providerSide, sumBets, sumRecords } from "./sums.ts";

/**
 * The content of the mismatch that a difference of a pair becomes. A difference of one bet has the bet as its
 * subject, even if the round was compared. A difference of several bets together has the round.
 */
export function toContent(pair: Pair, difference: Difference, settings: CompareSettings): MismatchContent {
  const { records, bets } = pair;
  const [record] = records;
  const named = nameBet(pair, difference, settings);
  const roundId =
    realRound(record?.roundId ?? null) ?? bets.find((bet) => bet.roundId !== null)?.roundId ?? null;
  const provider = records.length === 0 ? null : sumRecords(records);
  const ledger = bets.length === 0 ? null : sumBets(bets);
  const risks = difference.kind === "currency-differs" || areInSeveral(pair) ? risksOf(pair) : null;
  return {
    ...difference,
    productId: settings.productId,
    username: bets[0]?.username ?? record?.username ?? "",
    currency: risks?.own.currency ?? provider?.currency ?? ledger?.currency ?? null,
    subject: named === null ? `round:${roundId}` : `bet:${named.transactionId ?? named.betId}`,
    betId: named?.betId ?? null,
    transactionId: named?.transactionId ?? null,
    roundId,
    transactionRef: null,
    ...(risks === null
      ? moneyOf(pair, difference, settings)
      : { amountAtRisk: risks.own.amountAtRisk, effect: risks.own.effect }),
    provider: provider && providerSide(records, provider),
    ledger: ledger && { ...ledgerSide(bets, ledger), ...(risks && { otherCurrencies: risks.others }) },
    occurredAt:
      bets.length === 0 ? parseInstant(record?.accountingDate ?? "", "accountingDate") : firstEntryOf(bets),
  };
}

/** The ids of the one bet that a difference is about; null: the difference is about a round. */
function nameBet(
  { matchedBy, records, bets }: Pair,
  { kind }: Difference,
  settings: CompareSettings,
): { betId: string | null; transactionId: string | null } | null {
  const betId = matchedBy === "round" && records.length > 1 ? null : (records[0]?.betId ?? null);
  if (kind === "round-differs") return null;
  const about = kind === "missing-placement" ? unplacedOf(bets, settings) : mixedOrAll(bets);
  if (matchedBy === "round" && about.length > 1) return null;
  return { betId, transactionId: about[0]?.txnId ?? null };
}

/**
 * If a bet ran when the ledger began, its stake was debited before. A settle of 60 for a record of 10 and 40 is then
 * 20 too much.
 */
function moneyOf(
  pair: Pair,
  difference: Difference,
  settings: CompareSettings,
): { amountAtRisk: Amount; effect: Amount } {
  if (difference.kind === "net-differs") {
    const effect = movedBy(pair.bets).minus(askedByState(pair));
    return { amountAtRisk: effect.abs(), effect };
  }
  const debitedBefore = isDebitedBefore(pair, difference, settings)
    ? sumAmounts(pair.records.map(({ stake }) => stake))
    : ZERO;
  const effect = effectOfPair(pair).minus(debitedBefore);
  return { amountAtRisk: amountAtRisk(pair, effect), effect };
}

function mixedOrAll(bets: readonly LedgerBet[]): readonly LedgerBet[] {
  const mixed = inSeveralCurrencies(bets);
  return mixed.length > 0 ? mixed : bets;
}

/** A bet under two names may also have several currencies, and amounts of two currencies are never added. */
function areInSeveral({ records, bets }: Pair): boolean {
  const sides = [...records, ...bets, ...bets.flatMap(({ others }) => others)];
  return sides.some(({ currency }) => currency !== sides[0]?.currency);
}

/** The risks of a pair in the currency of the bet's placement, and in all others. */
function risksOf(pair: Pair): { readonly own: RiskInCurrency; readonly others: readonly OtherCurrency[] } {
  const currency = mixedOrAll(pair.bets)[0]?.currency ?? "";
  const [own, ...others] = risksByCurrency(pair, currency) as [RiskInCurrency, ...RiskInCurrency[]];
  return {
    own,
    others: others.map((one) => ({
      currency: one.currency,
      amountAtRisk: formatAmount(one.amountAtRisk),
      effect: formatAmount(one.effect),
    })),
  };
}

/**
 * Every subject that a mismatch about these records and bets could have: an id of a record or bet, or their round.
 */
export function subjectsOf(
  records: readonly Pick<StoredRecord, "betId" | "id" | "roundId">[],
  bets: readonly Pick<LedgerBet, "txnId" | "roundId">[],
): string[] {
  const ids = [...records.flatMap((record) => [record.betId, record.id]), ...bets.map((bet) => bet.txnId)];
  const rounds = [...records, ...bets]
    .map((side) => realRound(side.roundId))
    .filter((round) => round !== null);
  return [...new Set([...ids.map((id) => `bet:${id}`), ...rounds.map((round) => `round:${round}`)])];
}
