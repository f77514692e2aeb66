/** Reads the overview: the progress of every product, the problems, and their money. */

import { readConditions } from "../../alerts/condition-store.ts";
import { countUndelivered } from "../../alerts/store.ts";
import type { Instant } from "../../clock.ts";
import type { ProductConfig } from "../../config-file.ts";
import { countFirstOfBoth } from "../../db/rejected-rows.ts";
import { countOfEmptied } from "../../ledger/entry-days-store.ts";
import { readLastReceived } from "../../ledger/store.ts";
import { type Risk, readRisk } from "../../mismatches/risk-store.ts";
import type { Storage } from "../../storage.ts";
import { type PresentBackfill, readPresentBackfills } from "../../sync/backfill-store.ts";
import { type CoverageHour, describeHistory, describeHours, type HistoryStep } from "../../sync/coverage.ts";
import {
  type FetchedSteps,
  type PullSummary,
  readFetchedSteps,
  readPullSummaries,
  readUnfetched,
  type Unfetched,
} from "../../sync/progress-store.ts";
import { countWaiting, type WaitingCount } from "../../verify/store.ts";
import type { TimeRange } from "../../window.ts";
import type { FlowContext } from "../context.ts";
import { readStorage } from "./read-health.ts";
import { judgeWork, seeWork, type WorkReport } from "./read-work.ts";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** The days of the coverage strip, including today. */
const COVERAGE_DAYS = 7;
const HISTORY_MS = 12 * HOUR_MS;
const HISTORY_STEP_MS = 900_000;
/** The time for which a failed backfill is shown. */
const RECENTLY_MS = DAY_MS;
const MOST_BACKFILLS = 20;

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
export type ProductState = "transfers-only" | "not-begun" | "stopped" | "stalled" | "behind" | "current";

interface PulledOverview {
  readonly head: Instant;
  /** everything before this time was fetched */
  readonly watermark: Instant;
  readonly lagMs: number;
  readonly windowMs: number;
  readonly stoppedUntil: Instant | null;
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
  readonly undelivered: number;
  /** channels that have not accepted alerts for some minutes */
  readonly failingChannels: readonly string[];
  /** processes whose clocks are wrong: "worker 12 on host" */
  readonly wrongClocks: readonly string[];
  /** another installation uses the same Redis */
  readonly isRedisShared: boolean;
  /** the time of the newest entry; null: there is none */
  readonly lastReceivedAt: Instant | null;
  /** the number of accepted entries, if `callback_entries` is empty all the same; otherwise 0 */
  readonly emptied: number;
  /** what cannot be used, and is in no comparison; of each at most 10,000 are counted */
  readonly rejected: { readonly records: number; readonly entries: number };
  /** running backfills and recently failed ones; the newest first */
  readonly backfills: readonly PresentBackfill[];
  /** whether pulling, comparing, following, verifying and alerting make progress */
  readonly work: WorkReport;
  /** the space that the database takes; null: no worker has measured yet */
  readonly storage: Storage | null;
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
    stands,
    unfetched,
    fetched,
    risk,
    waiting,
    undelivered,
    conditions,
    lastReceivedAt,
    emptied,
    rejected,
    backfills,
    work,
    storage,
  ] = await Promise.all([
    readPullSummaries(sql, products),
    readUnfetched(sql, products),
    readHistory(products, now),
    readRisk(sql),
    countWaiting(sql),
    countUndelivered(sql),
    readConditions(sql),
    readLastReceived(sql),
    countOfEmptied(sql),
    countFirstOfBoth(sql, MOST_COUNTED),
    readPresentBackfills(sql, now - RECENTLY_MS, MOST_BACKFILLS),
    seeWork(context, now, MOST_COUNTED),
    readStorage(context),
  ]);
  const [standOf, unfetchedOf, fetchedOf, riskOf] = [
    new Map(stands.map((one) => [one.productId, one])),
    Map.groupBy(unfetched, (one) => one.productId),
    Map.groupBy(fetched, (one) => one.productId),
    Map.groupBy(risk, (one) => one.productId),
  ];
  const progressOf = ({ productId, head, stoppedUntil }: PullSummary) => {
    const gaps = unfetchedOf.get(productId)?.filter(({ isGap }) => isGap).length ?? 0;
    return { productId, head, stoppedUntil, gaps };
  };
  const describe = (product: ProductConfig): ProductOverview => {
    const { productId } = product;
    const found = {
      stand: standOf.get(productId) ?? null,
      unfetched: unfetchedOf.get(productId) ?? [],
      fetched: fetchedOf.get(productId) ?? [],
    };
    const pulled = product.walletMode === "transfer" ? null : describePulled(context, now, found);
    const state =
      product.walletMode === "transfer" ? "transfers-only" : stateOf(context, pulled, found.stand);
    return { productId, state, pulled, risk: riskOf.get(productId) ?? [] };
  };
  return {
    now,
    products: config.products.map(describe),
    risk: riskOf.get(null) ?? [],
    waiting,
    undelivered,
    failingChannels: conditions
      .filter(({ kind }) => kind === "alerts-undelivered")
      .map(({ subject }) => subject),
    wrongClocks: conditions.filter(({ kind }) => kind === "clock-wrong").map(({ subject }) => subject),
    isRedisShared: conditions.some(({ kind }) => kind === "redis-shared"),
    lastReceivedAt,
    emptied,
    rejected,
    backfills,
    work: judgeWork(context, { ...work, progress: stands.map(progressOf) }, "as-is"),
    storage,
  };
}

interface PulledRows {
  readonly stand: PullSummary | null;
  readonly unfetched: readonly Unfetched[];
  readonly fetched: readonly FetchedSteps[];
}

function describePulled(
  { config }: FlowContext,
  now: Instant,
  { stand, unfetched, fetched }: PulledRows,
): PulledOverview | null {
  if (stand === null) return null;
  const { begin, head, windowMs, stoppedUntil } = stand;
  const gaps = unfetched.filter(({ isGap }) => isGap);
  const watermark = Math.min(head, ...unfetched.map(({ from }) => from));
  const settledUntil = now - config.pull.settleDelay;
  const stoppedBy = stoppedUntil === null ? null : "provider-refused";
  return {
    head,
    watermark,
    lagMs: Math.max(0, now - watermark),
    windowMs,
    stoppedUntil,
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

const PATIENCE_TICKS = 5;
const LEAST_PATIENCE_MS = 300_000;

/** The lag that a product may have before it counts as behind. */
export function longestLag({ settleDelay, every }: FlowContext["config"]["pull"]): number {
  return settleDelay + Math.max(PATIENCE_TICKS * every, LEAST_PATIENCE_MS);
}

function stateOf(
  { config }: FlowContext,
  pulled: PulledOverview | null,
  stand: PullSummary | null,
): ProductState {
  if (pulled === null) return "not-begun";
  if (pulled.stoppedUntil !== null) return "stopped";
  if (pulled.gaps.length > 0) return "stalled";
  if (stand?.head === stand?.begin) return "not-begun";
  return pulled.lagMs > longestLag(config.pull) ? "behind" : "current";
}
