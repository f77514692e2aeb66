/** Reads the metrics of the database: open work often, finished work seldom. */

import type { Instant } from "../../clock.ts";
import type { Config } from "../../config-file.ts";
import type { Query, Sql } from "../../db/client.ts";
import { seeWork, type WorkSeen } from "../../flows/read/read-work.ts";
import { type MonthlyShares, readMonthlyShares } from "../../flows/trends/trends.ts";
import { countRejectedEntries } from "../../ledger/rejected-store.ts";
import { type PullProgress, readPullProgress } from "../../sync/progress-store.ts";
import type { VerifyKind } from "../../verify/row-store.ts";
import { countTransfers } from "../../verify/store.ts";
import {
  type AlertBacklog,
  type AmountAtRisk,
  type BackfillCount,
  countBackfills,
  countInDoubt,
  countMismatches,
  countVerifications,
  limitStatements,
  type MismatchCount,
  readAlertBacklog,
  readNewestReceivedAt,
  sumAtRisk,
  type VerifyCount,
} from "./counts-store.ts";

/** The longest statement, so that a scrape does not hold a connection for long. */
const LONGEST_STATEMENT_MS = 2_000;

interface StateCounts {
  readonly mismatches: readonly MismatchCount[];
  readonly transfers: readonly VerifyCount[];
  readonly topUps: readonly VerifyCount[];
}

/** Open work of ops and of this program. */
export interface OpenState extends StateCounts {
  readonly progress: readonly PullProgress[];
  /** records in doubt, by product */
  readonly inDoubt: ReadonlyMap<string, number>;
  readonly atRisk: readonly AmountAtRisk[];
  readonly alerts: AlertBacklog;
  readonly backfills: readonly BackfillCount[];
  readonly newestReceivedAt: Instant | null;
  readonly work: WorkSeen;
  readonly rejectedEntries: number;
}

/** The limit of counting for each product, so that a scrape stays cheap. */
const MOST_COUNTED = 10_000;

/** Reads everything in one snapshot, on one connection. */
export async function readOpenState(sql: Sql, config: Config, now: Instant): Promise<OpenState> {
  return await sql.begin("isolation level repeatable read read only", async (tx) => {
    await limitStatements(tx, LONGEST_STATEMENT_MS);
    const progress = await readPullProgress(tx);
    const { unusable, changed } = await countRejectedEntries(tx);
    return {
      progress,
      work: { ...(await seeWork({ sql: tx, config }, now, MOST_COUNTED)), progress },
      rejectedEntries: unusable + changed,
      inDoubt: await countInDoubt(tx),
      mismatches: await countMismatches(tx, ["open", "acknowledged"]),
      atRisk: await sumAtRisk(tx),
      transfers: await countVerifications(tx, "transfer", ["pending", "inconclusive"]),
      topUps: await countVerifications(tx, "top-up", ["pending", "inconclusive"]),
      alerts: await readAlertBacklog(tx),
      backfills: await countBackfills(tx),
      newestReceivedAt: await readNewestReceivedAt(tx),
    };
  });
}

/** The months whose shares are shown: each makes lasting time series. */
const MOST_MONTHS = 2;

interface FinishedState extends StateCounts {
  readonly confirmed: readonly MonthlyShares[];
}

/** Reads finished work, which grows with the history. */
export async function readFinishedState(sql: Sql, now: Instant): Promise<FinishedState> {
  return await sql.begin("isolation level repeatable read read only", async (tx) => {
    await limitStatements(tx, LONGEST_STATEMENT_MS);
    return {
      mismatches: await countMismatches(tx, ["resolved", "ignored"]),
      transfers: await countCertain(tx, "transfer"),
      topUps: await countCertain(tx, "top-up"),
      confirmed: await readMonthlyShares(tx, now, MOST_MONTHS),
    };
  });
}

async function countCertain(tx: Query, kind: VerifyKind): Promise<VerifyCount[]> {
  const { accepted, rejected } = await countTransfers(tx, kind);
  return [
    { status: "accepted", count: accepted },
    { status: "rejected", count: rejected },
  ];
}
