/** The daily digest: unresolved money by age. */

import { formatInstant, type Instant } from "../clock.ts";
import type { Alert } from "./alert.ts";
import type { Money } from "./incident.ts";

/** Unresolved mismatches of one age. */
export interface AgeOfMoney {
  readonly age: string;
  readonly count: number;
  readonly amounts: readonly Money[];
}

/** The upper end of each age, youngest first. The last age has no end. */
export const AGES: readonly { readonly days: number | null; readonly age: string }[] = [
  { days: 1, age: "less than a day old" },
  { days: 7, age: "a day to a week old" },
  { days: 30, age: "a week to a month old" },
  { days: null, age: "older than a month" },
];

/** One sum of unresolved mismatches. */
export interface Unresolved extends Money {
  /** the index of the age in `AGES` */
  readonly ageIndex: number;
  readonly count: number;
}

/** The digest of a day (UTC). There is a digest on quiet days too: its absence shows that no worker runs. */
export function digestAlert(sums: readonly Unresolved[], now: Instant): Alert {
  const day = formatInstant(now).slice(0, 10);
  const ages = AGES.map(({ age }, index): AgeOfMoney => {
    const own = sums.filter(({ ageIndex }) => ageIndex === index);
    return {
      age,
      count: own.reduce((total, { count }) => total + count, 0),
      amounts: own.map(({ currency, amount }) => ({ currency, amount })),
    };
  }).filter(({ count }) => count > 0);
  const count = ages.reduce((total, one) => total + one.count, 0);
  const what =
    count === 0
      ? `${day}: no mismatch waits for a decision`
      : `${day}: ${count} ${count === 1 ? "mismatch waits" : "mismatches wait"} for a decision`;
  return {
    idempotencyKey: `digest/${day}`,
    kind: "digest",
    productId: null,
    body: { what, day, count, ages },
    at: now,
  };
}
