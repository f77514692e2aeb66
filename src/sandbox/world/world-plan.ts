/** The plan of a seeded world: everything that happens in the world follows from these values. */

import type { TimeRange } from "../../window.ts";

/** How a product of the sandbox is played: live tables, slot machines, or sport bets. */
export type PlainStyle = "table" | "slot" | "sport";

/** @template Style the names of the possible styles; a simulation has further ones */
export interface ProductPlan<Style extends string = PlainStyle> {
  readonly productId: string;
  readonly style: Style;
  /** may be a fraction: 0.5 is a round every second minute on average */
  readonly roundsPerMinute: number;
}

/** @template Style as for {@link ProductPlan} */
export interface WorldPlan<Style extends string = PlainStyle> {
  readonly seed: number;
  /**
   * When players play, in order: a round that would start outside of these does not happen.
   * The array is read anew on every question, so it may grow at its end while the world is in use.
   */
  readonly periods: readonly TimeRange[];
  readonly products: readonly ProductPlan<Style>[];
  /** how many players there are */
  readonly players: number;
  /** a settlement comes at most this late after the placement */
  readonly lateSettlementMs: number;
  /** a callback reaches the operator at most this long after it occurred */
  readonly callbackLagMs: number;
  /** the provider's report shows an event at most this long after it occurred */
  readonly reportLagMs: number;
  /** a style may show some whole rounds this late; by default none is later than `reportLagMs` */
  readonly lateReportMs?: number;
  /** one planted fault in so many whole minutes of each product; 0: none */
  readonly faultEveryMinutes: number;
}
