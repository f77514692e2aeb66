/** The seeds that the tests play, each with a ledger. `npm run simulate` plays many more, with every ledger. */

import type { LedgerHabit } from "./ledger-writer.ts";

export interface Play {
  readonly seed: number;
  readonly ledger: LedgerHabit;
}

/**
 * Each product of the seeds is played, and each kind of mismatch is planted. Operators that write
 * plain rows play in test/field, with fewer products.
 */
export const PLAYS: readonly Play[] = [
  // Once a comparison reported an adjusted stake while the provider's report came later than its callback.
  { seed: 6, ledger: "import-entries" },
  // Once a comparison used the first of a bet's two records, which was read before the other was listed.
  { seed: 130, ledger: "import-callbacks" },
  // Once a comparison missed a wrong balance where the ledger does not say what was moved: the requested amounts count then.
  { seed: 27, ledger: "own" },
  { seed: 5, ledger: "tap" },
];
