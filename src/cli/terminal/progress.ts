/** The progress of a backfill in one line. */

import { showDuration } from "../../clock.ts";
import type { Backfill, Pace } from "../../sync/backfill.ts";

/** "[######------------------]  25 %" */
export function showBar({
  windowsDone,
  windowsTotal,
}: Pick<Backfill, "windowsDone" | "windowsTotal">): string {
  const share = windowsTotal === 0 ? 0 : windowsDone / windowsTotal;
  const filled = Math.floor(share * BAR_WIDTH);
  return `[${"#".repeat(filled)}${"-".repeat(BAR_WIDTH - filled)}] ${String(Math.floor(share * 100)).padStart(3)} %`;
}

const BAR_WIDTH = 24;

/** "running, 6/24 windows, 1200 records, 400 records/s, about 9 s left" */
export function showProgress(backfill: Backfill, { recordsPerSecond, remainingMs }: Pace): string {
  const { status, windowsDone, windowsTotal, records, gaps } = backfill;
  const parts = [status, `${windowsDone}/${windowsTotal} windows`, `${records} records`];
  if (status === "running") {
    parts.push(`${recordsPerSecond} records/s`);
    if (remainingMs !== null) parts.push(`about ${showDuration(remainingMs)} left`);
  }
  if (gaps > 0) parts.push(showGaps(backfill));
  return parts.join(", ");
}

/** "2 not fetched so far (provider-timeout)" */
export function showGaps({ gaps, gapCode, status }: Backfill): string {
  return `${gaps} not fetched${status === "failed" ? "" : " so far"} (${gapCode})`;
}

/** "Backfill 3 is done: 24 windows, 1200 records: 3 created, 5 changed, 1192 unchanged." */
export function showResult(backfill: Backfill): string {
  const { id, status, windowsDone, records, created, changed, unchanged, gaps } = backfill;
  const missing = gaps === 0 ? "" : `; ${showGaps(backfill)}`;
  return (
    `Backfill ${id} ${status === "failed" ? "has failed" : `is ${status}`}: ${windowsDone} windows, ${records} records: ` +
    `${created} created, ${changed} changed, ${unchanged} unchanged${missing}.`
  );
}
