/**
 * Which amounts count as equal. An operator that keeps two decimals differs from the provider by less than a cent.
 */

import type { Amount } from "../money.ts";
import { ZERO } from "../money.ts";

/**
 * By currency, the difference up to which two amounts count as equal. A currency without an entry has no tolerance.
 */
export type Tolerance = ReadonlyMap<string, Amount>;

/** @param amounts the number of amounts in the compared sum; the allowance grows with it (decision 99) */
export function allowanceOf(tolerance: Tolerance, currency: string, amounts: number): Amount {
  const one = tolerance.get(currency);
  return one === undefined ? ZERO : one.times(String(amounts));
}

export function differByAtMost(a: Amount, b: Amount, allowance: Amount): boolean {
  return a.minus(b).abs().lte(allowance);
}
