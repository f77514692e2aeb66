/** The plan of a seeded world, which decides everything that happens in it, and the script of one round. */

import type { BetRecord } from "../../bet.ts";
import type { CallbackEntry } from "../../callback.ts";
import type { Instant } from "../../clock.ts";
import type { MismatchKind } from "../../mismatch.ts";
import type { TimeRange } from "../../window.ts";

/** A fault, as the mismatch that must be found. */
export interface PlantedFault {
  readonly kind: MismatchKind;
  readonly productId: string;
  readonly username: string;
  /** of the record; null: there is no record */
  readonly betId: string | null;
  /** of the ledger; null: no callback arrived */
  readonly transactionId: string | null;
  /** null: the mismatch has no round */
  readonly roundId: string | null;
  /** decimal text */
  readonly amountAtRisk: string;
  /** neither side reports anything new about the round after this time */
  readonly completeAt: Instant;
}

/** The entries and records of a round, with their times. */
export interface Script {
  readonly startedAt: Instant;
  readonly entries: readonly CallbackEntry[];
  readonly records: readonly ScriptedRecord[];
  /** null: the round is odd, but right */
  readonly fault: PlantedFault | null;
}

/** The versions of one record, in the order of the report. */
type ScriptedRecord = readonly ShownVersion[];

export interface ShownVersion {
  /** the time from which the report shows this version */
  readonly at: Instant;
  readonly accountedAt: Instant;
  /** null: the report does not show the record any more */
  readonly record: BetRecord | null;
}

export const MINUTE_MS = 60_000;

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
   * The periods of play, in order. No round starts outside of them. The world reads the array at every question, so
   * the array may grow at its end.
   */
  readonly periods: readonly TimeRange[];
  readonly products: readonly ProductPlan<Style>[];
  /** the number of players */
  readonly players: number;
  /** the longest time from a placement to its settlement */
  readonly lateSettlementMs: number;
  /** the longest time from an event to its callback at the operator */
  readonly callbackLagMs: number;
  /** the longest time from an event to its appearance in the provider's report */
  readonly reportLagMs: number;
  /** the same for the few late rounds of some styles; default: no round is later than `reportLagMs` */
  readonly lateReportMs?: number;
  /** each product has one planted fault in this number of minutes; 0: no faults */
  readonly faultEveryMinutes: number;
  /**
   * The world of the demo: amounts are usual, evenings are busy, and the products take turns with the faults,
   * so that the whole world has one fault in `faultEveryMinutes`, from its beginning on. Default: false.
   */
  readonly forDemo?: boolean;
}
