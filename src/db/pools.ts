/** Divides the connections of a worker between its work and people (decision 125, docs/operations.md#connections). */

import { openDatabase, PEOPLE_LIMITS, type Sql } from "./client.ts";

/** One in this many connections is for people. */
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
 * Opens the pools of a process. They connect at their first use.
 * @param most the most connections of both pools together, at least 4
 */
export function openPools(url: string, most: number): Pools {
  const people = Math.max(FEWEST_OF_PEOPLE, Math.floor(most / PEOPLE_SHARE));
  const pools = {
    work: openDatabase(url, most - people),
    people: openDatabase(url, people, PEOPLE_LIMITS),
  };
  return {
    ...pools,
    // All work has ended by now. The time-out is needed because a broken connection may never report its end.
    close: async () => {
      await Promise.all([pools.work, pools.people].map((sql) => sql.end({ timeout: 1 })));
    },
  };
}
