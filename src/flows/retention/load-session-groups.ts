/** Loads the whole sessions of old rows: a session is deleted whole, or stays (decision 156). */

import type { StoredRecord } from "../../bet.ts";
import { parseInstant } from "../../clock.ts";
import type { ProductConfig } from "../../config-file.ts";
import type { Query } from "../../db/client.ts";
import { entriesOutside } from "../../diff/outside.ts";
import { withoutSessions } from "../../diff/session-bets.ts";
import { NO_ABSENCES } from "../../diff/vanished.ts";
import { textOfKey } from "../../sync/expired-records-store.ts";
import { openComparison } from "../compare/comparison-context.ts";
import { loadSessions } from "../compare/load-sessions.ts";
import type { FlowContext } from "../context.ts";
import type { BetGroup } from "./decide-group.ts";

/**
 * @param visited the groups of the visited rows
 * @returns a group for each session, and for the bets beside them
 */
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
  const bets = visited.flatMap((group): BetGroup[] => {
    const own = betsOf(group, product);
    for (const record of group.records) {
      if (!own.records.includes(record))
        touch(record.username, parseInstant(record.accountingDate, "accountingDate"));
    }
    for (const entry of group.entries) {
      if (!own.entries.includes(entry)) touch(entry.username, entry.occurredAt);
    }
    if (own.records.length + own.entries.length === 0) return [];
    const ids = new Set(own.entries.map(({ txnId }) => txnId));
    return [{ ...group, ...own, bets: group.bets.filter(({ txnId }) => ids.has(txnId)) }];
  });
  const played = await loadSessions(comparison, touched, async () => () => NO_ABSENCES);
  const sessions = [...played.values()].flatMap((player) => player.sessions);
  const counted = new Set([...sessions, ...bets].flatMap(({ records }) => records.map(textOfKey)));
  // Records that a later step of their bet replaces are in no session. They go with that step.
  const replaced = Map.groupBy(
    visited.flatMap(({ records }) => records).filter((record) => !counted.has(textOfKey(record))),
    keyOfBet,
  );
  return [
    ...sessions.map((session) => {
      const steps = [...new Set(session.records.map(keyOfBet))].flatMap((bet) => replaced.get(bet) ?? []);
      return { records: [...session.records, ...steps], entries: session.entries, bets: [], session };
    }),
    ...bets,
  ];
}

function keyOfBet({ username, betId }: StoredRecord): string {
  return JSON.stringify([username, betId]);
}

/** The rows of a group that belong to no session. */
function betsOf(group: BetGroup, { settlement }: ProductConfig): Pick<BetGroup, "records" | "entries"> {
  return settlement === "mixed"
    ? withoutSessions({ ...group, rest: [] })
    : { records: [], entries: entriesOutside(group.entries, settlement) };
}
