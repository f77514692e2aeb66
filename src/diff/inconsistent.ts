/** Finds records that contradict themselves: a win that pays nothing, or a loss that pays more than its stake. */

import { realRound, type StoredRecord } from "../bet.ts";
import { parseInstant } from "../clock.ts";
import type { MismatchContent } from "../mismatch.ts";
import { formatMoney, ZERO } from "../money.ts";
import type { CompareSettings } from "./compare.ts";
import { allowanceOf, providerSide, sumRecords } from "./sums.ts";

/**
 * Checks only settled records: a running or void bet may still carry the payoutStatus of an earlier result.
 * @param transactionIdOf returns the txn id of the record's ledger bet; null: there is no such bet, or several could
 * be meant
 */
export function findInconsistent(
  record: StoredRecord,
  transactionIdOf: (record: StoredRecord) => string | null,
  { productId, ledgerStart, tolerance }: Pick<CompareSettings, "productId" | "ledgerStart" | "tolerance">,
): MismatchContent | null {
  const { betStatus, payoutStatus, stake, payout, currency, betId, username } = record;
  const accountedAt = parseInstant(record.accountingDate, "accountingDate");
  const contradicts =
    (payoutStatus === "WIN" && payout.eq(ZERO)) ||
    (payoutStatus === "LOSE" && payout.gt(stake.plus(allowanceOf(tolerance, currency, 1))));
  if (betStatus !== "SETTLED" || !contradicts || accountedAt < ledgerStart) return null;
  return {
    kind: "provider-inconsistent",
    productId,
    username,
    currency,
    subject: subjectOfRecord(record),
    betId,
    transactionId: transactionIdOf(record),
    roundId: realRound(record.roundId),
    transactionRef: null,
    amountAtRisk: ZERO,
    reason: `the provider calls the bet a ${payoutStatus}, with a payout of ${formatMoney(payout, currency)} for a stake of ${formatMoney(stake, currency)}`,
    provider: providerSide([record], sumRecords([record])),
    ledger: null,
    occurredAt: accountedAt,
  };
}

/** The subject of a mismatch about one record. JSON, because either id may hold any character. */
export function subjectOfRecord({ betId, id }: Pick<StoredRecord, "betId" | "id">): string {
  return `record:${JSON.stringify([betId, id])}`;
}
