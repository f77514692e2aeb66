/** Begins and ends conditions: stalls, refused credentials, undelivered alerts. */

import {
  beginningAlert,
  type Condition,
  type ConditionName,
  isSame,
  isSeenByOne,
  isWitnessGone,
  type StandingCondition,
} from "../../alerts/condition.ts";
import { beginCondition, endCondition, readConditions } from "../../alerts/condition-store.ts";
import { readBacklogs } from "../../alerts/delivery-store.ts";
import { recordAlert } from "../../alerts/store.ts";
import { formatInstant, type Instant, showInstant } from "../../clock.ts";
import { type PullProgress, readGapReason, readPullProgress } from "../../sync/progress-store.ts";
import type { FlowContext } from "../context.ts";
import { judgeWork, seeWork } from "../read/read-work.ts";
import { isAboutTransfers } from "../verify/report-refused-credentials.ts";

/** Waiting work is counted up to this number. */
const MOST_COUNTED = 10_000;

/** Alerts that wait longer than this cause another alert through the working channels. */
const LONGEST_WAIT_MS = 300_000;

/**
 * Reads stored state only, so that no condition is missed, whichever worker runs: code that failed cannot notice that the
 * failure is over. The start and the end of a condition commit with their alert.
 * @param channels the names of the configured channels
 */
export async function watchConditions(context: FlowContext, channels: readonly string[]): Promise<void> {
  const { sql, clock } = context;
  const now = clock.now();
  const standing = await readConditions(sql);
  const progress = await readPullProgress(sql);
  const work = { ...(await seeWork(context, now, MOST_COUNTED)), progress };
  const certain = [
    ...(await findStalled(context, progress)),
    ...findRefused(progress),
    ...(await findUndelivered(context, channels, now)),
  ];
  for (const condition of [...certain, ...judgeWork(context, work, "begins").stalls]) {
    if (!standing.some((one) => isSame(one, condition))) await beginCondition(sql, condition, now);
  }
  // Work that was not watched, such as during a restart, gets time to continue. A reported stall ends only when its work has
  // continued.
  const present: ConditionName[] = [...certain, ...judgeWork(context, work, "reported").stalls];
  await remindOfMoney(context, present, standing, now);
  for (const condition of standing) {
    // The verifying process itself notices new answers about transfers.
    if (isAboutTransfers(condition)) continue;
    // The process that sees the condition also sees its end, unless the process has ended.
    if (isSeenByOne(condition) && !isWitnessGone(condition, now)) continue;
    if (present.some((one) => isSame(one, condition)) || !isProvenOver(condition, progress)) continue;
    await endCondition(sql, condition, now);
  }
}

const REMINDED: ReadonlySet<string> = new Set(["money-outside", "unknown-product"]);
const DAY_MS = 24 * 3_600_000;

/** Money that nothing compares is reported once a day while it lasts: it grows without a mismatch. */
async function remindOfMoney(
  { sql }: FlowContext,
  present: readonly ConditionName[],
  standing: readonly StandingCondition[],
  now: Instant,
): Promise<void> {
  for (const { since, ...name } of standing) {
    const days = Math.floor((now - since) / DAY_MS);
    const found = present.find((one): one is Condition => isSame(one, name) && "what" in one);
    if (!REMINDED.has(name.kind) || days === 0 || found === undefined) continue;
    const alert = beginningAlert(found, since);
    await recordAlert(sql, { ...alert, idempotencyKey: `${alert.idempotencyKey}/day ${days}`, at: now });
  }
}

async function findStalled({ sql, config }: FlowContext, progress: readonly PullProgress[]) {
  const found: Condition[] = [];
  for (const { productId, gaps, firstGapAt } of progress) {
    if (gaps === 0 || firstGapAt === null) continue;
    if (!config.products.some((one) => one.productId === productId)) continue;
    const reason = await readGapReason(sql, productId);
    found.push({
      kind: "product-stalled",
      subject: productId,
      productId,
      what: `${productId} is stalled: its records from ${showInstant(firstGapAt)} on cannot be fetched${reason === null ? "" : ` (${reason})`}`,
      toDo: `Newer time is still fetched. The worker retries the gap automatically. To see what is missing: recon coverage --product ${productId} --from ${formatInstant(firstGapAt)} --to …`,
      whatWhenOver: `${productId} is not stalled any more: no gap is left`,
    });
  }
  return found;
}

/** One condition for all products, because they share the credentials. */
function findRefused(progress: readonly PullProgress[]): Condition[] {
  const stopped = progress.filter(({ stoppedUntil }) => stoppedUntil !== null);
  if (stopped.length === 0) return [];
  const products = stopped.map(({ productId }) => productId).join(", ");
  return [
    {
      kind: "credentials-refused",
      subject: "provider",
      productId: null,
      what: `the provider refuses the credentials: the worker cannot pull ${products}`,
      toDo: "Check PROVIDER_USERNAME and PROVIDER_PASSWORD, then restart the worker. Without a restart the worker tries again every hour.",
      whatWhenOver: "the provider accepts the credentials again",
      heads: Object.fromEntries(stopped.map(({ productId, head }) => [productId, head])),
    },
  ];
}

async function findUndelivered(
  { sql }: FlowContext,
  channels: readonly string[],
  now: Instant,
): Promise<Condition[]> {
  if (channels.length === 0) return [];
  const backlogs = await readBacklogs(sql, channels, now - LONGEST_WAIT_MS);
  return backlogs.map(({ channel, waiting, oldestAt, lastError }) => ({
    kind: "alerts-undelivered",
    subject: channel,
    productId: null,
    what: `${channel} does not accept alerts: ${waiting} wait, the oldest since ${showInstant(oldestAt)}${lastError === null ? "" : `; ${lastError}`}`,
    toDo: "No alert is lost: all are sent when the channel accepts alerts again. To test the channel: recon alerts test",
    whatWhenOver: `no alert waits for ${channel} any more`,
  }));
}

/**
 * Whether a condition is proven over. A starting worker tries again, so credentials count as accepted only after a
 * fetch.
 */
function isProvenOver(condition: StandingCondition, progress: readonly PullProgress[]): boolean {
  if (isSeenByOne(condition)) return true;
  return Object.entries(condition.heads).every(([productId, head]) => {
    const state = progress.find((one) => one.productId === productId);
    return state === undefined || state.head > head;
  });
}
