/** The daily digest: unresolved money by age and by owner. */

import { formatInstant, type Instant } from "../clock.ts";
import type { Alert } from "./alert.ts";
import { type Money, sumByCurrency } from "./incident.ts";

/** Unresolved mismatches of one age. */
export interface AgeOfMoney {
  readonly age: string;
  readonly count: number;
  readonly amounts: readonly Money[];
}

/** Unresolved mismatches of one owner. */
export interface OwnerOfMoney extends Omit<AgeOfMoney, "age"> {
  /** null: nobody */
  readonly owner: string | null;
  /** when the oldest one was first seen */
  readonly oldest: string;
  readonly ages: readonly AgeOfMoney[];
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
  /** null: nobody */
  readonly owner: string | null;
  /** of owners beyond those with the most, `MOST_OWNERS`; `owner` is null then */
  readonly isOther: boolean;
  readonly count: number;
  /** when the oldest one was first seen */
  readonly oldest: Instant;
}

/** The most owners that a digest names, those with the most mismatches. */
export const MOST_OWNERS = 20;

/** The digest of a day (UTC). There is a digest on quiet days too: its absence shows that no worker runs. */
export function digestAlert(sums: readonly Unresolved[], now: Instant): Alert {
  const day = formatInstant(now).slice(0, 10);
  const ages = agesOf(sums);
  const count = ages.reduce((total, one) => total + one.count, 0);
  const what =
    count === 0
      ? `${day}: no mismatch waits for a decision`
      : `${day}: ${count} ${count === 1 ? "mismatch waits" : "mismatches wait"} for a decision`;
  return {
    idempotencyKey: `digest/${day}`,
    kind: "digest",
    productId: null,
    body: {
      what,
      day,
      count,
      ages,
      owners: ownersOf(sums),
      othersOwn: countOf(sums.filter((one) => one.isOther)),
    },
    at: now,
  };
}

function agesOf(sums: readonly Unresolved[]): AgeOfMoney[] {
  return AGES.map(({ age }, index) => {
    const own = sums.filter(({ ageIndex }) => ageIndex === index);
    return { age, count: countOf(own), amounts: sumByCurrency(own) };
  }).filter(({ count }) => count > 0);
}

/** Nobody's first, because no one looks after them; then the owners by name. */
function ownersOf(sums: readonly Unresolved[]): OwnerOfMoney[] {
  const named = Map.groupBy(
    sums.filter((one) => !one.isOther),
    ({ owner }) => owner,
  );
  return [...named]
    .sort(([a], [b]) => (a === null ? -1 : b === null ? 1 : a < b ? -1 : 1))
    .map(([owner, own]) => ({
      owner,
      count: countOf(own),
      amounts: sumByCurrency(own),
      oldest: formatInstant(Math.min(...own.map(({ oldest }) => oldest))),
      ages: agesOf(own),
    }));
}

function countOf(sums: readonly Unresolved[]): number {
  return sums.reduce((total, { count }) => total + count, 0);
}
