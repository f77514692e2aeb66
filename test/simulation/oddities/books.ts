/** The sandbox's own books: how much money a planted fault puts at risk, counted without the code that looks for it. */

import type { BetRecord } from "../../../src/bet.ts";
import { type Amount, largerAmount, sumAmounts, ZERO } from "../../../src/money.ts";

/** The amounts that a side names. */
export interface NamedAmounts {
  readonly stake: Amount;
  readonly payout: Amount;
}

export const NOTHING: NamedAmounts = { stake: ZERO, payout: ZERO };

/**
 * What the wallet moved against what the records ask for; where that is nothing, the largest difference of the
 * amounts that both sides name.
 * @param records those in the wallet's currency that the report still shows: another currency cannot be subtracted
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
