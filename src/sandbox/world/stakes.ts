/** Draws stakes and payouts, in whole ten-thousandths: no amount is ever a fraction of a float. */

import { type Amount, parseAmount } from "../../money.ts";
import type { Random } from "./random.ts";

/** Whole ten-thousandths of a unit of the currency; always a safe integer. */
export type Ticks = number;

const UNIT: Ticks = 10_000;
export const CENT: Ticks = 100;

/** Payouts of a won bet among usual ones: players lose a few hundredths of their stakes in the long run. */
const USUAL_WINS = [150, 195, 200, 200, 200, 310, 900] as const;

/** The value of one chip in each currency. */
const CHIPS = { THB: 10 * UNIT, USD: UNIT, EUR: UNIT, VND: 10_000 * UNIT } as const;
export type Currency = keyof typeof CHIPS;

/** The stakes of most players, in chips. */
const USUAL_CHIPS = [2, 5, 5, 10, 10, 10, 20, 20, 50, 100] as const;

/** Payouts of a won bet in hundredths of the stake, with the stake. */
const WINS = [105, 150, 195, 200, 310, 900, 3600] as const;

export function amountOf(ticks: Ticks): Amount {
  const size = Math.abs(ticks);
  const decimals = String(size % UNIT).padStart(4, "0");
  return parseAmount(`${ticks < 0 ? "-" : ""}${Math.floor(size / UNIT)}.${decimals}`, "amount");
}

/** Draws a stake above 0: mostly chips, sometimes cents, and seldom an amount that breaks careless arithmetic. */
export function drawStake(random: Random, currency: Currency): Ticks {
  const chip = CHIPS[currency];
  switch (random.below(30)) {
    case 0:
      return CENT;
    case 1:
      return random.between(1_000_000, 9_999_999) * UNIT + random.below(100) * CENT;
    case 2:
      return random.between(1, 50 * UNIT);
    case 3:
    case 4:
    case 5:
      return random.between(1, (20 * chip) / CENT) * CENT;
    default:
      return random.between(1, 100) * chip;
  }
}

/** Draws a stake as most players choose it. */
export function drawUsualStake(random: Random, currency: Currency): Ticks {
  return random.pick(USUAL_CHIPS) * CHIPS[currency];
}

/** 40 % lose all, 5 % lose half, 45 % win, and 10 % get their stake back. */
export function drawPayout(random: Random, stake: Ticks): Ticks {
  const luck = random.below(100);
  if (luck < 40) return 0;
  if (luck < 45) return Math.floor(stake / 2);
  if (luck < 90) return Math.floor((stake * random.pick(WINS)) / 100);
  return stake;
}

/** 64 % lose all, 4 % lose half, 28 % win, and 4 % get their stake back. */
export function drawUsualPayout(random: Random, stake: Ticks): Ticks {
  const luck = random.below(100);
  if (luck < 64) return 0;
  if (luck < 68) return Math.floor(stake / 2);
  if (luck < 96) return Math.floor((stake * random.pick(USUAL_WINS)) / 100);
  return stake;
}
