import fc from "fast-check";
import { expect, it } from "vitest";
import { formatAmount } from "../../../src/money.ts";
import { createRandom } from "../../../src/sandbox/world/random.ts";
import { amountOf, drawPayout, drawStake } from "../../../src/sandbox/world/stakes.ts";

it("ten-thousandths are written as exact decimals", () => {
  expect(
    [0, 1, -1, 100, 10_000, -12_345, 99_999_990_000].map((ticks) => formatAmount(amountOf(ticks))),
  ).toEqual(["0", "0.0001", "-0.0001", "0.01", "1", "-1.2345", "9999999"]);
});

it("only whole, safe numbers are drawn: positive stakes, payouts of at least 0", () => {
  fc.assert(
    fc.property(fc.nat(), fc.constantFrom("THB", "USD", "VND"), (seed, currency) => {
      const random = createRandom(seed);
      const stake = drawStake(random, currency);
      const payout = drawPayout(random, stake);
      expect([stake, payout].every(Number.isSafeInteger)).toBe(true);
      expect(stake).toBeGreaterThan(0);
      expect(payout).toBeGreaterThanOrEqual(0);
    }),
  );
});
