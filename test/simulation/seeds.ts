/** The seeds that the tests play. `npm run simulate` plays many more. */

/** Seeds that found a fault once, each with the fault. */
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

/** With these, each pair of special products is played, and each plain product with each kind of ledger. */
const OTHER_PRODUCTS = [2, 5, 7, 9];

export const SEEDS: readonly number[] = [...FAILED_ONCE, WITHOUT_ANSWER, ...OTHER_PRODUCTS];
