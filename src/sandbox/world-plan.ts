/** What a seeded world is made from: everything that happens in it follows from these values. */

import type { TimeRange } from "../window.ts";

/** The ways a product is played of which each bet is one story: live tables, slot machines, sport bets. */
export type PlainStyle = "table" | "slot" | "sport";

/**
 * The ways of products that are full of oddities: everything there is, settlements without placements, open bets that
 * are listed, records that only name the round, and money that only moves by adjustBalance; and operators that write no
 * entry for a settlement that pays 0, or keep two decimals of what a sender computes in floating point.
 */
export type OddStyle =
  | "odd"
  | "single-state"
  | "open-listed"
  | "by-round"
  | "session"
  | "lost-omitted"
  | "two-decimals";

export type StyleName = PlainStyle | OddStyle;

export interface ProductPlan {
  readonly productId: string;
  readonly style: StyleName;
  /** may be a fraction: 0.5 is a round every second minute on average; sessions follow from the players alone */
  readonly roundsPerMinute: number;
}

export interface WorldPlan {
  readonly seed: number;
  /**
   * When players play, in order: a round that would start outside of these does not happen.
   * The array is read anew on every question, so it may grow at its end while the world is in use.
   */
  readonly periods: readonly TimeRange[];
  readonly products: readonly ProductPlan[];
  /** how many players there are */
  readonly players: number;
  /** a settlement comes at most this late after the placement */
  readonly lateSettlementMs: number;
  /** a callback reaches the operator at most this long after it occurred */
  readonly callbackLagMs: number;
  /** the provider's report shows an event at most this long after it occurred */
  readonly reportLagMs: number;
  /** of the odd styles, now and then a whole round is shown this late; without it no later than the others */
  readonly lateReportMs?: number;
  /** one planted fault in so many whole minutes of each product; 0: none */
  readonly faultEveryMinutes: number;
}
