/** Reads what the page about health shows: the progress of all work, the space of the database, and what waits. */

import { readConditions } from "../../alerts/condition-store.ts";
import { countUndelivered } from "../../alerts/store.ts";
import type { Instant } from "../../clock.ts";
import { countRows } from "../../db/row-counts.ts";
import type { Finding } from "../../health/finding.ts";
import { judgeEmptyLedger, ofConditions } from "../../health/installation.ts";
import { judgeHeartbeat, judgeRetention, type SideWork } from "../../health/other-work.ts";
import { countOfEmptied } from "../../ledger/entry-days-store.ts";
import { countFirstRejected } from "../../ledger/rejected-store.ts";
import { readLastReceived } from "../../ledger/store.ts";
import { type PullProgress, readPullProgress } from "../../sync/progress-store.ts";
import type { WorkState } from "../../work/work-store.ts";
import type { FlowContext } from "../context.ts";
import { judgeWork, seeWork, type WorkReport } from "./read-work.ts";

export interface Health {
  readonly now: Instant;
  /** of the products of the config that are pulled and have begun */
  readonly progress: readonly PullProgress[];
  readonly work: WorkReport;
  readonly states: readonly WorkState[];
  readonly heartbeat: SideWork;
  readonly retention: SideWork;
  /** the time of the newest entry; null: there is none */
  readonly lastReceivedAt: Instant | null;
  /** the number of accepted entries, if `callback_entries` is empty all the same; otherwise 0 */
  readonly emptied: number;
  readonly rejected: RejectedCounts;
  readonly undelivered: number;
  /** of the work, and of what is around it */
  readonly findings: readonly Finding[];
}

interface RejectedCounts {
  readonly records: number;
  readonly entries: number;
  /** there are more entries than were counted */
  readonly hasMore: boolean;
}

/** The limit of counting for a page. */
const MOST_COUNTED = 10_000;

export async function readHealth(context: FlowContext): Promise<Health> {
  const { sql, config, clock } = context;
  const now = clock.now();
  const pulled = new Set(
    config.products.filter(({ walletMode }) => walletMode === "seamless").map(({ productId }) => productId),
  );
  const [all, seen, undelivered, conditions, rejected, lastReceivedAt, emptied] = await Promise.all([
    readPullProgress(sql),
    seeWork(context, now, MOST_COUNTED),
    countUndelivered(sql),
    readConditions(sql),
    countRejected(sql),
    readLastReceived(sql),
    countOfEmptied(sql),
  ]);
  const progress = all.filter(({ productId }) => pulled.has(productId));
  const watched = { now, watchedSince: null, states: seen.states };
  const work = judgeWork(context, { ...seen, progress }, "as-is");
  const isEmpty = lastReceivedAt === null && pulled.size > 0;
  return {
    now,
    progress,
    work,
    states: seen.states,
    heartbeat: judgeHeartbeat(watched),
    retention: judgeRetention(watched),
    lastReceivedAt,
    emptied,
    rejected,
    undelivered,
    findings: [
      ...work.findings,
      ...ofConditions(conditions, undelivered),
      ...judgeEmptyLedger(isEmpty, emptied),
    ],
  };
}

async function countRejected(sql: FlowContext["sql"]): Promise<RejectedCounts> {
  const [records, entries] = await Promise.all([
    countRows(sql, "rejected_records"),
    countFirstRejected(sql, MOST_COUNTED + 1),
  ]);
  return { records, entries: Math.min(entries, MOST_COUNTED), hasMore: entries > MOST_COUNTED };
}
