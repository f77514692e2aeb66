/** Loads the whole sessions of old rows: a session is deleted whole, or stays (decision 156). */

import { parseInstant } from "../../clock.ts";
import type { ProductConfig } from "../../config-file.ts";
import type { Query } from "../../db/client.ts";
import { NO_ABSENCES } from "../../diff/vanished.ts";
import { openComparison } from "../compare/comparison-context.ts";
import { loadSessions } from "../compare/load-sessions.ts";
import type { FlowContext } from "../context.ts";
import type { BetGroup } from "./decide-group.ts";

/** @param visited the groups of the visited rows @returns a group for each session, and the rows outside of sessions */
export async function loadSessionGroups(
  context: FlowContext,
  tx: Query,
  product: ProductConfig,
  visited: readonly BetGroup[],
): Promise<BetGroup[]> {
  const comparison = openComparison(context, tx, product, Number.NEGATIVE_INFINITY, context.clock.now());
  const touched = new Map<string, number[]>();
  const touch = (username: string, at: number) =>
    touched.set(username, [...(touched.get(username) ?? []), at]);
  for (const { records, entries } of visited) {
    for (const { username, accountingDate } of records)
      touch(username, parseInstant(accountingDate, "accountingDate"));
    for (const { username, occurredAt, callback } of entries) {
      if (callback === "adjustBalance") touch(username, occurredAt);
    }
  }
  const played = await loadSessions(comparison, touched, async () => () => NO_ABSENCES);
  const sessions = [...played.values()].flatMap((player) => player.sessions);
  const outside = visited.filter(
    ({ records, entries }) =>
      records.length === 0 && entries.every(({ callback }) => callback !== "adjustBalance"),
  );
  return [
    ...sessions.map((session) => ({ records: session.records, entries: session.entries, bets: [], session })),
    ...outside,
  ];
}
