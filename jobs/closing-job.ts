/** The repeating job that closes days, and turns later changes of closed days into corrections. */

import { closeDueDays } from "../src/flows/closing/close-days.ts";
import { findCorrections } from "../src/flows/closing/find-corrections.ts";
import type { FlowContext } from "../src/flows/context.ts";
import type { TickJob } from "./schedules.ts";

const EVERY_MS = 60_000;

export function openClosingJob(context: FlowContext): TickJob {
  /** what was logged last of the day that stays open */
  let logged = "";
  return {
    queue: "closing",
    everyMs: EVERY_MS,
    concurrency: 1,
    run: async (signal, log) => {
      const own = { ...context, log };
      await findCorrections(own, signal);
      for (const result of await closeDueDays(own, signal)) {
        if ("reason" in result) {
          const sentence = `${result.day} stays open. ${result.reason}`;
          if (sentence !== logged) log.warn({ day: result.day }, sentence);
          logged = sentence;
        } else log.info({ day: result.closed.day, number: result.closed.number }, "the day was closed");
      }
    },
  };
}
