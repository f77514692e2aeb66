/** The endpoint of §4.B3: which records the world shows, and the hours in which they are slow to read. */

import type { BetRecord } from "../bet.ts";
import type { Clock } from "../clock.ts";
import type { Answer } from "./answer.ts";
import { type BetQuery, chunkOf, parseBetQuery } from "./bet-query.ts";
import { createCache } from "./bounded-cache.ts";
import { type Slowness, troubleWith } from "./trouble.ts";
import type { World } from "./world.ts";

export interface BetEndpointOptions {
  readonly world: World;
  readonly clock: Clock;
  /** records of one chunk */
  readonly pageSize: number;
  /** null: the provider is always quick */
  readonly slowness: Slowness | null;
}

/** Records of ranges that are being paged through, kept so that a chunk does not cost its whole range. */
const MOST_RECORDS_KEPT = 100_000;

/** @returns what answers the parameters of a query string */
export function createBetEndpoint(
  options: BetEndpointOptions,
): (parameters: Readonly<Record<string, unknown>>) => Answer {
  const { world, clock, pageSize, slowness } = options;
  const productIds = world.products.map(({ productId }) => productId);
  const lists = createCache<BetRecord[]>(MOST_RECORDS_KEPT, (records) => records.length + 1);
  const recordsOf = ({ productId, range, asOf }: BetQuery) =>
    lists.get(JSON.stringify([productId, range, asOf]), () => world.recordsIn(productId, range, asOf));

  return (parameters) => {
    const parsed = parseBetQuery(parameters, productIds, clock.now());
    if ("refusal" in parsed) return parsed;
    const trouble = troubleWith(parsed.query.range, slowness);
    if (trouble !== null) return { trouble };
    return { data: chunkOf(recordsOf(parsed.query), parsed.query, pageSize) };
  };
}
