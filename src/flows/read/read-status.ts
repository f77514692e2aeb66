/** Reads the state of all products and work (the JSON of `recon status` and `/api/status`). */

import { z } from "zod";
import { countUndelivered } from "../../alerts/store.ts";
import { AMOUNT, type AnswerOf, COUNT, DATE, FLAG, INSTANT, listOf, objectOf, TEXT } from "../../answer.ts";
import { formatInstant, type Instant } from "../../clock.ts";
import { isStalled, watermarkOf } from "../../health/products.ts";
import { countOfEmptied } from "../../ledger/entry-days-store.ts";
import { countRejectedEntries } from "../../ledger/rejected-store.ts";
import { readLedgerExtent } from "../../ledger/store.ts";
import { MISMATCH_STATUSES } from "../../mismatch.ts";
import { countOpenByProduct } from "../../mismatches/order-store.ts";
import { countByStatus } from "../../mismatches/store.ts";
import { readPullProgress } from "../../sync/progress-store.ts";
import { countRecords } from "../../sync/record-store.ts";
import { TRANSFER_STATUSES } from "../../transfer.ts";
import { countTransfers } from "../../verify/store.ts";
import type { FlowContext } from "../context.ts";
import { readOutside } from "./read-outside.ts";
import { judgeWork, seeWork, type WorkReport } from "./read-work.ts";

const PRODUCT_STATUS = objectOf({
  productId: TEXT,
  /** the head of pulling */
  head: z.nullable(INSTANT),
  /** everything before this time was fetched; differs from the head while there are gaps */
  watermark: z.nullable(INSTANT),
  /**
   * since the watermark, or since `since` if nothing was pulled yet; null: the product is not pulled, or no worker
   * has begun
   */
  lagSeconds: z.nullable(z.number().meta({ type: "integer" })),
  /** null: the product is not pulled, or no worker has begun */
  resweepBehindSeconds: z.nullable(
    COUNT.meta({ description: "how long the oldest resweep that is not done has been due; 0: none is due" }),
  ),
  windowSeconds: z.nullable(z.number()),
  stalled: FLAG,
  gaps: COUNT,
  records: COUNT,
  rejected: COUNT,
  openMismatches: COUNT,
});

type ProductStatus = AnswerOf<typeof PRODUCT_STATUS>;

function countsOf<Name extends string>(names: readonly Name[]) {
  return objectOf(Object.fromEntries(names.map((name) => [name, COUNT])) as Record<Name, typeof COUNT>);
}

export const STATUS = objectOf({
  products: listOf(PRODUCT_STATUS),
  ledger: objectOf({ entries: COUNT, lastReceivedAt: z.nullable(INSTANT) }),
  mismatches: countsOf(MISMATCH_STATUSES),
  transfers: countsOf(TRANSFER_STATUSES),
  alerts: objectOf({ undelivered: COUNT }),
  comparing: objectOf({
    upTo: z.nullable(
      INSTANT.meta({
        description: "everything that had arrived by then has been judged, or waits for its graces",
      }),
    ),
    behindSeconds: z.nullable(COUNT),
    waiting: COUNT.meta({ description: "marked rounds and bets that are due now" }),
    setAside: COUNT.meta({
      description: "rounds and bets that cannot be compared; all others are compared",
    }),
    problem: z.nullable(TEXT.meta({ description: "the problem; null: there is none" })),
  }),
  verifying: objectOf({
    behindSeconds: z.nullable(
      COUNT.meta({
        description:
          "the longest wait of a due question; if nothing waits, the time since the last check; null: no check yet",
      }),
    ),
    due: COUNT.meta({ description: "transfers and top-ups whose question is due now" }),
  }),
  rejected: objectOf({ records: COUNT, entries: COUNT }),
  books: objectOf({
    closedUpTo: z.nullable(DATE.meta({ description: "the last closed day; null: none is closed" })),
    problem: z.nullable(
      TEXT.meta({ description: "what is wrong with the books, or why that is unknown; null: nothing" }),
    ),
  }),
  unknownProducts: listOf(
    objectOf({
      productId: TEXT.meta({
        description: "a product that has entries or records, and is not in the settings",
      }),
      entries: COUNT,
      since: INSTANT,
    }),
  ),
  outside: listOf(
    objectOf({
      productId: TEXT,
      currency: TEXT,
      outside: AMOUNT.meta({
        description:
          "what moved by entries that no comparison looks at, on the days that are not closed, at most the last 7",
      }),
    }),
  ),
});
export type Status = AnswerOf<typeof STATUS>;

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
    books: { closedUpTo: work.books.closedUpTo, problem: work.books.problem },
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
