/** Counts the money at risk of a planted fault, without the code under test. */

import type { BetRecord } from "../../../src/bet.ts";
import { type Amount, largerAmount, sumAmounts, ZERO } from "../../../src/money.ts";

/** The amounts on one side. */
export interface NamedAmounts {
  readonly stake: Amount;
  readonly payout: Amount;
}

export const NOTHING: NamedAmounts = { stake: ZERO, payout: ZERO };

/**
 * The difference between the wallet's moves and the records. If the difference is 0, the larger difference of the
 * sides' stakes and payouts.
 * @param records the listed ones in the wallet's currency, because other currencies cannot be subtracted
 */
export function riskOf(moved: Amount, records: readonly BetRecord[], ledger: NamedAmounts): Amount {
  const expected = sumAmounts(records.map(expectedMove));
  const unexplained = moved.minus(expected).abs();
  if (!unexplained.eq(ZERO)) return unexplained;
  const stake = sumAmounts(records.map((record) => record.stake));
  const payout = sumAmounts(records.map((record) => record.payout));
  return largerAmount(stake.minus(ledger.stake).abs(), payout.minus(ledger.payout).abs());
}

function expectedMove({ betStatus, stake, payout }: BetRecord): Amount {
  switch (betStatus) {
    case "SETTLED":
      return payout.minus(stake);
    case "VOID":
      return ZERO;
    case "OPEN":
    case "UNSETTLED":
      return stake.neg();
  }
}
