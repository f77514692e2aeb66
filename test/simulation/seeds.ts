/** Seeds of the simulation that the tests know. */

/** Seeds that found something once, with what they found. */
const FAILED_ONCE = [
  // an adjusted stake was called a difference while the provider's report lagged behind its callback
  6,
  // a wrong balance was passed over where the ledger does not say what was moved: it is what the items ask for
  27,
  // a stake was compared with the first of the two records that a bet has, which was read before the other was listed
  130,
];

export const SEEDS: readonly number[] = [
  ...new Set([...FAILED_ONCE, ...Array.from({ length: 20 }, (_, index) => index + 1)]),
].slice(0, Math.max(20, FAILED_ONCE.length));
