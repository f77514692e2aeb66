/** Reads the overview: the progress of every product, the problems, and their money. */

import { readConditions } from "../../alerts/condition-store.ts";
import { countUndelivered } from "../../alerts/store.ts";
import type { Instant } from "../../clock.ts";
import type { ProductConfig } from "../../config-file.ts";
import { countFirstOfBoth } from "../../db/rejected-rows.ts";
import type { Finding } from "../../health/finding.ts";
import { judgeEmptyLedger, ofConditions } from "../../health/installation.ts";
import { longestLag, type PullState, stateOf, watermarkOf } from "../../health/products.ts";
import { countOfEmptied } from "../../ledger/entry-days-store.ts";
import { readLastReceived } from "../../ledger/store.ts";
import { type Risk, readRisk } from "../../mismatches/risk-store.ts";
import { type CoverageHour, describeHistory, describeHours, type HistoryStep } from "../../sync/coverage.ts";
import {
  type FetchedSteps,
  type PullProgress,
  readFetchedSteps,
  readPullProgress,
  readUnfetched,
  type Unfetched,
} from "../../sync/progress-store.ts";
import { countWaiting, type WaitingCount } from "../../verify/store.ts";
import type { TimeRange } from "../../window.ts";
import type { FlowContext } from "../context.ts";
import { judgeWork, seeWork } from "./read-work.ts";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** The days of the coverage strip, including today. */
const COVERAGE_DAYS = 7;
const HISTORY_MS = 12 * HOUR_MS;
const HISTORY_STEP_MS = 900_000;

export interface ProductOverview {
  readonly productId: string;
  readonly state: ProductState;
  /** null: pulling has not begun, or the product is not pulled */
  readonly pulled: PulledOverview | null;
  /** the unresolved mismatches, by status and currency */
  readonly risk: readonly Risk[];
}

/**
 * transfers-only: the product is not pulled; not-begun: nothing was fetched yet; stopped: the credentials are
 * refused; stalled: there are gaps; behind: the lag is too long; current: everything that may be fetched was fetched.
 */
export type ProductState = PullState | "transfers-only";

interface PulledOverview {
  readonly head: Instant;
  /** everything before this time was fetched */
  readonly watermark: Instant;
  readonly lagMs: number;
  readonly windowMs: number;
  /** in order of time */
  readonly gaps: readonly Unfetched[];
  /** of the last days, or since pulling began */
  readonly hours: readonly CoverageHour[];
  /** of the last hours */
  readonly history: readonly HistoryStep[];
}

export interface Overview {
  readonly now: Instant;
  /** in the order of the config */
  readonly products: readonly ProductOverview[];
  /** of all products together, including those that have left the config */
  readonly risk: readonly Risk[];
  readonly waiting: readonly WaitingCount[];
  /** what cannot be used, and is in no comparison; of each at most 10,000 are counted */
  readonly rejected: { readonly records: number; readonly entries: number };
  /** what is wrong or unknown with the work, and with what is around it */
  readonly findings: readonly Finding[];
}

/** The limit of counting for an overview. */
const MOST_COUNTED = 10_000;

/**
 * The shortest interval of reading the history: it costs more than all the rest, and its steps change slowly.
 */
const KEEP_HISTORY_MS = 15_000;

type ReadHistory = (products: readonly string[], now: Instant) => Promise<FetchedSteps[]>;

/** Opens a reader for repeated use. Every reading is new, except the history of the last hours. */
export function openOverview(context: FlowContext): () => Promise<Overview> {
  let kept: { readonly at: Instant; readonly history: Promise<FetchedSteps[]> } | null = null;
  const readHistory: ReadHistory = (products, now) => {
    if (kept !== null && now >= kept.at && now - kept.at < KEEP_HISTORY_MS) return kept.history;
    const history = readFetchedSteps(context.sql, products, rangeOfHistory(now).from, HISTORY_STEP_MS);
    kept = { at: now, history };
    history.catch(() => {
      kept = null;
    });
    return history;
  };
  return () => readOverview(context, readHistory);
}

