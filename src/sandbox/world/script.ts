/** What both sides say of a round that is written in full when it begins. */

import type { BetRecord } from "../../bet.ts";
import type { CallbackEntry } from "../../callback.ts";
import type { Instant } from "../../clock.ts";
import type { PlantedFault } from "./plant-fault.ts";

/** What both sides say of a round in the end, and when. */
export interface Script {
  readonly startedAt: Instant;
  readonly entries: readonly CallbackEntry[];
  readonly records: readonly ScriptedRecord[];
  /** null: what it tells is odd, and right */
  readonly fault: PlantedFault | null;
}

/** The versions of one record in the order in which the report shows them. */
type ScriptedRecord = readonly ShownVersion[];

export interface ShownVersion {
  /** the report shows it from here on */
  readonly at: Instant;
  readonly accountedAt: Instant;
  /** null: the report shows nothing any more */
  readonly record: BetRecord | null;
}
