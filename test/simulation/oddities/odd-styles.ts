/** The rounds and the planted faults of each odd style. */

import { BET_FAULTS, type PlantFault } from "./bet-faults.ts";
import { mixRounds } from "./catalogue.ts";
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

/** The rounds that a style can play, by their names in the catalogue. A mixed product plays those of `odd`. */
export const ROUNDS = {
  odd: { ...ODD_RESULTS, ...ODD_BETS, ...ODD_ROUNDS, ...ODD_SETTLES, ...ODD_LISTINGS },
  "single-state": SINGLE_ODDITIES,
  "open-listed": LISTED_ODDITIES,
  "by-round": ROUND_ODDITIES,
  "lost-omitted": OMITTED_ODDITIES,
  "two-decimals": CENTS_ODDITIES,
} satisfies Record<Exclude<RoundStyle, "mixed">, Readonly<Record<string, Oddity>>>;

export const HAPPENINGS: Readonly<Record<RoundStyle, Happenings>> = {
  odd: {
    oddities: mixRounds("odd", ROUNDS.odd),
    faults: valuesOf({ ...BET_FAULTS, ...MONEY_FAULTS }),
  },
  // A bet without its entries would be a part of a session, so only sessions have faults.
  mixed: {
    oddities: mixRounds("odd", { ...ROUNDS.odd, ...MIXED_BETS }),
    faults: [],
  },
  "single-state": { oddities: mixRounds("single-state", SINGLE_ODDITIES), faults: valuesOf(SINGLE_FAULTS) },
  "open-listed": { oddities: mixRounds("open-listed", LISTED_ODDITIES), faults: valuesOf(LISTED_FAULTS) },
  "by-round": { oddities: mixRounds("by-round", ROUND_ODDITIES), faults: valuesOf(ROUND_FAULTS) },
  "lost-omitted": { oddities: mixRounds("lost-omitted", OMITTED_ODDITIES), faults: valuesOf(OMITTED_FAULTS) },
  "two-decimals": { oddities: mixRounds("two-decimals", CENTS_ODDITIES), faults: valuesOf(CENTS_FAULTS) },
};

function valuesOf<Value>(named: Readonly<Record<string, Value>>): [Value, ...Value[]] {
  return Object.values(named) as [Value, ...Value[]];
}
