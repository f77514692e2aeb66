/** The repeating job that verifies the due transfers and top-ups of all products. */

import type { NoteProgress } from "../src/flows/note-work.ts";
import type { VerifyContext } from "../src/flows/verify/ask-outcome.ts";
import { openNoteVerifyAnswers } from "../src/flows/verify/note-verify-answers.ts";
import { reportingRefusals } from "../src/flows/verify/report-refused-credentials.ts";
import { openVerifyRunner } from "../src/flows/verify/verify-due.ts";
import type { TickJob } from "./schedules.ts";

export function openVerifyJob(context: VerifyContext, onProgress: NoteProgress): TickJob {
  const { every, concurrency } = context.config.verify;
  const answers = openNoteVerifyAnswers(context, onProgress);
  const verify = openVerifyRunner(
    { ...context, ask: reportingRefusals(context, context.ask) },
    answers.onAnswer,
  );
  return {
    queue: "verify",
    everyMs: every,
    // One more than the number of simultaneous questions, so that a tick finds due transfers and top-ups while all
    // questions wait for slow answers.
    concurrency: concurrency + 1,
    run: async (signal, log) => {
      // Stores the counts of answers since the last tick, including those of runs that have not ended.
      await answers.flush();
      const { refused } = await verify(signal, log).finally(() => answers.flush());
      onProgress({ work: "verifying", subject: "" });
      if (refused !== null) throw refused;
    },
  };
}
