/** Reads the state of all products and work (the JSON of `recon status` and `/api/status`). */

import { countUndelivered } from "../../alerts/store.ts";
import { formatInstant, type Instant } from "../../clock.ts";
import { isStalled, watermarkOf } from "../../health/products.ts";
import { countOfEmptied } from "../../ledger/entry-days-store.ts";
import { countRejectedEntries } from "../../ledger/rejected-store.ts";
import { readLedgerExtent } from "../../ledger/store.ts";
import { countByStatus, countOpenByProduct, type StatusCounts } from "../../mismatches/store.ts";
import { readPullProgress } from "../../sync/progress-store.ts";
import { countRecords } from "../../sync/record-store.ts";
import type { TransferStatus } from "../../transfer.ts";
import { countTransfers } from "../../verify/store.ts";
import type { FlowContext } from "../context.ts";
import { readOutside } from "./read-outside.ts";
import { judgeWork, seeWork, type WorkReport } from "./read-work.ts";

interface ProductStatus {
  readonly productId: string;
  /** the head of pulling */
  readonly head: string | null;
  /** everything before this time was fetched; differs from the head while there are gaps */
  readonly watermark: string | null;
  /**
   * since the watermark, or since `since` if nothing was pulled yet; null: the product is not pulled, or no worker
   * has begun
   */
  readonly lagSeconds: number | null;
  /**
   * how long the oldest due resweep has been due; 0: none is due; null: the product is not pulled, or no worker has begun
   */
  readonly resweepBehindSeconds: number | null;
  readonly windowSeconds: number | null;
  readonly stalled: boolean;
  readonly gaps: number;
  readonly records: number;
  readonly rejected: number;
  readonly openMismatches: number;
}

export interface Status {
  readonly products: ProductStatus[];
  readonly ledger: { readonly entries: number; readonly lastReceivedAt: string | null };
  readonly mismatches: StatusCounts;
  readonly transfers: Record<TransferStatus, number>;
  readonly alerts: { readonly undelivered: number };
  readonly comparing: {
    /** everything that had arrived by then has been judged, or waits for its graces; null: nothing was judged yet */
    readonly upTo: string | null;
    readonly behindSeconds: number | null;
    /** touched rounds and bets that are due for a comparison */
    readonly waiting: number;
    /** rounds and bets that cannot be compared */
    readonly setAside: number;
    /** the problem in a sentence; null: there is none */
    readonly problem: string | null;
  };
  readonly verifying: {
    /**
     * the longest wait of a due question; if nothing waits, the time since the last check for due questions; null:
     * there was no check
     */
    readonly behindSeconds: number | null;
    readonly due: number;
  };
  /** products that have entries or records, and are not in the settings */
  readonly unknownProducts: readonly {
    readonly productId: string;
    readonly entries: number;
    readonly since: string;
  }[];
  /** money that moved outside the comparison, on the days that are not closed, at most the last 7: decimal text */
  readonly outside: readonly {
    readonly productId: string;
    readonly currency: string;
    readonly outside: string;
  }[];
  /** records of the provider and entries of the ledger that cannot be used */
  readonly rejected: { readonly records: number; readonly entries: number };
}

/** The status with more facts, for pages and the terminal. */
export interface StatusForPeople {
  readonly status: Status;
  readonly work: WorkReport;
  /** the number of accepted entries, if `callback_entries` is empty all the same; otherwise 0 */
  readonly emptied: number;
}

export async function readStatus(context: FlowContext): Promise<Status> {
  return (await readStatusForPeople(context)).status;
}

export async function readStatusForPeople(context: FlowContext): Promise<StatusForPeople> {
  const { sql, config, clock } = context;
  const [progress, records, open, ledger, mismatches, transfers, undelivered, rejected, emptied] =
    await Promise.all([
      readPullProgress(sql),
      countRecords(sql),
      countOpenByProduct(sql),
      readLedgerExtent(sql),
      countByStatus(sql),
      countTransfers(sql),
      countUndelivered(sql),
      countRejectedEntries(sql),
      countOfEmptied(sql),
    ]);
  const now = clock.now();
  const outside = await readOutside(context);
  const work = judgeWork(context, { ...(await seeWork(context, now, null)), progress }, "as-is");
  const { comparing, verifying } = work;
  const products = config.products.map(({ productId, walletMode, since }): ProductStatus => {
    const state = progress.find((one) => one.productId === productId);
    const watermark = state === undefined ? null : watermarkOf(state);
    // Nothing is missing before the beginning of pulling, which is unknown before a worker's first start.
    const lagsSince = walletMode === "transfer" ? null : (watermark ?? since);
    return {
      productId,
      head: showTime(state?.head ?? null),
      watermark: showTime(watermark),
      lagSeconds: lagsSince === null ? null : Math.max(0, Math.round((now - lagsSince) / 1000)),
      resweepBehindSeconds: resweepBehindOf(work, productId, now),
      windowSeconds: state === undefined ? null : state.windowMs / 1000,
      stalled: state !== undefined && isStalled(state),
      gaps: state?.gaps ?? 0,
      records: records.get(productId)?.records ?? 0,
      rejected: records.get(productId)?.rejected ?? 0,
      openMismatches: open.get(productId) ?? 0,
    };
  });
  const status = {
    products,
    ledger: { entries: ledger.entries, lastReceivedAt: showTime(ledger.lastReceivedAt) },
    mismatches,
    transfers,
    alerts: { undelivered },
    comparing: {
      upTo: showTime(comparing.upTo),
      behindSeconds: comparing.upTo === null ? null : secondsOf(Math.max(0, now - comparing.upTo)),
      waiting: comparing.waiting,
      setAside: comparing.setAside,
      problem: comparing.problem,
    },
    verifying: {
      behindSeconds: verifying.behindMs === null ? null : secondsOf(verifying.behindMs),
      due: verifying.due,
    },
    unknownProducts: outside.unknown.map(({ productId, entries, since }) => ({
      productId,
      entries,
      since: formatInstant(since),
    })),
    outside: outside.money.map(({ productId, currency, outside: amount }) => ({
      productId,
      currency,
      outside: amount,
    })),
    rejected: {
      records: [...records.values()].reduce((sum, one) => sum + one.rejected, 0),
      entries: rejected.unusable + rejected.changed,
    },
  };
  return { status, work, emptied };
}

function resweepBehindOf({ resweeps }: WorkReport, productId: string, now: Instant): number | null {
  const seen = resweeps.find((one) => one.productId === productId);
  return seen === undefined ? null : secondsOf(now - (seen.due[0]?.dueAt ?? now));
}

function secondsOf(lengthMs: number): number {
  return Math.round(lengthMs / 1000);
}

function showTime(instant: Instant | null): string | null {
  return instant === null ? null : formatInstant(instant);
}
