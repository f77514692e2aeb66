/**
 * Shows a backfill until it has ended: on a terminal in one line that changes, elsewhere in plain lines from time to
 * time.
 */

import type { WriteStream } from "node:tty";
import type { Clock } from "../../clock.ts";
import type { FlowContext } from "../../flows/context.ts";
import { findBackfill } from "../../flows/pull/backfill.ts";
import { type Backfill, isEnded, type Pace, type ProgressSeen, paceBetween } from "../../sync/backfill.ts";
import { showBar, showProgress } from "../terminal/progress.ts";

const CHECK_EVERY_MS = 500;
/** The number of readings that the pace is computed from: half a minute. */
const READINGS_REMEMBERED = 60;
const PLAIN_LINE_EVERY_MS = 5_000;
const WORKER_IS_MISSED_AFTER_MS = 10_000;

/** @returns the last state of the backfill; it has ended unless the signal aborted */
export async function watchBackfill(
  context: FlowContext,
  id: string,
  out: WriteStream,
  signal: AbortSignal,
): Promise<Backfill> {
  const { clock } = context;
  const display = out.isTTY ? rewriteLine(out) : printLines(out, clock);
  const readings: ProgressSeen[] = [];
  const beganAt = clock.now();
  let isWorkerMissed = false;
  for (;;) {
    const backfill = await findBackfill(context, id);
    const reading = { ...backfill, at: clock.now() };
    readings.push(reading);
    if (readings.length > READINGS_REMEMBERED) readings.shift();
    display.show(backfill, paceBetween(readings[0] ?? reading, reading));
    if (isEnded(backfill) || signal.aborted) {
      display.end();
      return backfill;
    }
    if (!isWorkerMissed && backfill.status === "queued" && reading.at - beganAt > WORKER_IS_MISSED_AFTER_MS) {
      isWorkerMissed = true;
      display.say("No worker has begun the backfill yet. Does a worker run? (recon worker)");
    }
    await clock.sleep(CHECK_EVERY_MS, signal);
  }
}

interface Display {
  show(backfill: Backfill, pace: Pace): void;
  say(text: string): void;
  end(): void;
}

function rewriteLine(out: WriteStream): Display {
  return {
    show: (backfill, pace) => {
      const line = `${showBar(backfill)}  ${showProgress(backfill, pace)}`;
      // A wrapped line could not be rewritten. Some terminals do not know their width.
      out.write(`\r${line.slice(0, (out.columns || 80) - 1)}${ERASE_REST}`);
    },
    say: (text) => out.write(`\r${text}${ERASE_REST}\n`),
    end: () => out.write("\n"),
  };
}

const ERASE_REST = "\u001b[K";

function printLines(out: WriteStream, clock: Clock): Display {
  let nextAt = Number.NEGATIVE_INFINITY;
  let lastStatus = "";
  return {
    show: (backfill, pace) => {
      if (backfill.status === lastStatus && clock.now() < nextAt) return;
      nextAt = clock.now() + PLAIN_LINE_EVERY_MS;
      lastStatus = backfill.status;
      out.write(`${showProgress(backfill, pace)}\n`);
    },
    say: (text) => out.write(`${text}\n`),
    end: () => {},
  };
}
