/** Makes the reports that people ask for, one at a time, and none that nobody waits for (§4.8). */

import type { FastifyReply } from "fastify";
import pLimit from "p-limit";
import { ReconError } from "../errors.ts";
import type { FlowContext } from "../flows/context.ts";
import { type AskedDay, readReport } from "../flows/read-report.ts";
import type { DayReport } from "../report.ts";

/** So many may wait; whoever comes then is told to come again. */
const MOST_WAITING = 10;

export interface ReportDesk {
  /**
   * Makes a report when its turn has come; it is cancelled when the one who asked leaves.
   * @throws ReconError `too-many-reports`; `report-left` where nobody waits for it any more
   */
  read(day: AskedDay, reply: FastifyReply): Promise<DayReport>;
}

export function openReportDesk(context: FlowContext): ReportDesk {
  const inTurn = pLimit(1);
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
        return await inTurn(async () => {
          left.signal.throwIfAborted();
          return await readReport(context, day, left.signal);
        });
      } finally {
        raw.off("close", leave);
      }
    },
  };
}
