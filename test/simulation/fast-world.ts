/** A seeded world whose hours pass in seconds, for real processes with real clocks. */

import type { BetRecord } from "../../src/bet.ts";
import type { CallbackEntry } from "../../src/callback.ts";
import { type Instant, parseInstant } from "../../src/clock.ts";
import { dateText, type Offset } from "../../src/sandbox/world/provider-side.ts";
import type { PlantedFault, World } from "../../src/sandbox/world/world.ts";

/** One moment of the world is one real moment; from there the world passes faster by the factor. */
interface WorldPace {
  readonly begin: Instant;
  readonly startsAt: Instant;
  readonly factor: number;
}

export interface FastWorld extends World {
  /** Begins to play; before that nothing is shown. */
  start(startsAt: Instant): void;
}

/**
 * The world at a multiple of its pace, in real moments.
 * @param begin the moment of the world with which it starts
 * @param isKept whether the worker has stored the record of a planted fault: a record must be seen before it vanishes
 */
export function speedUp(
  world: World,
  begin: Instant,
  factor: number,
  isKept: (fault: PlantedFault) => boolean,
): FastWorld {
  let pace: WorldPace = { begin, startsAt: Number.POSITIVE_INFINITY, factor };
  const vanishing = world
    .plantedBy(Number.POSITIVE_INFINITY)
    .filter(({ kind }) => kind === "vanished-at-provider");
  return {
    seed: world.seed,
    products: world.products,
    start: (startsAt) => {
      pace = { begin, startsAt, factor };
    },
    recordsIn(productId, range, now) {
      const asked = { from: toWorld(pace, range.from), to: toWorld(pace, range.to) };
      const shown = (at: Instant) => world.recordsIn(productId, asked, at);
      const at = toWorld(pace, now);
      const held = vanishing.flatMap((fault) => {
        if (fault.productId !== productId || fault.completeAt > at || isKept(fault)) return [];
        return shown(fault.completeAt - 1).filter((record) => isNamedBy(fault, record));
      });
      return [...shown(at), ...held].map((record) => recordAt(pace, record));
    },
    entriesReceived: (range) =>
      world
        .entriesReceived({ from: toWorld(pace, range.from), to: toWorld(pace, range.to) })
        .map((entry) => entryAt(pace, entry)),
    plantedBy: (now) => world.plantedBy(toWorld(pace, now)),
    quietAt: () => toReal(pace, world.quietAt()),
  };
}

/** Order and distances stay, except within one millisecond. */
function toReal({ begin, startsAt, factor }: WorldPace, at: Instant): Instant {
  return startsAt + Math.floor((at - begin) / factor);
}

function toWorld({ begin, startsAt, factor }: WorldPace, at: Instant): Instant {
  return begin + (at - startsAt) * factor;
}

function isNamedBy({ transactionId }: PlantedFault, { id, betId }: BetRecord): boolean {
  return id === transactionId || betId === transactionId;
}

function recordAt(pace: WorldPace, record: BetRecord): BetRecord {
  return {
    ...record,
    accountingDate: dateAt(pace, record.accountingDate),
    updatedDate: dateAt(pace, record.updatedDate),
  };
}

function dateAt(pace: WorldPace, text: string): string {
  const offset = /(Z|[+-]\d\d:\d\d)$/.exec(text)?.[0] as Offset;
  return dateText(toReal(pace, parseInstant(text, "date")), offset);
}

function entryAt(pace: WorldPace, entry: CallbackEntry): CallbackEntry {
  return {
    ...entry,
    occurredAt: toReal(pace, entry.occurredAt),
    receivedAt: toReal(pace, entry.receivedAt),
  };
}
