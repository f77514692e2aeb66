/** The seeds that the tests play. */

/** Seeds that found a fault once, each with the fault. */
const FAILED_ONCE = [
  // a comparison reported an adjusted stake while the provider's report came later than its callback
  6,
  // a comparison missed a wrong balance where the ledger does not say what was moved: the requested amounts count then
  27,
  // a comparison used the first of a bet's two records, which was read before the other was listed
  130,
];

/** Twelve seeds in a row play each pair of special products, and each plain product with each kind of ledger. */
const IN_A_ROW = Array.from({ length: 12 }, (_, index) => index + 1);

/** In each sixteenth seed slow answers never come. */
const WITHOUT_ANSWER = 16;

/** `npm run simulate` plays many more. */
export const SEEDS: readonly number[] = [...new Set([...FAILED_ONCE, ...IN_A_ROW, WITHOUT_ANSWER])];
