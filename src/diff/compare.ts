/** Compares the two sides of a pair: the first kind of the table (design of mismatches) that holds, or agreement. */

import { type BetStatus, type LedgerBet, type LedgerStatus, realRound, type StoredRecord } from "../bet.ts";
import { formatInstant, type Instant, parseInstant } from "../clock.ts";
import type { Finding, LedgerSide, MismatchKind, ProviderSide } from "../mismatch.ts";
import { type Amount, formatAmount, formatMoney, largerAmount, sumAmounts, ZERO } from "../money.ts";
import type { Pair } from "./match.ts";

/** A finding with what its graces depend on. */
export interface Verdict {
  readonly finding: Finding;
  readonly pair: Pair;
  /** the bets whose entries the provider has to have heard of: the pair's own, or its whole round */
  readonly heardBets: readonly LedgerBet[];
  /** something else of the round must end first, whatever the graces say */
  readonly waitsForRound: boolean;
}

export interface CompareSettings {
  readonly productId: string;
  /** nothing before it is compared */
  readonly ledgerStart: Instant;
  /** a bet was running when the ledger began where its first entry lies within this of the beginning */
  readonly stuckOpenAfterMs: number;
  /** a settlement without a placement is complete, and names its stake */
  readonly singleState: boolean;
}

/** One side of a pair, summed up. */
interface Sums<Status> {
  readonly status: Status;
  readonly stake: Amount;
  readonly payout: Amount;
  readonly currency: string;
}

/** @returns null where the sides agree, or where there is nothing to compare yet */
export function comparePair(pair: Pair, settings: CompareSettings): Verdict | null {
  if (isBefore(pair, settings.ledgerStart)) return null;
  const provider = pair.records.length === 0 ? null : sumRecords(pair.records);
  const ledger = pair.bets.length === 0 ? null : sumBets(pair.bets);
  const difference = findDifference(pair, provider, ledger, settings);
  if (difference === null) return null;
  const finding = toFinding(pair, provider, ledger, difference, settings);
  return { pair, finding, heardBets: pair.bets, waitsForRound: false };
}

function isBefore({ records, bets }: Pair, ledgerStart: Instant): boolean {
  return (
    records.every((record) => parseInstant(record.accountingDate, "accountingDate") < ledgerStart) &&
    bets.every((bet) => bet.lastEntryAt < ledgerStart)
  );
}

interface Difference {
  readonly kind: MismatchKind;
  readonly reason: string;
}

