/** What the wallet should have moved, and how much money is at risk where it did not. */

import type { LedgerBet, StoredRecord } from "../bet.ts";
import { type Amount, largerAmount, sumAmounts, ZERO } from "../money.ts";
import type { Pair } from "./match.ts";
import { movedBy, sumBets, sumRecords } from "./sums.ts";

/**
 * What the agreed state of a pair asks to be moved. While a bet runs, rewards that it was paid count as they are, since
 * no record tells them reliably; a tip's record need not know its amount; what waits has moved what its entries asked
 * for, be it nothing.
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

/** How many amounts what moved, and what it is compared with, are the sums of, whichever are more. */
export function amountsMoved({ records, bets }: Pair): number {
  return Math.max(
    amountsListed(records),
    bets.reduce((sum, bet) => sum + bet.movements, 0),
  );
}

/** How many amounts the net of some records is the sum of: a stake each, and a payout where something was paid. */
export function amountsListed(records: readonly StoredRecord[]): number {
  const paid = records.filter(({ betStatus, payout }) => betStatus === "SETTLED" && !payout.eq(ZERO));
  return records.length + paid.length;
}

/** |moved − expected|, where expected is what the records say; where that is 0, the largest difference of the amounts. */
export function amountAtRisk({ records, bets }: Pick<Pair, "records" | "bets">): Amount {
  const atRisk = movedBy(bets)
    .minus(sumAmounts(records.map(expectedMove)))
    .abs();
  if (!atRisk.eq(ZERO)) return atRisk;
  const provider = records.length === 0 ? null : sumRecords(records);
  const ledger = bets.length === 0 ? null : sumBets(bets);
  return largerAmount(
    (provider?.stake ?? ZERO).minus(ledger?.stake ?? ZERO).abs(),
    (provider?.payout ?? ZERO).minus(ledger?.payout ?? ZERO).abs(),
  );
}

/**
 * At risk where the currencies differ, in the ledger's: amounts of two currencies cannot be subtracted, so nothing of
 * what moved in the ledger's currency was expected in it, and each of its amounts differs by all of itself.
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
