/**
 * What a worker does each minute outside its queues: sends the heartbeat while all work continues, and runs the alert
 * job if the queue does not. Otherwise nothing could report that Redis is gone.
 */

import { setInterval } from "node:timers";
import { sendHeartbeat } from "../src/alerts/heartbeat.ts";
import { reportRepeatedErrors } from "../src/calm-log.ts";
import { describeError } from "../src/errors.ts";
import type { FlowContext } from "../src/flows/context.ts";
import { readWorkReport } from "../src/flows/read/read-work.ts";
import { noteDone, noteFailed } from "../src/work/work-store.ts";
import type { TickJob } from "./schedules.ts";

const EVERY_MS = 60_000;
/** The limit of counting: whether work continues does not depend on the number of waiting items. */
const MOST_COUNTED = 1;
const HEARTBEAT = { work: "heartbeat", subject: "" } as const;

export interface Heartbeat {
  readonly url: string;
  readonly everyMs?: number;
}

/**
 * @param heartbeat null: there is no heartbeat
 * @param alertJob runs outside its queue while it is late: the queues may be unreachable, and nothing else would
 * report that
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
    heartbeat === null
      ? "the watchdog could not read whether the work makes progress"
      : "the heartbeat was not sent",
  );
  let isUnderWay = false;

  const check = async () => {
    const { alerting, stop } = await readWorkReport(context, MOST_COUNTED);
    if (alerting.doneAt !== null && alerting.finding !== null) {
      log.warn(
        { problem: alerting.finding.what },
        "the alert job is late; the watchdog runs it outside its queue",
      );
      await alertJob.run(signal, log).catch((error: unknown) => {
        log.error({ error: describeError(error) }, "the watchdog could not run the alert job");
      });
    }
    if (heartbeat === null) return;
    const problem = stop ?? (await sendHeartbeat(heartbeat.url, signal));
    const now = context.clock.now();
    if (problem === null) return await noteDone(context.sql, HEARTBEAT, now);
    report(new Error(problem));
    await noteFailed(context.sql, HEARTBEAT, now, { code: null, message: problem });
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
