/** The progress of a backfill or an import in one line. */

import type { WriteStream } from "node:tty";
import { type Clock, showDuration } from "../../clock.ts";
import type { Backfill, Pace } from "../../sync/backfill.ts";

const REWRITE_EVERY_MS = 250;
const PLAIN_LINE_EVERY_MS = 5_000;
const ERASE_REST = "\u001b[K";

interface ImportProgress {
  /** passes chunks on, and counts their bytes */
  counting(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array>;
  /** @param line the last line that was taken */
  show(line: number): void;
  end(): void;
}

/** @param bytes of the whole file; null: not known */
export function showImportProgress(out: WriteStream, clock: Clock, bytes: number | null): ImportProgress {
  const beganAt = clock.now();
  const everyMs = out.isTTY ? REWRITE_EVERY_MS : PLAIN_LINE_EVERY_MS;
  let nextAt = beganAt + everyMs;
  let readBytes = 0;
  let isShown = false;
  return {
    async *counting(chunks) {
      for await (const chunk of chunks) {
        readBytes += chunk.length;
        yield chunk;
      }
    },
    show: (line) => {
      const now = clock.now();
      if (now < nextAt) return;
      nextAt = now + everyMs;
      const text = describe(line, now - beganAt, bytes === null || bytes === 0 ? null : readBytes / bytes);
      isShown = out.isTTY;
      out.write(out.isTTY ? `\r${text.slice(0, (out.columns || 80) - 1)}${ERASE_REST}` : `${text}\n`);
    },
    end: () => {
      if (isShown) out.write(`\r${ERASE_REST}`);
    },
  };
}

/** "350000 lines (35 %), 21000 lines/s, about 31 s left" @param share of the file that was read; null: not known */
function describe(line: number, elapsedMs: number, share: number | null): string {
  const pace = `${Math.round((line * 1000) / Math.max(elapsedMs, 1))} lines/s`;
  if (share === null) return `${line} lines, ${pace}`;
  const left = showDuration((elapsedMs / share) * (1 - share));
  return `${line} lines (${Math.floor(share * 100)} %), ${pace}, about ${left} left`;
}

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
