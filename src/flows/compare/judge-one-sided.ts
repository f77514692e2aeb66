/** Differences that one side alone proves: a record or a request that contradicts itself. */

import type { StoredRecord } from "../../bet.ts";
import type { CallbackEntry } from "../../callback.ts";
import type { Instant } from "../../clock.ts";
import { type Absences, type AssessedPair, transactionOf } from "../../diff/assess.ts";
import { findBalances, subjectOfRequest } from "../../diff/balance.ts";
import { findInconsistent } from "../../diff/inconsistent.ts";
import type { Neighbourhood } from "../../diff/neighbourhood.ts";
import type { UnmetCondition } from "../../diff/required-conditions.ts";
import type { MismatchContent } from "../../mismatch.ts";
import type { SeenDifference } from "../../mismatches/transitions.ts";
import type { Amount } from "../../money.ts";
import { includes } from "../../window.ts";
import type { JudgeContext } from "./comparison-context.ts";

/** The requests of a comparison, each with all its items. */
export interface ComparedRequests {
  readonly itemsOf: ReadonlyMap<string, readonly CallbackEntry[]>;
  /** the amount for each null `moved`, by entryId */
  readonly asked: ReadonlyMap<string, Amount>;
}

/** A neighbourhood with its pairs, and its absent and doubtful records. */
interface AssessedNeighbourhood {
  readonly neighbourhood: Neighbourhood;
  readonly pairs: readonly AssessedPair[];
  readonly absences: Absences;
}

/**
 * Finds contradictions in the records and requests of a neighbourhood. They are confirmed after the callbacks'
 * grace. A record in doubt opens no mismatch; an absent record is ignored.
 */
export function findOneSided(
  { settings, graces, deleted, now }: JudgeContext,
  { neighbourhood: { records, entries }, pairs, absences }: AssessedNeighbourhood,
  requests: ComparedRequests,
): { readonly seen: SeenDifference[]; readonly waits: UnmetCondition[] } {
  const seen: SeenDifference[] = [];
  const waits: UnmetCondition[] = [];
  const see = (content: MismatchContent | null, lastArrivedAt: Instant, isCertain = true) => {
    if (content === null) return;
    const until = lastArrivedAt + graces.callbackGraceMs;
    seen.push({ content, subjects: [content.subject], confirmed: isCertain && now >= until });
    if (now < until) waits.push({ until });
  };
  const transactionIdOf = (record: StoredRecord) => transactionOf(record, pairs, settings);
  for (const record of records) {
    if (absences.absent.includes(record)) continue;
    const isCertain = !absences.doubtful.includes(record);
    see(findInconsistent(record, transactionIdOf, settings), record.versionSeenAt, isCertain);
  }
  const own = new Set(entries.map(keyOfRequest));
  const items = [...own].flatMap((request) => requests.itemsOf.get(request) ?? []);
  const compared = items.filter((entry) => entry.occurredAt >= settings.ledgerStart);
  const itemsOf = Map.groupBy(items, subjectOfRequest);
  for (const content of findBalances(compared, requests.asked, settings.tolerance)) {
    const received = itemsOf.get(content.subject) ?? [];
    // Other items of an old request may have been deleted.
    const isWhole = received.every((entry) => !includes(deleted.entries, entry.occurredAt));
    see(content, Math.max(...received.map((entry) => entry.receivedAt)), isWhole);
  }
  return { seen, waits };
}

/** Identifies a request of a player. */
export function keyOfRequest(entry: CallbackEntry): string {
  return `${entry.username}\0${subjectOfRequest(entry)}`;
}
