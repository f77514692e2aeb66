/** Whether pulling, comparing, following the ledger, verifying and alerting go on, and how old each is (§4.8). */

import type { Instant } from "../clock.ts";
import type { Query } from "../db/client.ts";
import { readWaitingMarks } from "../diff/waiting-store.ts";
import { readFollowing } from "../ledger/follow-store.ts";
import { isStalled, type PullProgress, readPullProgress } from "../sync/store.ts";
import { readDue } from "../verify/due-store.ts";
import { type Comparing, judgeComparing } from "../work/comparing.ts";
import {
  type Alerting,
  type Following,
  judgeAlerting,
  judgeFollowing,
  judgePulling,
  judgeQueues,
} from "../work/others.ts";
import { findState, type Stall } from "../work/stall.ts";
import { judgeVerifying, type Verifying } from "../work/verifying.ts";
import { longestPause, readWork, type WorkState } from "../work/work-store.ts";
import type { FlowContext } from "./context.ts";

/** All that is known of how work goes on, as of one moment. */
export interface WorkSeen {
  readonly now: Instant;
  readonly states: readonly WorkState[];
  readonly progress: readonly PullProgress[];
  readonly marks: Awaited<ReturnType<typeof readWaitingMarks>>;
  readonly due: Awaited<ReturnType<typeof readDue>>;
  /** when the relation was last read to its end; null: never, or there is none */
  readonly readAt: Instant | null;
}

export interface WorkReport {
  readonly comparing: Comparing;
  /** null: the ledger is no relation, and nothing has to be followed */
  readonly following: Following | null;
  readonly verifying: Verifying;
  readonly alerting: Alerting;
  /** everything that stands still */
  readonly stalls: readonly Stall[];
}

/** @param most counted of what waits of each product; null: all, however much it is */
export async function seeWork(
  { sql, config }: { readonly sql: Query; readonly config: FlowContext["config"] },
  now: Instant,
  most: number | null,
  progress?: readonly PullProgress[],
): Promise<WorkSeen> {
  const compared = config.products.filter(({ walletMode }) => walletMode === "seamless");
  const { relation } = config.ledger;
  const [states, pulled, marks, transfers, topUps, following] = await Promise.all([
    readWork(sql),
    progress ?? readPullProgress(sql),
    readWaitingMarks(
      sql,
      compared.map(({ productId }) => productId),
      now,
      most,
    ),
    readDue(sql, "transfer", now, most),
    readDue(sql, "top-up", now, most),
    relation === null ? null : readFollowing(sql, relation),
  ]);
  const asked = new Set(
    config.products.filter(({ topUpPath }) => topUpPath !== null).map(({ productId }) => productId),
  );
  return {
    now,
    states,
    progress: pulled,
    marks,
    // Top-ups of a product that has no endpoint for them any more are not asked for.
    due: [...transfers, ...topUps.filter(({ productId }) => asked.has(productId))],
    readAt: following?.readAt ?? null,
  };
}

/**
 * @param isWatching work is late only since it has been watched without a pause: what an alert begins with. Otherwise it
 *   is as late as it is.
 */
export function judgeWork(
  { config }: Pick<FlowContext, "config">,
  { now, states, progress, marks, due, readAt }: WorkSeen,
  isWatching: boolean,
): WorkReport {
  const { pull, diff, verify, alerts, ledger } = config;
  const watchedSince = isWatching ? watchedFrom(states, now, alerts.every) : null;
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
  return {
    comparing,
    following,
    verifying,
    alerting: judgeAlerting({ ...seen, everyMs: alerts.every }),
    stalls: [
      ...pulling,
      ...comparing.stalls,
      ...(following?.stalls ?? []),
      ...verifying.stalls,
      ...judgeQueues(seen),
    ],
  };
}

/** Whoever begins to watch, or goes on after a pause, gives everything the time to go on too. */
function watchedFrom(states: readonly WorkState[], now: Instant, everyMs: number): Instant {
  const watched = findState(states, "alerting", "");
  const isUnbroken = watched?.doneAt != null && now - watched.doneAt <= longestPause(everyMs);
  return isUnbroken ? (watched.since ?? now) : now;
}

/** How work goes on, as it is. */
export async function readWorkReport(context: FlowContext, most: number | null = null): Promise<WorkReport> {
  return judgeWork(context, await seeWork(context, context.clock.now(), most), false);
}
