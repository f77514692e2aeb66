/** The evidence of a failure of a run in real time, for a developer: what both sides reported when, and what was requested. */

import type { Instant } from "../../../src/clock.ts";
import type { Sql } from "../../../src/db/client.ts";
import { formatAmount } from "../../../src/money.ts";
import type { TimeRange } from "../../../src/window.ts";
import type { HeardEntry } from "./history.ts";
import type { LiveFailure } from "./live-audit.ts";
import type { Struck } from "./strike.ts";

export interface Surroundings {
  readonly sql: Sql;
  readonly startsAt: Instant;
  readonly heard: readonly HeardEntry[];
  readonly struck: readonly Struck[];
}

interface Window extends TimeRange {
  readonly kind: string;
  readonly status: string;
  readonly startedAt: Instant | null;
  readonly fetchedAt: Instant | null;
  readonly records: number;
}

/** Blows are shown for this time before and after an alarm. */
const BEFORE_MS = 45_000;
const AFTER_MS = 5_000;
const MOST_WINDOWS = 15;

/** A failure in one line. */
function nameFailure({ what, mismatch, fault }: LiveFailure): string {
  const about = mismatch ?? fault;
  const bet = about?.transactionId ?? about?.betId ?? about?.roundId ?? "no bet";
  const reason = mismatch === null ? `${fault?.amountAtRisk} at risk` : mismatch.reason;
  return `${what}: ${about?.kind} of ${bet} of "${about?.username.slice(0, 40)}" in ${about?.productId}: ${reason}`;
}

/** @returns lines; times are seconds since the start of play */
export async function describeFailure(failure: LiveFailure, around: Surroundings): Promise<string[]> {
  const { mismatch, fault, round } = failure;
  const at = (instant: Instant | null) =>
    instant === null ? "never" : `${((instant - around.startsAt) / 1000).toFixed(1)} s`;
  const lines = [nameFailure(failure)];
  if (fault !== null) lines.push(`  planted, complete at ${at(fault.completeAt)}: ${JSON.stringify(fault)}`);
  for (const one of mismatch?.transitions ?? []) {
    lines.push(`  ${at(one.at)}: ${one.toStatus} by ${one.by}: ${one.reason}`);
    lines.push(
      `    provider ${JSON.stringify(one.provider).slice(0, 300)}; ledger ${JSON.stringify(one.ledger).slice(0, 300)}`,
    );
  }
  for (const versions of round?.records ?? []) {
    for (const version of versions) {
      const { record } = version;
      const said =
        record === null
          ? "not listed any more"
          : `${record.id} listed as ${record.betStatus} ${formatAmount(record.stake)}/${formatAmount(record.payout)}, dated ${at(version.accountedAt)}`;
      lines.push(`  provider from ${at(version.at)}: ${said}`);
    }
  }
  const names = new Set(round?.entries.map(({ txnId }) => txnId));
  const heard = around.heard.filter(
    (entry) =>
      names.has(entry.txnId) && entry.productId === round?.productId && entry.username === round.username,
  );
  for (const entry of heard) {
    lines.push(
      `  ledger: ${entry.callback} of ${entry.txnId} occurred at ${at(entry.occurredAt)}, received at ${at(entry.receivedAt)}`,
    );
  }
  for (const { dueAt } of await readMarks(around.sql, failure)) {
    lines.push(`  it will be compared again at ${at(dueAt)}`);
  }
  const alarmAt = mismatch?.transitions[0]?.at ?? null;
  if (alarmAt === null || round === null) return lines;
  const dates = [
    ...round.records.flat().map(({ accountedAt }) => accountedAt),
    ...round.entries.map(({ occurredAt }) => occurredAt),
  ];
  const range = { from: Math.min(...dates), to: Math.max(...dates) };
  for (const window of await readWindows(around.sql, round.productId, range, alarmAt)) {
    lines.push(
      `  ${window.kind} of ${at(window.from)} to ${at(window.to)}: ${window.status}, asked at ${at(window.startedAt)}, done at ${at(window.fetchedAt)}, ${window.records} records`,
    );
  }
  for (const one of around.struck.filter(
    (blow) => alarmAt - BEFORE_MS < blow.at && blow.at < alarmAt + AFTER_MS,
  )) {
    lines.push(`  ${at(one.at)}: ${one.what}`);
  }
  return lines;
}

/** When the player's waiting marks are due. */
async function readMarks(sql: Sql, { mismatch, fault }: LiveFailure): Promise<{ dueAt: Instant }[]> {
  const { productId, username } = mismatch ?? fault ?? { productId: "", username: "" };
  return await sql<{ dueAt: Instant }[]>`
    select due_at as "dueAt" from diff_marks
    where product_id = ${productId} and ${username} = any(usernames) order by due_at limit 5`;
}

/** The last windows that were requested before the alarm, or right after it, and touch the bet's time. */
async function readWindows(
  sql: Sql,
  productId: string,
  { from, to }: TimeRange,
  alarmAt: Instant,
): Promise<Window[]> {
  return await sql<Window[]>`
    select kind, from_at as "from", to_at as "to", status, started_at as "startedAt", fetched_at as "fetchedAt", records
    from windows where product_id = ${productId} and from_at <= ${to} and to_at >= ${from}
      and started_at < ${alarmAt + AFTER_MS}
    order by started_at desc limit ${MOST_WINDOWS}`;
}
