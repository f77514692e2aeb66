/** Makes the reports that people ask for, one at a time, and none that nobody waits for (docs/operations.md#limits). */

import { performance } from "node:perf_hooks";
import type { FastifyReply } from "fastify";
import pLimit from "p-limit";
import { ReconError } from "../errors.ts";
import { REPORT_LIMITS } from "../flows/comparison-context.ts";
import type { FlowContext } from "../flows/context.ts";
import { type RequestedDay, readReport } from "../flows/read-report.ts";
import type { DayReport } from "../report.ts";

/** So many may wait; whoever comes then is told to come again. */
const MOST_WAITING = 10;

/**
 * A report is made in the process that pulls: after each piece of work it rests so many times as long, so that it takes a
 * ninth of the time at the most. So does the next report after one that nobody waited for. Where nothing else goes on in
 * the process, it goes on after a quarter of the piece.
 */
const REST_SHARE = 8;
const QUIET_SHARE = 0.25;
const SHORTEST_PIECE_MS = 200;
/** A transaction in which nothing is said for longer is ended by the database after a while. */
const LONGEST_REST_MS = 60_000;
/** The share of its time that a process works of which nobody wants anything; one that pulls works far more. */
const QUIET = 0.05;

export interface ReportQueue {
  /**
   * Makes a report when its turn has come; it is cancelled when the one who asked leaves.
   * @throws ReconError `too-many-reports`; `report-left` where nobody waits for it any more
   */
  read(day: RequestedDay, reply: FastifyReply): Promise<DayReport>;
}

export function openReportQueue(context: FlowContext): ReportQueue {
  const inTurn = pLimit(1);
  const { clock } = context;
  let busySince = 0;
  /** and not rested after */
  let workedMs = 0;
  const restAfterWork = async (signal: AbortSignal) => {
    workedMs += clock.now() - busySince;
    busySince = clock.now();
    if (workedMs < SHORTEST_PIECE_MS) return;
    const longestMs = Math.min(workedMs * REST_SHARE, LONGEST_REST_MS);
    const partMs = Math.min(workedMs * QUIET_SHARE, longestMs);
    for (let restedMs = 0; restedMs < longestMs && !signal.aborted; restedMs += partMs) {
      const before = performance.eventLoopUtilization();
      await clock.sleep(Math.min(partMs, longestMs - restedMs), signal);
      if (performance.eventLoopUtilization(before).utilization < QUIET) break;
    }
    busySince = clock.now();
    if (!signal.aborted) workedMs = 0;
  };
  const make = async (day: RequestedDay, signal: AbortSignal) => {
    signal.throwIfAborted();
    busySince = clock.now();
    try {
      return await readReport(context, day, signal, REPORT_LIMITS, () => restAfterWork(signal));
    } catch (error) {
      // Whoever reloads again and again leaves no time to others otherwise.
      if (signal.aborted) await restAfterWork(new AbortController().signal);
      throw error;
    }
  };
  return {
    read: async (day, { raw }) => {
      if (inTurn.pendingCount >= MOST_WAITING) {
        throw new ReconError(
          "too-many-reports",
          `${MOST_WAITING} reports wait already, the limit here: they are made one after the other. Ask again in a minute; "recon report" makes one without waiting.`,
          { retryable: true },
        );
      }
      const left = new AbortController();
      const leave = () =>
        left.abort(new ReconError("report-left", `nobody waits for the report of ${day.day} any more`));
      raw.once("close", leave);
      try {
        return await inTurn(() => make(day, left.signal));
      } finally {
        raw.off("close", leave);
      }
    },
  };
}
