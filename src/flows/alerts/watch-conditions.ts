/**
 * Begins and ends the conditions of what is found, and of channels that do not accept alerts. Writes the alerts whose time has come:
 * the daily digest and the reminders.
 */

import { reminderAlerts } from "../../alerts/alert.ts";
import {
  beginningAlert,
  type Condition,
  isSame,
  isSeenByOne,
  isWitnessGone,
  type StandingCondition,
} from "../../alerts/condition.ts";
import { beginCondition, endCondition, readConditions } from "../../alerts/condition-store.ts";
import { readBacklogs } from "../../alerts/delivery-store.ts";
import { digestAlert } from "../../alerts/digest.ts";
import { hasAlert, recordAlert, sumUnresolved } from "../../alerts/store.ts";
import type { Instant } from "../../clock.ts";
import { inReadCommitted } from "../../db/transactions.ts";
import { type Finding, isReported } from "../../health/finding.ts";
import { failingChannel } from "../../health/installation.ts";
import { isAboutTransfers } from "../../health/products.ts";
import { takeDueReminders } from "../../mismatches/case-store.ts";
import { type PullProgress, readPullProgress } from "../../sync/progress-store.ts";
import type { FlowContext } from "../context.ts";
import { judgeWork, seeWork } from "../read/read-work.ts";

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
  const backlogs = channels.length === 0 ? [] : await readBacklogs(sql, channels, now - LONGEST_WAIT_MS);
  const find = (judging: "begins" | "reported") =>
    [...judgeWork(context, work, judging).findings, ...backlogs.map(failingChannel)].filter(isReported);
  for (const condition of find("begins")) {
    // The verifying process itself notices new answers about transfers.
    if (isAboutTransfers(condition) || standing.some((one) => isSame(one, condition))) continue;
    await beginCondition(sql, condition, now);
  }
  // Work that was not watched, such as during a restart, gets time to continue. A reported stall ends only when its work has
  // continued.
  const present = find("reported");
  await remind(context, present, standing, now);
  for (const condition of standing) {
    if (isAboutTransfers(condition)) continue;
    // The process that sees the condition also sees its end, unless the process has ended.
    if (isSeenByOne(condition) && !isWitnessGone(condition, now)) continue;
    if (present.some((one) => isSame(one, condition)) || !isProvenOver(condition, progress)) continue;
    await endCondition(sql, condition, now);
  }
}

/** Money that nothing compares, because it grows without a mismatch, and a disk that is full within days. */
function isReminded({ kind, severity }: Finding): boolean {
  if (kind === "disk-full") return severity === "bad";
  return kind === "money-outside" || kind === "unknown-product";
}

const DAY_MS = 24 * 3_600_000;

/** Some conditions are reported once a day while they last. */
async function remind(
  { sql }: FlowContext,
  present: readonly (Finding & Condition)[],
  standing: readonly StandingCondition[],
  now: Instant,
): Promise<void> {
  for (const { since, ...name } of standing) {
    const days = Math.floor((now - since) / DAY_MS);
    const found = present.find((one) => isSame(one, name));
    if (days === 0 || found === undefined || !isReminded(found)) continue;
    const alert = beginningAlert(found, since);
    await recordAlert(sql, { ...alert, idempotencyKey: `${alert.idempotencyKey}/day ${days}`, at: now });
  }
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

/** Writes the daily digest once a day (UTC); the first worker does it. */
export async function writeDigest({ sql, clock }: FlowContext): Promise<void> {
  const now = clock.now();
  const { idempotencyKey } = digestAlert([], now);
  // The sums are computed once a day, not at every tick.
  if (await hasAlert(sql, idempotencyKey)) return;
  await recordAlert(sql, digestAlert(await sumUnresolved(sql, now), now));
}

/** More of them follow at the next tick. */
const MOST_REMINDERS = 10_000;

/** Writes the alerts of due reminders, once for each reminder, whichever worker runs. */
export async function remindOfCases({ sql, clock }: FlowContext): Promise<void> {
  const now = clock.now();
  await inReadCommitted(sql, async (tx) => {
    const due = await takeDueReminders(tx, now, MOST_REMINDERS);
    for (const alert of reminderAlerts(due, now)) await recordAlert(tx, alert);
  });
}
