/**
 * Whether pulling, comparing, following the ledger, verifying and alerting make progress, and how old each is
 * (docs/alerts.md#what-stands-still).
 */

import type { Instant } from "../../clock.ts";
import type { Query } from "../../db/client.ts";
import type { MoneySeen } from "../../money-outside.ts";
import { dueResweeps } from "../../sync/plan-resweep.ts";
import { isStalled, type PullProgress, readPullProgress } from "../../sync/progress-store.ts";
import { type Comparing, judgeComparing } from "../../work/comparing.ts";
import { judgeMoney, type MoneyReport } from "../../work/money.ts";
import {
  type Alerting,
  type Following,
  judgeAlerting,
  judgeClosing,
  judgeFollowing,
  judgeGone,
  judgePulling,
  judgeQueues,
  judgeResweeps,
  type ResweepsSeen,
} from "../../work/other-work.ts";
import { findState, type Stall } from "../../work/stall.ts";
import { judgeVerifying, type Verifying } from "../../work/verifying.ts";
import {
  longestPause,
  type ResweepFacts,
  readMoneyStates,
  readWorkFacts,
  type WorkFacts,
  type WorkState,
} from "../../work/work-store.ts";
import type { FlowContext } from "../context.ts";
import { settingsOfMoney } from "./read-outside.ts";

/** The progress of pulling a product. */
type PulledProgress = Pick<PullProgress, "productId" | "head" | "gaps" | "stoppedUntil">;

/** The facts about all work, in one snapshot. */
export interface WorkSeen extends WorkFacts {
  readonly now: Instant;
  readonly money: MoneySeen;
  readonly progress: readonly PulledProgress[];
}

export interface WorkReport {
  readonly comparing: Comparing;
  /** null: there is no relation to follow */
  readonly following: Following | null;
  readonly verifying: Verifying;
  readonly alerting: Alerting;
  /** of the products that are pulled and have begun */
  readonly resweeps: readonly ResweepsSeen[];
  readonly money: MoneyReport;
  /** all stalls */
  readonly stalls: readonly Stall[];
  /** why the work as a whole has stopped; null: it has not */
  readonly stop: string | null;
}

/** @param most the limit of counting for each product; null: none */
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
  // Top-ups of a product without an endpoint are not verified.
  const isAsked = (id: string) =>
    config.products.some(({ productId, topUpPath }) => productId === id && topUpPath !== null);
  return {
    ...seen,
    now,
    money: await readMoneyStates(sql, settingsOfMoney(config)),
    due: seen.due.filter(({ kind, productId }) => kind === "transfer" || isAsked(productId)),
  };
}

/**
 * How to judge work. "as-is": without further rules. "begins": for the beginning of an alert; work is late only after
 * some time of watching without a pause. "reported": for the end of an alert; work that was never done stays late.
 */
export type Judging = "as-is" | "begins" | "reported";

export function judgeWork(
  { config }: Pick<FlowContext, "config">,
  { now, states, progress, marks, due, resweeps: resweepFacts, readAt, gone, money: seenMoney }: WorkSeen,
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
  const resweeps = resweepFacts.map((facts) => seeResweeps(config, facts, now));
  const heldUp = new Set(resweepFacts.filter(({ isHeldUp }) => isHeldUp).map(({ productId }) => productId));
  const alerting = judgeAlerting({ ...seen, everyMs: alerts.every });
  const money = judgeMoney(
    seenMoney,
    config.products.map(({ productId }) => productId),
    now,
    alerts.every,
  );
  const stalls = [
    ...pulling,
    // Other texts speak of a provider that does not answer.
    ...judgeResweeps({ ...seen, products: resweeps.filter(({ productId }) => !heldUp.has(productId)) }),
    ...comparing.stalls,
    ...(following?.stalls ?? []),
    ...verifying.stalls,
    ...judgeClosing(seen),
    ...judgeGone(gone),
    ...judgeQueues(seen),
    ...money.stalls,
  ];
  const isRefused = pulled.length > 0 && pulled.every(({ productId }) => isStopped(progress, productId));
  return {
    comparing,
    following,
    verifying,
    alerting,
    resweeps,
    money,
    stalls,
    stop:
      alerting.problem ??
      stalls.find(({ isWhole }) => isWhole)?.what ??
      (isRefused ? "the provider refuses the credentials: nothing is pulled" : null),
  };
}

function seeResweeps({ pull }: FlowContext["config"], facts: ResweepFacts, now: Instant): ResweepsSeen {
  const { productId, begin, head, windowMs, swept, waiting } = facts;
  const states = pull.resweepAfter.map((ageMs) => ({
    ageMs,
    sweptUntil: swept.find((one) => one.ageMs === ageMs)?.sweptUntil ?? begin,
  }));
  return { productId, due: dueResweeps(states, waiting, { head, now, windowMs, everyMs: pull.every }) };
}

function isStopped(progress: readonly PulledProgress[], productId: string): boolean {
  return progress.some((one) => one.productId === productId && one.stoppedUntil !== null);
}

/** The begin of watching: after a start or a pause, all work gets time to continue. */
function watchedFrom(states: readonly WorkState[], now: Instant, everyMs: number): Instant {
  const watched = findState(states, "alerting", "");
  const isUnbroken = watched?.doneAt != null && now - watched.doneAt <= longestPause(everyMs);
  return isUnbroken ? (watched.since ?? now) : now;
}

/** Reads the state of work, as it is. */
export async function readWorkReport(context: FlowContext, most: number | null = null): Promise<WorkReport> {
  const progress = await readPullProgress(context.sql);
  return judgeWork(context, { ...(await seeWork(context, context.clock.now(), most)), progress }, "as-is");
}
