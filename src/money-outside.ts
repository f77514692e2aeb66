/** Money of the ledger that no comparison looks at, and whether all money of the ledger is in statements. */

import type { Instant } from "./clock.ts";
import type { BooksSeen } from "./closed.ts";

/** Money outside the comparison, of one product and currency. */
export interface MoneyOutside {
  readonly productId: string;
  /** ISO 4217 */
  readonly currency: string;
  /** signed decimal text; negative: taken from players */
  readonly outside: string;
  readonly entries: number;
  /** when the first of these entries occurred */
  readonly firstAt: Instant;
}

/** A product that has entries or records, and is not in the settings. */
export interface UnknownProduct {
  readonly productId: string;
  readonly entries: number;
  /** the time of its first entry or record, and of its last one */
  readonly since: Instant;
  readonly until: Instant;
}

/** What moved outside the comparison since a time. */
export interface OutsideSeen {
  /** the beginning of the days that are looked at: those that are not closed, at most the last 7 */
  readonly from: Instant;
  readonly money: readonly MoneyOutside[];
  /** whenever they had entries or records */
  readonly unknown: readonly UnknownProduct[];
}

/** The money of a product and currency in the ledger, and in the statements of all days. Amounts are signed decimal text. */
export interface MoneySums {
  readonly productId: string;
  readonly currency: string;
  /** the sum of `moved` of all entries */
  readonly ledger: string;
  /** the sum of `ledger.moved` of the statements */
  readonly statements: string;
  /** the sum of `outside` of the statements */
  readonly outside: string;
  /** the same amount was missing when they were added up before: it was not on its way to a statement */
  readonly isConfirmed: boolean;
}

/** The result of adding up both sides. */
export interface SumsSeen {
  /** products whose sums were compared */
  readonly sums: readonly MoneySums[];
  /** products whose sums could not be compared, each with the reason as a sentence */
  readonly left: readonly { readonly productId: string; readonly reason: string }[];
}

/** What a worker has measured, and when; null: no worker has, with these settings. */
export interface Measured<Content> {
  readonly measuredAt: Instant;
  readonly tookMs: number;
  readonly content: Content;
}

export interface MoneySeen {
  readonly outside: Measured<OutsideSeen> | null;
  readonly sums: Measured<SumsSeen> | null;
  readonly books: Measured<BooksSeen> | null;
}
