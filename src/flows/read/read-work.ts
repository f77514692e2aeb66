/**
 * Whether pulling, comparing, following the ledger, verifying and alerting make progress, and how old each is
 * (docs/alerts.md#work-that-has-stopped).
 */

import type { Instant } from "../../clock.ts";
import type { Query } from "../../db/client.ts";
import { readStorageFacts } from "../../db/storage-store.ts";
import { type Books, judgeBooks } from "../../health/books.ts";
import { type Comparing, judgeComparing } from "../../health/comparing.ts";
import { type Finding, findState } from "../../health/finding.ts";
import { judgeBackfill, judgeDisk } from "../../health/installation.ts";
import { judgeMoney, type MoneyReport } from "../../health/money.ts";
import {
  type Alerting,
  type Following,
  judgeAlerting,
  judgeClosing,
  judgeFollowing,
  judgeGone,
  judgeQueues,
} from "../../health/other-work.ts";
import { judgePulling, judgeResweeps, type ResweepsSeen } from "../../health/products.ts";
import { judgeVerifying, type Verifying } from "../../health/verifying.ts";
import type { MoneySeen } from "../../money-outside.ts";
import { judgeStorage, type Storage } from "../../storage.ts";
import { type FailedBackfill, readFailedBackfills } from "../../sync/backfill-store.ts";
import { dueResweeps } from "../../sync/plan-windows.ts";
import { type PullProgress, readPullProgress } from "../../sync/progress-store.ts";
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

/** @returns null: no worker has measured yet */
export async function readStorage(sql: Query): Promise<Storage | null> {
  const facts = await readStorageFacts(sql);
  return facts === null ? null : judgeStorage(facts);
}

/** The facts about all work, in one snapshot. */
export interface WorkSeen extends WorkFacts {
  readonly now: Instant;
  readonly money: MoneySeen;
  readonly progress: readonly PullProgress[];
  /** the space that the database takes; null: no worker has measured yet */
  readonly storage: Storage | null;
  readonly failedBackfills: readonly FailedBackfill[];
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
  readonly books: Books;
  readonly storage: Storage | null;
  /** what is wrong or unknown with all of this */
  readonly findings: readonly Finding[];
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
    storage: await readStorage(sql),
    failedBackfills: await readFailedBackfills(sql),
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
  facts: WorkSeen,
  judging: Judging,
): WorkReport {
  const { now, states, progress, marks, due, readAt, storage } = facts;
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
  const products = pulled.map(({ productId }) => ({
    productId,
    progress: progress.find((one) => one.productId === productId) ?? null,
  }));
  const pulling = judgePulling({
    ...seen,
    products,
    everyMs: pull.every,
    settleDelayMs: pull.settleDelay,
  });
  const resweeps = facts.resweeps.map((one) => seeResweeps(config, one, now));
  const heldUp = new Set(facts.resweeps.filter(({ isHeldUp }) => isHeldUp).map(({ productId }) => productId));
  const alerting = judgeAlerting({ ...seen, everyMs: alerts.every });
  const money = judgeMoney(
    facts.money,
    config.products.map(({ productId }) => productId),
    now,
    alerts.every,
  );
  const sumsWrong = money.findings.filter(({ kind }) => kind === "books-wrong");
  const books = judgeBooks(facts.closedUpTo, facts.money.books, sumsWrong, now);
  const findings = [
    ...(alerting.finding === null ? [] : [alerting.finding]),
    ...pulling,
    // Other texts speak of a provider that does not answer.
    ...judgeResweeps({ ...seen, products: resweeps.filter(({ productId }) => !heldUp.has(productId)) }),
    ...comparing.findings,
    ...(following?.findings ?? []),
    ...verifying.findings,
    ...judgeClosing(seen),
    ...judgeGone(facts.gone),
    ...judgeQueues(seen),
    ...money.findings,
    ...books.findings,
    ...facts.failedBackfills.map(judgeBackfill),
    ...judgeDisk(storage, judging === "reported"),
  ];
  return {
    comparing,
    following,
    verifying,
    alerting,
    resweeps,
    money,
    books,
    storage,
    findings,
    stop: findings.find(({ isWhole }) => isWhole)?.what ?? null,
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
