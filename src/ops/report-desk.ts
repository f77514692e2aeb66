/** Makes the reports that people ask for, one at a time, and none that nobody waits for (§4.8). */

import type { FastifyReply } from "fastify";
import pLimit from "p-limit";
import { ReconError } from "../errors.ts";
import type { FlowContext } from "../flows/context.ts";
import { REPORT_LIMITS } from "../flows/diff-scene.ts";
import { type AskedDay, readReport } from "../flows/read-report.ts";
import type { DayReport } from "../report.ts";

/** So many may wait; whoever comes then is told to come again. */
const MOST_WAITING = 10;

/**
 * A report is made in the process that pulls: after each piece of work it rests so many times as long, so that it takes a
 * ninth of the time at the most. So does the next report after one that nobody waited for.
 */
const REST_SHARE = 8;
const SHORTEST_PIECE_MS = 50;

export interface ReportDesk {
  /**
   * Makes a report when its turn has come; it is cancelled when the one who asked leaves.
   * @throws ReconError `too-many-reports`; `report-left` where nobody waits for it any more
   */
  read(day: AskedDay, reply: FastifyReply): Promise<DayReport>;
}

export function openReportDesk(context: FlowContext): ReportDesk {
  const inTurn = pLimit(1);
  const { clock } = context;
  let busySince = 0;
  const restAfterWork = async (signal: AbortSignal) => {
    const busyMs = clock.now() - busySince;
    if (busyMs < SHORTEST_PIECE_MS) return;
    await clock.sleep(busyMs * REST_SHARE, signal);
    busySince = clock.now();
  };
  const make = async (day: AskedDay, signal: AbortSignal) => {
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
