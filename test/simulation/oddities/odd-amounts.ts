/** Amounts and factors of odd products, exact at any length. */

import { type Amount, parseAmount } from "../../../src/money.ts";
import type { Random } from "../../../src/sandbox/world/random.ts";
import { amountOf, type Currency, drawStake } from "../../../src/sandbox/world/stakes.ts";

/** Above 0: a stake, or what has more digits than any whole number of a computer. */
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

/** What a stake is multiplied with when its bet ends; its own return among them. */
export function drawFactor(random: Random): string {
  return random.pick(["0", "0", "0", "0.5", "1", "1.95", "2", "2", "36"]);
}

function drawDigits(random: Random, count: number): string {
  return Array.from({ length: count }, () => random.between(1, 9)).join("");
}