/** Reads the overview with a few statements for all products. None of them counts history. */
async function readOverview(context: FlowContext, readHistory: ReadHistory): Promise<Overview> {
  const { sql, config, clock } = context;
  const now = clock.now();
  const products = config.products
    .filter(({ walletMode }) => walletMode === "seamless")
    .map(({ productId }) => productId);
  const [
    all,
    unfetched,
    fetched,
    risk,
    waiting,
    undelivered,
    conditions,
    lastReceivedAt,
    emptied,
    rejected,
    seen,
  ] = await Promise.all([
    readPullProgress(sql),
    readUnfetched(sql, products),
    readHistory(products, now),
    readRisk(sql),
    countWaiting(sql),
    countUndelivered(sql),
    readConditions(sql),
    readLastReceived(sql),
    countOfEmptied(sql),
    countFirstOfBoth(sql, MOST_COUNTED),
    seeWork(context, now, MOST_COUNTED),
  ]);
  const progress = all.filter(({ productId }) => products.includes(productId));
  const [progressOf, unfetchedOf, fetchedOf, riskOf] = [
    new Map(progress.map((one) => [one.productId, one])),
    Map.groupBy(unfetched, (one) => one.productId),
    Map.groupBy(fetched, (one) => one.productId),
    Map.groupBy(risk, (one) => one.productId),
  ];
  const describe = (product: ProductConfig): ProductOverview => {
    const { productId } = product;
    const found = {
      progress: progressOf.get(productId) ?? null,
      unfetched: unfetchedOf.get(productId) ?? [],
      fetched: fetchedOf.get(productId) ?? [],
    };
    const pulled = product.walletMode === "transfer" ? null : describePulled(context, now, found);
    const state =
      product.walletMode === "transfer"
        ? "transfers-only"
        : stateOf(found.progress, now, longestLag(config.pull));
    return { productId, state, pulled, risk: riskOf.get(productId) ?? [] };
  };
  return {
    now,
    products: config.products.map(describe),
    risk: riskOf.get(null) ?? [],
    waiting,
    rejected,
    findings: [
      ...judgeWork(context, { ...seen, progress }, "as-is").findings,
      ...ofConditions(conditions, undelivered),
      // Products with transfers only need no ledger.
      ...judgeEmptyLedger(lastReceivedAt === null && products.length > 0, emptied),
    ],
  };
}

interface PulledRows {
  readonly progress: PullProgress | null;
  readonly unfetched: readonly Unfetched[];
  readonly fetched: readonly FetchedSteps[];
}

function describePulled(
  { config }: FlowContext,
  now: Instant,
  { progress, unfetched, fetched }: PulledRows,
): PulledOverview | null {
  if (progress === null) return null;
  const { begin, head, windowMs, stoppedUntil } = progress;
  const gaps = unfetched.filter(({ isGap }) => isGap);
  const watermark = watermarkOf(progress);
  const settledUntil = now - config.pull.settleDelay;
  const stoppedBy = stoppedUntil === null ? null : "provider-refused";
  return {
    head,
    watermark,
    lagMs: Math.max(0, now - watermark),
    windowMs,
    gaps,
    hours: describeHours(rangeOfHours(begin, now), {
      begin,
      head,
      settledUntil,
      missing: unfetched,
      stoppedBy,
    }),
    history: describeHistory(rangeOfHistory(now), HISTORY_STEP_MS, fetched),
  };
}

/** The range of the coverage strip: the last days to the end of this hour, but not before pulling began. */
function rangeOfHours(begin: Instant, now: Instant): TimeRange {
  const [beginHour, hour, today] = [
    Math.floor(begin / HOUR_MS) * HOUR_MS,
    Math.floor(now / HOUR_MS) * HOUR_MS,
    Math.floor(now / DAY_MS) * DAY_MS,
  ];
  const from = Math.max(today - (COVERAGE_DAYS - 1) * DAY_MS, beginHour);
  return { from, to: Math.max(hour, from) + HOUR_MS };
}

function rangeOfHistory(now: Instant): TimeRange {
  const to = (Math.floor(now / HISTORY_STEP_MS) + 1) * HISTORY_STEP_MS;
  return { from: to - HISTORY_MS, to };
}
