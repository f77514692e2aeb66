/**
 * Whether pulling, comparing, following the ledger, verifying and alerting go on, and how old each is
 * (docs/alerts.md#what-stands-still).
 */

import type { Instant } from "../clock.ts";
import type { Query } from "../db/client.ts";
import { isStalled, type PullProgress, readPullProgress } from "../sync/progress-store.ts";
import { type Comparing, judgeComparing } from "../work/comparing.ts";
import {
  type Alerting,
  type Following,
  judgeAlerting,
  judgeFollowing,
  judgePulling,
  judgeQueues,
} from "../work/other-work.ts";
import { findState, type Stall } from "../work/stall.ts";
import { judgeVerifying, type Verifying } from "../work/verifying.ts";
import { readWorkFacts, type WorkFacts } from "../work/work-facts-store.ts";
import { longestPause, type WorkState } from "../work/work-store.ts";
import type { FlowContext } from "./context.ts";

/** How far pulling a product has got. */
type PulledProgress = Pick<PullProgress, "productId" | "head" | "gaps" | "stoppedUntil">;

/** All that is known of how work goes on, as of one moment. */
export interface WorkSeen extends WorkFacts {
  readonly now: Instant;
  readonly progress: readonly PulledProgress[];
}

export interface WorkReport {
  readonly comparing: Comparing;
  /** null: the ledger is no relation, and nothing has to be followed */
  readonly following: Following | null;
  readonly verifying: Verifying;
  readonly alerting: Alerting;
  /** everything that stands still */
  readonly stalls: readonly Stall[];
  /** why the work as a whole does not go on; null: it does */
  readonly stop: string | null;
}

/** @param most counted of what waits of each product; null: all, however much it is */
export async function seeWork(
  { sql, config }: { readonly sql: Query; readonly config: FlowContext["config"] },
  now: Instant,
  most: number | null,
): Promise<Omit<WorkSeen, "progress">> {
  const compared = config.products.filter(({ walletMode }) => walletMode === "seamless");
  const seen = await readWorkFacts(sql, {
    now,
    compared: compared.map(({ productId }) => productId),
    relation: config.ledger.relation,
    most,
  });
  // Top-ups of a product that has no endpoint for them any more are not asked for.
  const isAsked = (id: string) =>
    config.products.some(({ productId, topUpPath }) => productId === id && topUpPath !== null);
  return {
    ...seen,
    now,
    due: seen.due.filter(({ kind, productId }) => kind === "transfer" || isAsked(productId)),
  };
}

/**
 * How work is judged: "as-is"; as an alert "begins", by which nothing is late before it has been watched for a while
 * without a pause; or as it is "reported" already, where what was never done is late for ever.
 */
export type Judging = "as-is" | "begins" | "reported";

export function judgeWork(
  { config }: Pick<FlowContext, "config">,
  { now, states, progress, marks, due, readAt }: WorkSeen,
  judging: Judging,
): WorkReport {
  const { pull, diff, verify, alerts, ledger } = config;
  const watchedSince = { "as-is": null, begins: watchedFrom(states, now, alerts.every), reported: 0 }[
    judging
  ];
  const seen = { now, watchedSince, states };
  const following =
    ledger.relation === null
      ? null
      : judgeFollowing({ ...seen, relation: ledger.relation, readAt, everyMs: diff.every });
  const comparing = judgeComparing({ ...seen, marks, everyMs: diff.every, ledger: following });
  const verifying = judgeVerifying({
    ...seen,
    due,
    everyMs: verify.every,
    requestTimeoutMs: pull.requestTimeout,
  });
  const pulled = config.products.filter(({ walletMode }) => walletMode === "seamless");
  const products = pulled.flatMap(({ productId }) => {
    const state = progress.find((one) => one.productId === productId);
    return state !== undefined && isStalled(state) ? [] : [{ productId, head: state?.head ?? null }];
  });
  const pulling = judgePulling({
    ...seen,
    products,
    all: pulled.length,
    everyMs: pull.every,
    settleDelayMs: pull.settleDelay,
  });
  const alerting = judgeAlerting({ ...seen, everyMs: alerts.every });
  const stalls = [
    ...pulling,
    ...comparing.stalls,
    ...(following?.stalls ?? []),
    ...verifying.stalls,
    ...judgeQueues(seen),
  ];
  const isRefused = pulled.length > 0 && pulled.every(({ productId }) => isStopped(progress, productId));
  return {
    comparing,
    following,
    verifying,
    alerting,
    stalls,
    stop:
      alerting.problem ??
      stalls.find(({ isWhole }) => isWhole)?.what ??
      (isRefused ? "the provider refuses the credentials: nothing is pulled" : null),
  };
}

function isStopped(progress: readonly PulledProgress[], productId: string): boolean {
  return progress.some((one) => one.productId === productId && one.stoppedUntil !== null);
}

/** Whoever begins to watch, or goes on after a pause, gives everything the time to go on too. */
function watchedFrom(states: readonly WorkState[], now: Instant, everyMs: number): Instant {
  const watched = findState(states, "alerting", "");
  const isUnbroken = watched?.doneAt != null && now - watched.doneAt <= longestPause(everyMs);
  return isUnbroken ? (watched.since ?? now) : now;
}

/** How work goes on, as it is. */
export async function readWorkReport(context: FlowContext, most: number | null = null): Promise<WorkReport> {
  const progress = await readPullProgress(context.sql);
  return judgeWork(context, { ...(await seeWork(context, context.clock.now(), most)), progress }, "as-is");
}
