/** A round whose entries and records are written separately, without a common story of both sides. */

import type { BetRecord } from "../../bet.ts";
import type { CallbackEntry } from "../../callback.ts";
import type { Instant } from "../../clock.ts";
import type { PlantedFault } from "./plant-fault.ts";

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
