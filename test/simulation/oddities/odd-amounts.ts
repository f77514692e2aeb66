/** Amounts and factors of odd products, exact at any length. */

import { type Amount, parseAmount } from "../../../src/money.ts";
import type { Random } from "../../../src/sandbox/world/random.ts";
import { amountOf, type Currency, drawStake } from "../../../src/sandbox/world/stakes.ts";

/** Draws an amount above 0: a stake, or an amount with more digits than a machine's whole numbers. */
export function drawAmount(random: Random, currency: Currency): Amount {
  switch (random.below(12)) {
    case 0:
      return parseAmount(`${drawDigits(random, 30)}.${drawDigits(random, 8)}`, "amount");
    case 1:
      return parseAmount(`0.0000000${random.between(1, 9)}`, "amount");
    default:
      return amountOf(drawStake(random, currency));
  }
}

/** Draws the factor of a stake for the payout; "1" returns the stake. */
export function drawFactor(random: Random): string {
  return random.pick(["0", "0", "0", "0.5", "1", "1.95", "2", "2", "36"]);
}

function drawDigits(random: Random, count: number): string {
  return Array.from({ length: count }, () => random.between(1, 9)).join("");
}
