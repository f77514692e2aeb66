/** The seeds that the tests play, each with a ledger. `npm run simulate` plays many more, with every ledger. */

import type { LedgerHabit } from "./ledger-writer.ts";

export interface Play {
  readonly seed: number;
  readonly ledger: LedgerHabit;
}

/**
 * Together they plant each kind of mismatch, and play each product except the sports book, which two real workers play in
 * test/jobs. The other ledgers play in test/field, with one product each.
 */
export const PLAYS: readonly Play[] = [
  // Once a comparison used the first of a bet's two records, which was read before the other was listed.
  { seed: 130, ledger: "import-callbacks" },
  // Once a comparison missed a wrong balance where the ledger does not say what was moved: the requested amounts count then.
  { seed: 27, ledger: "own" },
];
