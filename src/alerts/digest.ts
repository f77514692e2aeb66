/** The daily digest: the money that nobody has resolved yet, by its age. */

import { formatInstant, type Instant } from "../clock.ts";
import type { Alert } from "./alert.ts";
import type { Money } from "./incident.ts";

/** Unresolved mismatches of one age. */
export interface AgeOfMoney {
  readonly age: string;
  readonly count: number;
  readonly amounts: readonly Money[];
}

/** Where an age ends, youngest first; older than the last is the rest. */
export const AGES: readonly { readonly days: number | null; readonly age: string }[] = [
  { days: 1, age: "less than a day old" },
  { days: 7, age: "a day to a week old" },
  { days: 30, age: "a week to a month old" },
  { days: null, age: "older than a month" },
];

/** One sum of what is unresolved. */
export interface Unresolved extends Money {
  /** counts the ages, from 0 on */
  readonly ageIndex: number;
  readonly count: number;
}

/** The digest of a day (UTC). It is written on quiet days too: one that does not come says that nobody looks. */
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
      ? `${day}: no mismatch waits for anybody`
      : `${day}: ${count} ${count === 1 ? "mismatch waits" : "mismatches wait"} for a decision`;
  return {
    idempotencyKey: `digest/${day}`,
    kind: "digest",
    productId: null,
    body: { what, day, count, ages },
    at: now,
  };
}
