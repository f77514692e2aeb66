/** The money that the wallet should have moved, and the amount at risk if it moved another amount. */

import type { LedgerBet, StoredRecord } from "../bet.ts";
import { type Amount, largerAmount, sumAmounts, ZERO } from "../money.ts";
import type { Pair } from "./match.ts";
import { isRunning, movedBy, sumBets, sumRecords } from "./sums.ts";

/**
 * The amount that the agreed state of a pair asks the wallet to move. The payout of an open bet is the ledger's,
 * because records do not report the rewards of a running bet reliably. The amount of a tip is the ledger's, because
 * its record need not have one; it is 0 if the tip was skipped. A bet that waits for its placement asks for what its
 * entries asked for, which may be 0.
 */
export function askedByState({ records, bets }: Pair): Amount {
  const ledger = sumBets(bets);
  if (ledger.status === "void") return ZERO;
  if (bets.every((bet) => bet.tip)) return sumAmounts(bets.map(stakeOfTip)).neg();
  if (records.length === 0 || bets.some((bet) => bet.waiting))
    return sumAmounts(bets.map((bet) => bet.asked));
  const provider = sumRecords(records);
  return (ledger.status === "open" ? ledger : provider).payout.minus(provider.stake);
}

/** What a tip asks the player to pay, 0 or more: nothing if all of its entries skip the balance, or if it is cancelled. */
export function stakeOfTip({ status, stake, asked }: LedgerBet): Amount {
  return status === "void" || asked.eq(ZERO) ? ZERO : stake;
}

/** The number of amounts in the larger of two sums: the money moved, and the records that it is compared with. */
export function amountsMoved({ records, bets }: Pair): number {
  return Math.max(
    amountsListed(records),
    bets.reduce((sum, bet) => sum + bet.movements, 0),
  );
}

/** The number of amounts in the net of some records: a stake each, and a payout each if something was paid. */
export function amountsListed(records: readonly StoredRecord[]): number {
  const paid = records.filter(({ betStatus, payout }) => betStatus === "SETTLED" && !payout.eq(ZERO));
  return records.length + paid.length;
}

/** |effect|. If the effect is 0, the largest difference of stakes or payouts. */
export function amountAtRisk({ records, bets }: Pick<Pair, "records" | "bets">, effect: Amount): Amount {
  if (!effect.eq(ZERO)) return effect.abs();
  const provider = records.length === 0 ? null : sumRecords(records);
  const ledger = bets.length === 0 ? null : sumBets(bets);
  return largerAmount(
    (provider?.stake ?? ZERO).minus(ledger?.stake ?? ZERO).abs(),
    (provider?.payout ?? ZERO).minus(ledger?.payout ?? ZERO).abs(),
  );
}

/** moved − expected, where `expected` follows from the records. */
export function effectOfPair({ records, bets }: Pick<Pair, "records" | "bets">): Amount {
  return movedBy(bets).minus(expectedOf({ records, bets }));
}

/** What a bet moved too much or too little for the player in one currency. */
export interface RiskInCurrency {
  readonly currency: string;
  readonly amountAtRisk: Amount;
  /** moved − expected: above 0 the player has too much */
  readonly effect: Amount;
}

/**
 * The risk of a pair in each of its currencies, the ledger's own first. Amounts of two currencies cannot be
 * subtracted, so if one side lacks a currency, everything that moved or should have moved in it is at risk. If that
 * is 0, the larger of stake and payout is.
 * @param own the currency of the bet's placement
 */
export function risksByCurrency(
  { records, bets }: Pick<Pair, "records" | "bets">,
  own: string,
): RiskInCurrency[] {
  const held = bets.flatMap((bet) => [bet, ...bet.others]);
  const currencies = new Set([
    own,
    ...held.map(({ currency }) => currency),
    ...records.map(({ currency }) => currency),
  ]);
  return [...currencies].map((currency) => {
    const isInIt = (side: { readonly currency: string }) => side.currency === currency;
    const [listed, inIt] = [records.filter(isInIt), held.filter(isInIt)];
    const expected = expectedOf({ records: listed, bets: bets.filter(isInIt) });
    const effect = sumAmounts(inIt.map(({ moved }) => moved)).minus(expected);
    const difference = (amount: "stake" | "payout") =>
      sumAmounts(listed.map((record) => record[amount]))
        .minus(sumAmounts(inIt.map((one) => one[amount])))
        .abs();
    const declared = largerAmount(difference("stake"), difference("payout"));
    return { currency, amountAtRisk: effect.eq(ZERO) ? declared : effect.abs(), effect };
  });
}

/** While a record runs, it does not say what was paid before the end. The ledger does. */
export function expectedOf({ records, bets }: Pick<Pair, "records" | "bets">): Amount {
  const listed = sumAmounts(records.map(expectedMove));
  if (!records.some(isRunning)) return listed;
  const paid = bets.map((bet) => (bet.status === "open" ? bet.payout : (bet.paidInParts ?? ZERO)));
  return listed.plus(sumAmounts(paid));
}

/** What the wallet should have moved for a record. */
export function expectedMove(record: StoredRecord): Amount {
  if (record.betStatus === "VOID") return ZERO;
  return record.betStatus === "SETTLED" ? record.payout.minus(record.stake) : record.stake.neg();
}
