/** The rounds and the planted faults of each odd style. */

import { BET_FAULTS, type PlantFault } from "./bet-faults.ts";
import { OMITTED_FAULTS, OMITTED_ODDITIES } from "./lost-omitted.ts";
import { MONEY_FAULTS } from "./money-faults.ts";
import { MIXED_BETS, ODD_BETS } from "./odd-bets.ts";
import { ODD_LISTINGS } from "./odd-listings.ts";
import type { OddStyle } from "./odd-plan.ts";
import { ODD_RESULTS, type Oddity } from "./odd-results.ts";
import { ODD_ROUNDS } from "./odd-rounds.ts";
import { ODD_SETTLES } from "./odd-settles.ts";
import { LISTED_FAULTS, LISTED_ODDITIES } from "./open-listed.ts";
import { ROUND_FAULTS, ROUND_ODDITIES } from "./round-named.ts";
import { SINGLE_FAULTS, SINGLE_ODDITIES } from "./single-state.ts";
import { CENTS_FAULTS, CENTS_ODDITIES } from "./two-decimals.ts";

export interface Happenings {
  readonly oddities: readonly [Oddity, ...Oddity[]];
  /** in the order of their turns */
  readonly faults: readonly PlantFault[];
}

/** The styles whose rounds are written line by line. */
export type RoundStyle = Exclude<OddStyle, "session">;

export const HAPPENINGS: Readonly<Record<RoundStyle, Happenings>> = {
  odd: {
    oddities: valuesOf({ ...ODD_RESULTS, ...ODD_BETS, ...ODD_ROUNDS, ...ODD_SETTLES, ...ODD_LISTINGS }),
    faults: valuesOf({ ...BET_FAULTS, ...MONEY_FAULTS }),
  },
  // A bet without its entries would be a part of a session, so only sessions have faults.
  mixed: {
    oddities: valuesOf({ ...ODD_RESULTS, ...MIXED_BETS, ...ODD_ROUNDS, ...ODD_SETTLES, ...ODD_LISTINGS }),
    faults: [],
  },
  "single-state": { oddities: valuesOf(SINGLE_ODDITIES), faults: valuesOf(SINGLE_FAULTS) },
  "open-listed": { oddities: valuesOf(LISTED_ODDITIES), faults: valuesOf(LISTED_FAULTS) },
  "by-round": { oddities: valuesOf(ROUND_ODDITIES), faults: valuesOf(ROUND_FAULTS) },
  "lost-omitted": { oddities: valuesOf(OMITTED_ODDITIES), faults: valuesOf(OMITTED_FAULTS) },
  "two-decimals": { oddities: valuesOf(CENTS_ODDITIES), faults: valuesOf(CENTS_FAULTS) },
};

function valuesOf<Value>(named: Readonly<Record<string, Value>>): [Value, ...Value[]] {
  return Object.values(named) as [Value, ...Value[]];
}