function findDifference(
  pair: Pair,
  provider: Sums<BetStatus> | null,
  ledger: Sums<LedgerStatus> | null,
  settings: CompareSettings,
): Difference | null {
  if (ledger === null) return provider === null ? null : whenOnlyListed(provider);
  if (provider === null) return whenOnlyHeld(pair.bets, ledger);
  const currency = currencyDifference(pair);
  if (currency !== null) return currency;
  const difference = statusDifference(provider, ledger) ?? amountDifference(pair, provider, ledger, settings);
  if (difference === null || pair.matchedBy !== "round") return difference;
  return endedPartAgrees(pair, provider, settings) ? null : roundDifference(provider, ledger);
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

/** The provider need not list what is still open: what has ended may be all that it reports of the round. */
function endedPartAgrees(pair: Pair, provider: Sums<BetStatus>, settings: CompareSettings): boolean {
  const ended = pair.bets.filter((bet) => bet.status !== "open");
  if (ended.length === 0 || ended.length === pair.bets.length) return false;
  return findDifference({ ...pair, bets: ended }, provider, sumBets(ended), settings) === null;
}

function whenOnlyListed(provider: Sums<BetStatus>): Difference | null {
  if (provider.status === "VOID") return null;
  const { stake, payout, currency } = provider;
  return {
    kind: "missing-in-ledger",
    reason: `the provider has a bet that is ${provider.status} with a stake of ${formatMoney(stake, currency)} and a payout of ${formatMoney(payout, currency)}, the ledger has nothing: no callback of it was received`,
  };
}

function whenOnlyHeld(bets: readonly LedgerBet[], ledger: Sums<LedgerStatus>): Difference | null {
  if (ledger.status !== "settled" || bets.every((bet) => bet.tip)) return null;
  const { stake, payout, currency } = ledger;
  return {
    kind: "missing-at-provider",
    reason: `the ledger has a settled bet with a stake of ${formatMoney(stake, currency)} and a payout of ${formatMoney(payout, currency)}, the provider has no record of it`,
  };
}

function statusDifference(provider: Sums<BetStatus>, ledger: Sums<LedgerStatus>): Difference | null {
  const providerRuns = provider.status === "OPEN" || provider.status === "UNSETTLED";
  if (ledger.status === "open") {
    if (providerRuns) return null;
    const missing = provider.status === "VOID" ? "cancelBets" : "settleBets";
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
  if (stakeIsKnown && !tipWithoutAmount && !provider.stake.eq(ledger.stake)) {
    return {
      kind: "stake-differs",
      reason: `the stake is ${formatMoney(provider.stake, currency)} at the provider, ${formatMoney(ledger.stake, currency)} in the ledger`,
    };
  }
  if (
    ledger.status === "settled" &&
    !provider.payout.eq(ledger.payout) &&
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
  const { currency } = provider;
  return {
    kind: "round-differs",
    reason: `what is left of the round is ${provider.status} with a stake of ${formatMoney(provider.stake, currency)} and a payout of ${formatMoney(provider.payout, currency)} at the provider, ${ledger.status} with ${formatMoney(ledger.stake, currency)} and ${formatMoney(ledger.payout, currency)} in the ledger`,
  };
}

function ranAtLedgerStart(bet: LedgerBet, settings: CompareSettings): boolean {
  if (bet.placed || settings.singleState) return false;
  return bet.firstEntryAt - settings.ledgerStart <= settings.stuckOpenAfterMs;
}

function sumRecords(records: readonly StoredRecord[]): Sums<BetStatus> {
  const listed = records.filter((record) => record.betStatus !== "VOID");
  const running = listed.find((record) => record.betStatus === "OPEN" || record.betStatus === "UNSETTLED");
  const counted = listed.length === 0 ? records : listed;
  return {
    status: running?.betStatus ?? (listed.length === 0 ? "VOID" : "SETTLED"),
    stake: sumAmounts(counted.map((record) => record.stake)),
    payout: sumAmounts(counted.map((record) => record.payout)),
    currency: records[0]?.currency ?? "",
  };
}

function sumBets(bets: readonly LedgerBet[]): Sums<LedgerStatus> {
  const held = bets.filter((bet) => bet.status !== "void");
  const counted = held.length === 0 ? bets : held;
  return {
    status: held.some((bet) => bet.status === "open") ? "open" : held.length === 0 ? "void" : "settled",
    stake: sumAmounts(counted.map((bet) => bet.stake)),
    payout: sumAmounts(counted.map((bet) => bet.payout)),
    currency: bets[0]?.currency ?? "",
  };
}

/**
 * Every subject that a mismatch about these records and bets, or entries, could have: an id that both sides share,
 * an id of a record that stands alone, or their round.
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

function toFinding(
  pair: Pair,
  provider: Sums<BetStatus> | null,
  ledger: Sums<LedgerStatus> | null,
  difference: Difference,
  settings: CompareSettings,
): Finding {
  const [record] = pair.records;
  const [bet] = pair.bets;
  const isRound = difference.kind === "round-differs";
  const roundId = realRound(record?.roundId ?? null) ?? bet?.roundId ?? null;
  const transactionId = isRound ? null : (bet?.txnId ?? null);
  const betId = isRound ? null : (record?.betId ?? null);
  return {
    ...difference,
    productId: settings.productId,
    username: record?.username ?? bet?.username ?? "",
    currency: provider?.currency ?? ledger?.currency ?? null,
    subject: isRound ? `round:${roundId}` : `bet:${transactionId ?? betId}`,
    betId,
    transactionId,
    roundId,
    amountAtRisk: amountAtRisk(pair, provider, ledger),
    provider: provider && providerSide(pair.records, provider),
    ledger: ledger && ledgerSide(pair.bets, ledger),
    occurredAt:
      bet === undefined
        ? parseInstant(record?.accountingDate ?? "", "accountingDate")
        : firstEntryOf(pair.bets),
  };
}

/** |moved − expected|; where that is 0, the largest difference of the amounts named. */
function amountAtRisk(
  pair: Pair,
  provider: Sums<BetStatus> | null,
  ledger: Sums<LedgerStatus> | null,
): Amount {
  const moved = sumAmounts(pair.bets.map((bet) => bet.moved));
  const expected = sumAmounts(pair.records.map(expectedMove));
  const atRisk = moved.minus(expected).abs();
  if (!atRisk.eq(ZERO)) return atRisk;
  const stakes = (provider?.stake ?? ZERO).minus(ledger?.stake ?? ZERO).abs();
  const payouts = (provider?.payout ?? ZERO).minus(ledger?.payout ?? ZERO).abs();
  return largerAmount(stakes, payouts);
}

/** What the wallet should have moved for a record. */
function expectedMove(record: StoredRecord): Amount {
  if (record.betStatus === "VOID") return ZERO;
  return record.betStatus === "SETTLED" ? record.payout.minus(record.stake) : record.stake.neg();
}

function providerSide(records: readonly StoredRecord[], sums: Sums<BetStatus>): ProviderSide {
  const [only] = records;
  const single = records.length === 1 ? only : undefined;
  return {
    id: single?.id ?? null,
    betId: only !== undefined && records.every((record) => record.betId === only.betId) ? only.betId : null,
    status: sums.status,
    stake: formatAmount(sums.stake),
    payout: formatAmount(sums.payout),
    currency: sums.currency,
    username: only?.username ?? "",
    updatedDate: latest(records.map((record) => record.updatedDate)),
    accountingDate: latest(records.map((record) => record.accountingDate)),
  };
}

function ledgerSide(bets: readonly LedgerBet[], sums: Sums<LedgerStatus>): LedgerSide {
  const [only] = bets;
  return {
    txnId: bets.length === 1 ? (only?.txnId ?? null) : null,
    status: sums.status,
    stake: formatAmount(sums.stake),
    payout: formatAmount(sums.payout),
    moved: formatAmount(sumAmounts(bets.map((bet) => bet.moved))),
    currency: sums.currency,
    username: only?.username ?? "",
    firstEntryAt: formatInstant(firstEntryOf(bets)),
    lastEntryAt: formatInstant(Math.max(...bets.map((bet) => bet.lastEntryAt))),
  };
}

function firstEntryOf(bets: readonly LedgerBet[]): Instant {
  return Math.min(...bets.map((bet) => bet.firstEntryAt));
}

function latest(dates: readonly string[]): string | null {
  return dates.length === 0
    ? null
    : formatInstant(Math.max(...dates.map((date) => parseInstant(date, "date"))));
}
