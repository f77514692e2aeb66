/** The money that the wallet should have moved, and the amount at risk where it moved another amount. */

import type { LedgerBet, StoredRecord } from "../bet.ts";
import { type Amount, largerAmount, sumAmounts, ZERO } from "../money.ts";
import type { Pair } from "./match.ts";
import { movedBy, sumBets, sumRecords } from "./sums.ts";

/**
 * The amount that the agreed state of a pair asks the wallet to move. The payout of an open bet is the ledger's,
 * because records do not report the rewards of a running bet reliably. The amount of a tip is the ledger's, because
 * its record need not have one. A bet that waits for its placement asks for what its entries asked for, which may be
 * 0.
 */
export function askedByState({ records, bets }: Pair): Amount {
  const ledger = sumBets(bets);
  if (ledger.status === "void") return ZERO;
  if (bets.every((bet) => bet.tip)) return ledger.stake.neg();
  if (records.length === 0 || bets.some((bet) => bet.waiting))
    return sumAmounts(bets.map((bet) => bet.asked));
  const provider = sumRecords(records);
  return (ledger.status === "open" ? ledger : provider).payout.minus(provider.stake);
}

/** The number of amounts in the larger of two sums: the money moved, and the records that it is compared with. */
export function amountsMoved({ records, bets }: Pair): number {
  return Math.max(
    amountsListed(records),
    bets.reduce((sum, bet) => sum + bet.movements, 0),
  );
}

/** The number of amounts in the net of some records: one stake each, and one payout each where something was paid. */
export function amountsListed(records: readonly StoredRecord[]): number {
  const paid = records.filter(({ betStatus, payout }) => betStatus === "SETTLED" && !payout.eq(ZERO));
  return records.length + paid.length;
}

/**
 * |moved − expected|, where `expected` follows from the records. Where the result is 0, the largest difference of
 * stakes or payouts.
 */
export function amountAtRisk({ records, bets }: Pick<Pair, "records" | "bets">): Amount {
  const atRisk = effectOfPair({ records, bets }).abs();
  if (!atRisk.eq(ZERO)) return atRisk;
  const provider = records.length === 0 ? null : sumRecords(records);
  const ledger = bets.length === 0 ? null : sumBets(bets);
  return largerAmount(
    (provider?.stake ?? ZERO).minus(ledger?.stake ?? ZERO).abs(),
    (provider?.payout ?? ZERO).minus(ledger?.payout ?? ZERO).abs(),
  );
}

/** moved − expected, where `expected` follows from the records. */
export function effectOfPair({ records, bets }: Pick<Pair, "records" | "bets">): Amount {
  return movedBy(bets).minus(sumAmounts(records.map(expectedMove)));
}

/**
 * The amount at risk where the currencies differ, in the ledger's currency. Amounts of two currencies cannot be
 * subtracted, so everything that moved in the ledger's currency is at risk. Where that is 0, the larger of stake and
 * payout.
 */
export function amountInOtherCurrency(bets: readonly LedgerBet[]): Amount {
  const moved = movedBy(bets).abs();
  if (!moved.eq(ZERO)) return moved;
  const { stake, payout } = sumBets(bets);
  return largerAmount(stake.abs(), payout.abs());
}

/** What the wallet should have moved for a record. */
export function expectedMove(record: StoredRecord): Amount {
  if (record.betStatus === "VOID") return ZERO;
  return record.betStatus === "SETTLED" ? record.payout.minus(record.stake) : record.stake.neg();
}
