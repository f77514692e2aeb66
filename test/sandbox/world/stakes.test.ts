import fc from "fast-check";
import { expect, it } from "vitest";
import { formatAmount } from "../../../src/money.ts";
import { createRandom } from "../../../src/sandbox/world/random.ts";
import { amountOf, drawPayout, drawStake, drawUsualPayout } from "../../../src/sandbox/world/stakes.ts";

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

it("players get back nine tenths of usual stakes or more, and never all of them in the long run", () => {
  const random = createRandom(1);
  const [stake, count] = [10_000, 20_000];
  const payouts = Array.from({ length: count }, () => drawUsualPayout(random, stake));
  const share = payouts.reduce((sum, payout) => sum + payout, 0) / (stake * count);
  expect(share).toBeGreaterThan(0.9);
  expect(share).toBeLessThan(1);
});
