/** Loads the bets of some visited rows, and judges which of their rows may be deleted (§3.10). */

import type { StoredRecord } from "../../bet.ts";
import { parseInstant } from "../../clock.ts";
import type { ProductConfig } from "../../config-file.ts";
import type { Query } from "../../db/client.ts";
import { readDeletedTime } from "../../db/retention-store.ts";
import { entriesOutside } from "../../diff/outside.ts";
import { readNotedAbsences } from "../../diff/record-store.ts";
import { withoutSessions } from "../../diff/session-bets.ts";
import { NO_ABSENCES } from "../../diff/vanished.ts";
import type { NamedByMismatch } from "../../mismatches/expired-store.ts";
import { type RecordKey, textOfKey } from "../../sync/expired-records-store.ts";
import { openComparison } from "../compare/comparison-context.ts";
import { loadSessions } from "../compare/load-sessions.ts";
import type { FlowContext } from "../context.ts";
import {
  type BetGroup,
  type Deletable,
  type DeleteUpTo,
  decideGroup,
  lostRecordsBefore,
} from "./decide-group.ts";
import { loadGroups, type VisitedRow } from "./load-groups.ts";

/**
 * @param visited the groups of the visited rows
 * @returns a group for each session, and for the bets beside them
 */
async function loadSessionGroups(
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

/** The groups of some rows, and for each of them, at the same place, what may be deleted of it. */
export interface JudgedGroups {
  readonly groups: readonly BetGroup[];
  readonly decided: readonly Deletable[];
}

/** @param mismatches those that keep their bets */
export async function loadJudged(
  context: FlowContext,
  tx: Query,
  product: ProductConfig,
  visited: readonly VisitedRow[],
  upTo: DeleteUpTo,
  mismatches: readonly NamedByMismatch[],
): Promise<JudgedGroups> {
  const { productId, settlement } = product;
  const loaded = await loadGroups(tx, product, visited);
  const groups = settlement === "bets" ? loaded : await loadSessionGroups(context, tx, product, loaded);
  const deletedRecords = lostRecordsBefore((await readDeletedTime(tx, productId)).records.to, upTo);
  const omitsLostBets = product.lostBets === "omitted";
  const isInDoubt = await findInDoubt(tx, productId, groups);
  const decided = groups.map((group) =>
    decideGroup(group, { ...upTo, omitsLostBets, deletedRecords, mismatches, isInDoubt }),
  );
  return { groups, decided };
}

/** @returns whether a record of the groups is in doubt */
async function findInDoubt(
  tx: Query,
  productId: string,
  groups: readonly BetGroup[],
): Promise<(record: RecordKey) => boolean> {
  const records = groups.flatMap((group) => group.records);
  const noted = await readNotedAbsences(tx, productId, records);
  const inDoubt = new Set(noted.filter(({ absentSince }) => absentSince === null).map(textOfKey));
  return (record) => inDoubt.has(textOfKey(record));
}
