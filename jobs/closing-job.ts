/** The repeating job that closes days, turns later changes of closed days into corrections, and checks the books. */

import { closeDueDays } from "../src/flows/closing/close-days.ts";
import { findCorrections } from "../src/flows/closing/find-corrections.ts";
import { keepBooksChecked } from "../src/flows/closing/watch-books.ts";
import type { FlowContext } from "../src/flows/context.ts";
import { noting } from "../src/flows/note-work.ts";
import { DAY_OPEN } from "../src/health/finding.ts";
import { noteFailed, type WorkName } from "../src/work/work-store.ts";
import { runEach } from "./run-each.ts";
import type { TickJob } from "./schedules.ts";

const EVERY_MS = 60_000;
/** A check that fails may have taken minutes. */
const AFTER_FAILED_CHECK_MS = 600_000;
const WORK: WorkName = { work: "closing", subject: "" };

export function openClosingJob(context: FlowContext): TickJob {
  /** what was logged last of the day that stays open */
  let logged = "";
  /** @returns a sentence about the due day that stays open; null: none does */
  const closeDays: (own: FlowContext, signal: AbortSignal) => Promise<string | null> = async (
    own,
    signal,
  ) => {
    await findCorrections(own, signal);
    for (const result of await closeDueDays(own, signal)) {
      if ("reason" in result) {
        const sentence = `${result.day} stays open. ${result.reason}`;
        if (sentence !== logged) own.log.warn({ day: result.day }, sentence);
        logged = sentence;
        return sentence;
      }
      own.log.info({ day: result.closed.day, number: result.closed.number }, "the day was closed");
    }
    return null;
  };
  let isStart = true;
  let checksFrom = 0;
  const close = async (own: FlowContext, signal: AbortSignal) => {
    const isOpen = { upToOf: (open: string | null) => (open === null ? null : "unknown") } as const;
    const open = await noting(own, WORK, signal, () => closeDays(own, signal), isOpen);
    if (open === null) return;
    await noteFailed(own.sql, WORK, own.clock.now(), { code: DAY_OPEN, message: open });
  };
  const check = async (own: FlowContext, signal: AbortSignal) => {
    if (own.clock.now() < checksFrom) return;
    checksFrom = own.clock.now() + AFTER_FAILED_CHECK_MS;
    await keepBooksChecked(own, signal, isStart);
    checksFrom = 0;
    isStart = false;
  };
  return {
    queue: "closing",
    everyMs: EVERY_MS,
    concurrency: 1,
    run: async (signal, log) => {
      const own = { ...context, log };
      await runEach(
        () => close(own, signal),
        () => check(own, signal),
      );
    },
  };
}
