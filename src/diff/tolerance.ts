/** Which amounts count as equal: an operator that keeps two decimals differs from the provider by less than a cent. */

import type { Amount } from "../money.ts";
import { ZERO } from "../money.ts";

/** What two amounts of a currency may differ by and still be equal; of a currency that is not there, nothing. */
export type Tolerance = ReadonlyMap<string, Amount>;

/** @param amounts how many were added up to what is compared: a sum may differ by so many times as much */
export function allowanceOf(tolerance: Tolerance, currency: string, amounts: number): Amount {
  const one = tolerance.get(currency);
  return one === undefined ? ZERO : one.times(String(amounts));
}

export function differByAtMost(a: Amount, b: Amount, allowance: Amount): boolean {
  return a.minus(b).abs().lte(allowance);
}
