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

export const SEEDS: readonly number[] = [
  ...new Set([...FAILED_ONCE, ...Array.from({ length: 20 }, (_, index) => index + 1)]),
].slice(0, Math.max(20, FAILED_ONCE.length));
