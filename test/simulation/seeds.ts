/** The seeds that the tests play, each with a ledger. `npm run simulate` plays many more, with every ledger. */

import type { LedgerHabit } from "./ledger-writer.ts";

export interface Play {
  readonly seed: number;
  readonly ledger: LedgerHabit;
}

/** Seeds that found a fault once, each with the fault, with the ledger of that time. */
const FAILED_ONCE = [
  // a comparison reported an adjusted stake while the provider's report came later than its callback
  6,
  // a comparison missed a wrong balance where the ledger does not say what was moved: the requested amounts count then
  27,
  // a comparison used the first of a bet's two records, which was read before the other was listed
  130,
];

/** In each sixteenth seed slow answers never come. */
const WITHOUT_ANSWER = 16;

/**
 * Each other way to keep a ledger is played once. With these seeds, each pair of special products is played, and each plain
 * product with each of the products that an operator books in its own way.
 */
export const PLAYS: readonly Play[] = [
  ...FAILED_ONCE.map((seed) => ({ seed, ledger: "own" as const })),
  { seed: WITHOUT_ANSWER, ledger: "relation" },
  { seed: 2, ledger: "changing" },
  { seed: 3, ledger: "insert" },
  { seed: 5, ledger: "import-entries" },
  { seed: 7, ledger: "import-callbacks" },
  { seed: 9, ledger: "tap" },
];
