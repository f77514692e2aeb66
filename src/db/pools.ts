/**
 * How the connections of a worker are divided, so that nobody takes those of others (docs/operations.md#connections).
 */

import { openDatabase, PEOPLE_LIMITS, type Sql } from "./client.ts";

/** One in so many connections is for people. */
const PEOPLE_SHARE = 4;
const FEWEST_OF_PEOPLE = 2;

export interface Pools {
  /** pulling, comparing, verifying, alerting */
  readonly work: Sql;
  /** the dashboard, the API and the metrics */
  readonly people: Sql;
  close(): Promise<void>;
}

/**
 * Opens the pools of a process; they connect when first used.
 * @param most connections of both together, at least 4
 */
export function openPools(url: string, most: number): Pools {
  const people = Math.max(FEWEST_OF_PEOPLE, Math.floor(most / PEOPLE_SHARE));
  const pools = {
    work: openDatabase(url, most - people),
    people: openDatabase(url, people, PEOPLE_LIMITS),
  };
  return {
    ...pools,
    // All work is done by now; a connection that broke once may never say that it has ended.
    close: async () => {
      await Promise.all([pools.work, pools.people].map((sql) => sql.end({ timeout: 1 })));
    },
  };
}
