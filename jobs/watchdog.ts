/**
 * What a worker does each minute without a queue: it sends the heartbeat while the work goes on, and looks for what to
 * report where the job that does so is not run.
 */

import { setInterval } from "node:timers";
import { sendHeartbeat } from "../src/alerts/heartbeat.ts";
import { describeError } from "../src/errors.ts";
import type { FlowContext } from "../src/flows/context.ts";
import { readWorkReport } from "../src/flows/read-work.ts";
import { reportRepeatedErrors } from "./report-repeated-errors.ts";
import type { TickJob } from "./schedules.ts";

const EVERY_MS = 60_000;
/** Whether the work goes on does not depend on how much waits. */
const MOST_COUNTED = 1;

export interface Heartbeat {
  readonly url: string;
  readonly everyMs?: number;
}

/**
 * @param heartbeat null: none is sent
 * @param alertJob is run out of turn while it is late: the queues may be out of reach, and nothing else would report that
 */
export function startWatchdog(
  context: FlowContext,
  heartbeat: Heartbeat | null,
  alertJob: TickJob,
  signal: AbortSignal,
): NodeJS.Timeout {
  const { log } = context;
  const report = reportRepeatedErrors(
    log,
    heartbeat === null ? "whether the work goes on could not be seen" : "the heartbeat was not sent",
  );
  let isUnderWay = false;

  const check = async () => {
    const { alerting, stop } = await readWorkReport(context, MOST_COUNTED);
    if (alerting.doneAt !== null && alerting.problem !== null) {
      log.warn({ problem: alerting.problem }, "what to report is looked for out of turn");
      await alertJob.run(signal, log).catch((error: unknown) => {
        log.error({ error: describeError(error) }, "what to report could not be looked for");
      });
    }
    if (heartbeat === null) return;
    const problem = stop ?? (await sendHeartbeat(heartbeat.url, signal));
    if (problem !== null) report(new Error(problem));
  };

  return setInterval(() => {
    if (isUnderWay || signal.aborted) return;
    isUnderWay = true;
    check()
      .catch((error: unknown) => {
        if (!signal.aborted) report(error);
      })
      .finally(() => {
        isUnderWay = false;
      });
  }, heartbeat?.everyMs ?? EVERY_MS);
}
